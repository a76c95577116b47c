/* Tracebacks of the profiled program: they have no entry of ticktree's. */
#ifndef TICKTREE_TRACEBACK_H
#define TICKTREE_TRACEBACK_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>

/* Set by the Cython side: the folder of ticktree's own Python files, with a slash, and the native module's globals. */
static PyObject *tt_own_folder, *tt_own_globals;

static int tt_is_own_entry(const PyTracebackObject *entry)
{
    PyObject *globals = PyFrame_GetGlobals(entry->tb_frame);
    Py_DECREF(globals);
    if (globals == tt_own_globals) return 1;
    PyCodeObject *code = PyFrame_GetCode(entry->tb_frame);
    Py_ssize_t is_own = tt_own_folder ? PyUnicode_Tailmatch(code->co_filename, tt_own_folder, 0, PY_SSIZE_T_MAX, -1) : 0;
    Py_DECREF(code);
    if (is_own < 0) PyErr_Clear();
    return is_own > 0;
}

/* Takes our calls out of an exception's traceback: those from where it is now down to the program's. */
static void tt_drop_own_entries(PyObject *error)
{
    PyObject *first = PyException_GetTraceback(error), *kept = first;
    while (kept && tt_is_own_entry((PyTracebackObject *)kept)) kept = (PyObject *)((PyTracebackObject *)kept)->tb_next;
    if (kept != first && PyException_SetTraceback(error, kept ? kept : Py_None)) PyErr_Clear();
    Py_XDECREF(first);
}

/* The same of the exception that is raised now. */
static void tt_drop_raised_entries(void)
{
    PyObject *kind, *error, *trace;
    PyErr_Fetch(&kind, &error, &trace);
    if (!kind) return;
    PyErr_NormalizeException(&kind, &error, &trace);
    if (trace) PyException_SetTraceback(error, trace);
    Py_XDECREF(trace);
    tt_drop_own_entries(error);
    PyErr_Restore(kind, error, PyException_GetTraceback(error));
}

/* Adds an entry where there is none yet: the error was raised in C, and Cython's `except` clauses release the
 * traceback of what they handle without a check whether there is one. */
static int tt_first_entry(PyFrameObject *frame)
{
    PyObject *kind, *error, *trace;
    PyErr_Fetch(&kind, &error, &trace);
    int has_entries = trace != NULL;
    PyErr_Restore(kind, error, trace);
    return has_entries ? 0 : PyTraceBack_Here(frame);
}

/* Set below: what Cython makes of `Loop.__next__` and `SubmittedCall.__call__`, which run the program's code. */
static iternextfunc tt_next_inside;
static ternaryfunc tt_call_inside;

static PyObject *tt_next_outside(PyObject *loop)
{
    PyObject *item = tt_next_inside(loop);
    if (!item) tt_drop_raised_entries();
    return item;
}

static PyObject *tt_call_outside(PyObject *submitted, PyObject *args, PyObject *names)
{
    PyObject *result = tt_call_inside(submitted, args, names);
    if (!result) tt_drop_raised_entries();
    return result;
}

static void tt_keep_entries_inside(PyTypeObject *loop, PyTypeObject *submitted)
{
    tt_next_inside = loop->tp_iternext;
    loop->tp_iternext = tt_next_outside;
    tt_call_inside = submitted->tp_call;
    submitted->tp_call = tt_call_outside;
}

/* What Cython calls to add an entry for each of its functions. */
#define PyTraceBack_Here(frame) tt_first_entry(frame)

#endif
