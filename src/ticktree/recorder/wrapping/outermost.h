/* Calls that wrap each other, as layers of a library do: only the outermost call on each thread is recorded. */
#ifndef TICKTREE_OUTERMOST_H
#define TICKTREE_OUTERMOST_H

#include "choice.h"
#include "native/builtins.h"
#include "native/traceback.h"

#define TT_LAYERS 64 /* kinds of such calls; calls of further kinds are recorded at every layer */

/* Sends calls to a handler instead of their function and section. */
typedef struct {
    PyObject *handler;   /* NULL: none */
    uint32_t skip_calls; /* so many calls are not redirected yet */
} tt_redirection;

/* A variable of a module: reading it costs a dictionary look-up; calling a function would cost as much as a row. */
typedef struct {
    PyObject *variables, *name;
} tt_flag;

typedef struct {
    uint64_t layer;    /* one bit: the kind of call; 0: every call is recorded */
    int per_object;    /* a call on another object is not an inner call */
    PyObject *before;  /* called with the first argument of an outermost call, before it; or NULL */
    tt_choice *choice; /* chooses the section; NULL: it is always the function's own */
    tt_flag *unless;   /* while it is True, a call is not recorded; or NULL */
    tt_redirection *redirection; /* or NULL */
} tt_outermost;

/* Offset of the tt_outermost in its Cython class, measured once. */
static Py_ssize_t tt_outermost_offset;

/* The kinds of call that are open on this thread, and the object of the innermost call of each. */
static __thread uint64_t tt_open_layers;
static __thread PyObject *tt_layer_objects[TT_LAYERS];

/* In a forked child: the calls open in the forking thread are its parent's. */
static void tt_leave_layers(void) { tt_open_layers = 0; }

static inline PyObject **tt_layer_object(uint64_t layer) { return &tt_layer_objects[__builtin_ctzll(layer)]; }

static inline int tt_is_inner_call(const tt_outermost *outermost, const PyObject *object)
{
    if (TT_LIKELY(!(tt_open_layers & outermost->layer))) return 0;
    return !outermost->per_object || *tt_layer_object(outermost->layer) == object;
}

/* False if the program's exception is set. */
static int tt_call_before(const tt_outermost *outermost, PyObject *object)
{
    if (!outermost->before || !object) return 1;
    PyObject *result = PyObject_CallOneArg(outermost->before, object);
    Py_XDECREF(result);
    return result || tt_clear_usual_error();
}

static inline int tt_is_flag_set(const tt_flag *flag)
{
    return flag && PyDict_GetItem(flag->variables, flag->name) == Py_True;
}

/* Whether this call is redirected; counts down the calls that are not yet. */
static inline int tt_is_redirected(tt_redirection *redirection)
{
    if (!redirection || !redirection->handler) return 0;
    return !redirection->skip_calls || !redirection->skip_calls--;
}

static PyObject *tt_redirected_call(PyObject *handler, const tt_timed *timed, PyObject *const *args, size_t count,
                                  PyObject *names)
{
    size_t positional = (size_t)PyVectorcall_NARGS(count);
    size_t total = positional + (names ? (size_t)PyTuple_GET_SIZE(names) : 0);
    PyObject **arguments = PyMem_New(PyObject *, total + 1);
    if (!arguments) return PyErr_NoMemory();
    arguments[0] = timed->function;
    for (size_t i = 0; i < total; i++) arguments[i + 1] = args[i];
    Py_INCREF(handler);
    PyObject *result = PyObject_Vectorcall(handler, arguments, positional + 1, names);
    Py_DECREF(handler);
    PyMem_Free(arguments);
    if (!result) tt_drop_raised_entries();
    return result;
}

/* Calls the function in a section with attendants, as a `with` statement would. */
static PyObject *tt_attended_call(PyObject *section, const tt_timed *timed, PyObject *const *args, size_t count,
                                  PyObject *names)
{
    PyObject *entered = PyObject_CallMethod(section, "__enter__", NULL);
    if (!entered) return NULL;
    Py_DECREF(entered);
    PyObject *result = PyObject_Vectorcall(timed->function, args, count, names);
    PyObject *kind, *error, *trace;
    PyErr_Fetch(&kind, &error, &trace);
    PyObject *exited = PyObject_CallMethod(section, "__exit__", "OOO", Py_None, Py_None, Py_None);
    if (!exited) { /* a signal handler raised */
        Py_XDECREF(result);
        Py_XDECREF(kind);
        Py_XDECREF(error);
        Py_XDECREF(trace);
        return NULL;
    }
    Py_DECREF(exited);
    PyErr_Restore(kind, error, trace);
    return result;
}

static inline PyObject *tt_plain_call(const tt_timed *timed, PyObject *const *args, size_t count, PyObject *names)
{
    vectorcallfunc call = timed->call ? timed->call : PyObject_Vectorcall;
    return call(timed->function, args, count, names);
}

/* Returns a new reference; NULL if the program's exception is set. */
static inline PyObject *tt_choose_section(const tt_outermost *outermost, const tt_timed *timed, PyObject *const *args,
                                           size_t count, PyObject *names)
{
    if (outermost->choice) {
        PyObject *section = outermost->choice->choose(outermost->choice, args, count, names);
        if (section || PyErr_Occurred()) return section;
    }
    return Py_NewRef(timed->section->object);
}

static PyObject *tt_recorded_call(tt_outermost *outermost, const tt_timed *timed, PyObject *section,
                                  PyObject *const *args, size_t count, PyObject *names)
{
    if (!tt_call_before(outermost, PyVectorcall_NARGS(count) ? args[0] : NULL)) return NULL;
    if (tt_is_redirected(outermost->redirection))
        return tt_redirected_call(outermost->redirection->handler, timed, args, count, names);
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
    if (tt_is_inner_call(outermost, object) || !timed->section->recorder->recording || tt_is_flag_set(outermost->unless))
        return tt_plain_call(timed, args, count, names);
    PyObject *section = tt_choose_section(outermost, timed, args, count, names), *result;
    if (TT_UNLIKELY(!section)) return NULL;
    if (section == Py_None) {
        Py_DECREF(section);
        return tt_plain_call(timed, args, count, names);
    }
    uint64_t layer = outermost->layer, outer_bit = tt_open_layers & layer;
    PyObject **layer_object = layer ? tt_layer_object(layer) : NULL, *outer_object = layer_object ? *layer_object : NULL;
    tt_open_layers |= layer;
    if (layer_object) *layer_object = object;
    result = tt_recorded_call(outermost, timed, section, args, count, names);
    if (layer_object) *layer_object = outer_object;
    tt_open_layers = (tt_open_layers & ~layer) | outer_bit;
    Py_DECREF(section);
    return result;
}

/* The type of wrappers of C functions: called like its base, but not a method as an attribute of a class. */
static void tt_builtin_prepare(PyTypeObject *type, const PyTypeObject *base)
{
    tt_vectorcall_prepare(type, (size_t)base->tp_vectorcall_offset);
    type->tp_flags &= ~Py_TPFLAGS_METHOD_DESCRIPTOR;
    PyType_Modified(type);
}

#endif
