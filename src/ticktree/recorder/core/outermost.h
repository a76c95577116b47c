/* Calls that wrap each other, as layers of a library do: of those on one thread only the outermost is recorded. */
#ifndef TICKTREE_OUTERMOST_H
#define TICKTREE_OUTERMOST_H

#include "builtins.h"

#define TT_LAYERS 64 /* kinds of such calls; one more is recorded at every layer */

typedef struct {
    uint64_t layer;   /* one bit: which kind of call; 0: every one counts */
    PyObject *before; /* called with the first argument of an outermost call, before it; or NULL */
} tt_outermost;

/* Where the Cython class keeps its tt_outermost, measured once. */
static Py_ssize_t tt_outermost_offset;

/* The kinds of call that this thread is in. */
static __thread uint64_t tt_inside;

/* In a forked child: whatever the thread that forked was in, the child does something else. */
static void tt_outside(void) { tt_inside = 0; }

/* What comes before a call is ours, and its mistakes are none of the program's. */
static void tt_before_outermost(const tt_outermost *outermost, PyObject *const *args, size_t count)
{
    if (!outermost->before || PyVectorcall_NARGS(count) < 1) return;
    PyObject *done = PyObject_CallOneArg(outermost->before, args[0]);
    if (done) Py_DECREF(done);
    else PyErr_Clear();
}

static PyObject *tt_outermost_call(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    tt_timed *timed = (tt_timed *)((char *)self + tt_timed_offset);
    const tt_outermost *outermost = (tt_outermost *)((char *)self + tt_outermost_offset);
    vectorcallfunc call = timed->call ? timed->call : PyObject_Vectorcall;
    if (tt_inside & outermost->layer || !timed->section->recorder->recording)
        return call(timed->function, args, count, names);
    tt_inside |= outermost->layer;
    tt_before_outermost(outermost, args, count);
    tt_call timing = tt_call_begin(timed->section);
    PyObject *result = call(timed->function, args, count, names);
    tt_call_end(timed->section, &timing);
    tt_inside &= ~outermost->layer;
    return result;
}

#endif
