/* Calls that wrap each other, as layers of a library do: of those on one thread only the outermost is recorded. */
#ifndef TICKTREE_OUTERMOST_H
#define TICKTREE_OUTERMOST_H

#include "choice.h"
#include "native/builtins.h"
#include "native/traceback.h"

#define TT_LAYERS 64 /* kinds of such calls; one more is recorded at every layer */

/* Where a call goes instead of to its function and its section: at once, after so many calls more, or not at all. */
typedef struct {
    PyObject *way; /* NULL: nowhere */
    uint32_t after;
} tt_redirection;

/* A variable of a module: what it says costs a look into a dictionary, where a function's call costs as much as a row. */
typedef struct {
    PyObject *variables, *name;
} tt_flag;

typedef struct {
    uint64_t layer;      /* one bit: which kind of call; 0: every one counts */
    int of_each;         /* calls on another object are not within, but separate calls */
    PyObject *before;    /* called with the first argument of an outermost call, before it; or NULL */
    tt_choice *choice;   /* of the section; NULL: it is always the function's own */
    tt_flag *unless;     /* while it is True, a call is not recorded; or NULL */
    tt_redirection *redirection;   /* or NULL */
} tt_outermost;

/* Where the Cython class keeps its tt_outermost, measured once. */
static Py_ssize_t tt_outermost_offset;

/* The kinds of call that this thread is in, and what the innermost of each is called on. */
static __thread uint64_t tt_inside;
static __thread PyObject *tt_inside_of[TT_LAYERS];

/* In a forked child: whatever the thread that forked was in, the child does something else. */
static void tt_outside(void) { tt_inside = 0; }

static inline PyObject **tt_within(uint64_t layer) { return &tt_inside_of[__builtin_ctzll(layer)]; }

static inline int tt_is_within(const tt_outermost *outermost, const PyObject *object)
{
    if (TT_LIKELY(!(tt_inside & outermost->layer))) return 0;
    return !outermost->of_each || *tt_within(outermost->layer) == object;
}

/* False where what was raised meanwhile is the program's. */
static int tt_before_outermost(const tt_outermost *outermost, PyObject *object)
{
    if (!outermost->before || !object) return 1;
    PyObject *done = PyObject_CallOneArg(outermost->before, object);
    Py_XDECREF(done);
    return done || tt_forget_mistake();
}

static inline int tt_goes_unrecorded(const tt_flag *flag)
{
    return flag && PyDict_GetItem(flag->variables, flag->name) == Py_True;
}

/* Whether this call takes the redirection; one that need not yet is counted. */
static inline int tt_is_redirected(tt_redirection *redirection)
{
    if (!redirection || !redirection->way) return 0;
    return !redirection->after || !redirection->after--;
}

static PyObject *tt_redirected_call(PyObject *way, const tt_timed *timed, PyObject *const *args, size_t count,
                                  PyObject *names)
{
    size_t positional = (size_t)PyVectorcall_NARGS(count), all = positional + (names ? (size_t)PyTuple_GET_SIZE(names) : 0);
    PyObject **more = PyMem_New(PyObject *, all + 1);
    if (!more) return PyErr_NoMemory();
    more[0] = timed->function;
    for (size_t at = 0; at < all; at++) more[at + 1] = args[at];
    Py_INCREF(way);
    PyObject *result = PyObject_Vectorcall(way, more, positional + 1, names);
    Py_DECREF(way);
    PyMem_Free(more);
    if (!result) tt_drop_raised_entries();
    return result;
}

/* In a section with attendants, as a `with` statement has it. */
static PyObject *tt_attended_call(PyObject *section, const tt_timed *timed, PyObject *const *args, size_t count,
                                  PyObject *names)
{
    PyObject *entered = PyObject_CallMethod(section, "__enter__", NULL);
    if (!entered) return NULL;
    Py_DECREF(entered);
    PyObject *result = PyObject_Vectorcall(timed->function, args, count, names);
    PyObject *kind, *error, *trace;
    PyErr_Fetch(&kind, &error, &trace);
    PyObject *left = PyObject_CallMethod(section, "__exit__", "OOO", Py_None, Py_None, Py_None);
    if (!left) { /* a signal's handler raised */
        Py_XDECREF(result);
        Py_XDECREF(kind);
        Py_XDECREF(error);
        Py_XDECREF(trace);
        return NULL;
    }
    Py_DECREF(left);
    PyErr_Restore(kind, error, trace);
    return result;
}

static inline PyObject *tt_plain_call(const tt_timed *timed, PyObject *const *args, size_t count, PyObject *names)
{
    vectorcallfunc call = timed->call ? timed->call : PyObject_Vectorcall;
    return call(timed->function, args, count, names);
}

/* New reference; NULL where what was raised meanwhile is the program's. */
static inline PyObject *tt_section_of_call(const tt_outermost *outermost, const tt_timed *timed, PyObject *const *args,
                                           size_t count, PyObject *names)
{
    if (outermost->choice) {
        PyObject *section = outermost->choice->choose(outermost->choice, args, count, names);
        if (section || PyErr_Occurred()) return section;
    }
    Py_INCREF(timed->section->object);
    return timed->section->object;
}

static PyObject *tt_recorded_call(tt_outermost *outermost, const tt_timed *timed, PyObject *section,
                                  PyObject *const *args, size_t count, PyObject *names)
{
    if (!tt_before_outermost(outermost, PyVectorcall_NARGS(count) ? args[0] : NULL)) return NULL;
    if (tt_is_redirected(outermost->redirection))
        return tt_redirected_call(outermost->redirection->way, timed, args, count, names);
    if (TT_UNLIKELY(tt_is_attended(section))) return tt_attended_call(section, timed, args, count, names);
    tt_section *core = &((tt_section_object *)section)->core;
    tt_call timing = tt_call_begin(core);
    PyObject *result = tt_plain_call(timed, args, count, names);
    tt_call_end(core, &timing, TT_LIKELY(result != NULL) ? 0 : tt_raised(PyErr_Occurred()));
    return result;
}

static PyObject *tt_outermost_call(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    tt_timed *timed = (tt_timed *)((char *)self + tt_timed_offset);
    tt_outermost *outermost = (tt_outermost *)((char *)self + tt_outermost_offset);
    PyObject *object = PyVectorcall_NARGS(count) ? args[0] : NULL;
    if (tt_is_within(outermost, object) || !timed->section->recorder->recording || tt_goes_unrecorded(outermost->unless))
        return tt_plain_call(timed, args, count, names);
    PyObject *section = tt_section_of_call(outermost, timed, args, count, names), *result;
    if (TT_UNLIKELY(!section)) return NULL;
    if (section == Py_None) {
        Py_DECREF(section);
        return tt_plain_call(timed, args, count, names);
    }
    uint64_t layer = outermost->layer, around = tt_inside & layer;
    PyObject **within = layer ? tt_within(layer) : NULL, *around_object = within ? *within : NULL;
    tt_inside |= layer;
    if (within) *within = object;
    result = tt_recorded_call(outermost, timed, section, args, count, names);
    if (within) *within = around_object;
    tt_inside = (tt_inside & ~layer) | around;
    Py_DECREF(section);
    return result;
}

/* The type of wrappers of C functions: called as its base is, but no method where it is an attribute of a class. */
static void tt_builtin_prepare(PyTypeObject *type, const PyTypeObject *base)
{
    tt_vectorcall_prepare(type, (size_t)base->tp_vectorcall_offset);
    type->tp_flags &= ~Py_TPFLAGS_METHOD_DESCRIPTOR;
    PyType_Modified(type);
}

#endif
