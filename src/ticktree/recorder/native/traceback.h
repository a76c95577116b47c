/* Removes ticktree's own entries from tracebacks of the profiled program. */
#ifndef TICKTREE_TRACEBACK_H
#define TICKTREE_TRACEBACK_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>

/* Set by the Cython side: the folder of ticktree's Python files, with a slash, and the native module's globals. */
static PyObject *tt_package_folder, *tt_module_globals;

static int tt_is_own_entry(const PyTracebackObject *entry)
{
    PyObject *globals = PyFrame_GetGlobals(entry->tb_frame);
    Py_DECREF(globals);
    if (globals == tt_module_globals) return 1;
    PyCodeObject *code = PyFrame_GetCode(entry->tb_frame);
    Py_ssize_t is_own = tt_package_folder ? PyUnicode_Tailmatch(code->co_filename, tt_package_folder, 0, PY_SSIZE_T_MAX, -1) : 0;
    Py_DECREF(code);
    if (is_own < 0) PyErr_Clear();
    return is_own > 0;
}

/* Removes ticktree's entries from an exception's traceback: those from the current call to the program's first. */
static void tt_drop_own_entries(PyObject *error)
{
    PyObject *first = PyException_GetTraceback(error), *entry = first;
    while (entry && tt_is_own_entry((PyTracebackObject *)entry)) entry = (PyObject *)((PyTracebackObject *)entry)->tb_next;
    if (entry != first && PyException_SetTraceback(error, entry ? entry : Py_None)) PyErr_Clear();
    Py_XDECREF(first);
}

/* The same for the exception that is set now. */
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

/* Adds an entry if there is none yet: the error was raised in C, and Cython's `except` clauses release the traceback of
 * what they handle without checking whether there is one. */
static int tt_add_first_entry(PyFrameObject *frame)
{
    PyObject *kind, *error, *trace;
    PyErr_Fetch(&kind, &error, &trace);
    int has_entries = trace != NULL;
    PyErr_Restore(kind, error, trace);
    return has_entries ? 0 : PyTraceBack_Here(frame);
}

/* Set below: Cython's slots of `Loop.__next__` and `SubmittedCall.__call__`, which run the program's code. */
static iternextfunc tt_cython_next;
static ternaryfunc tt_cython_call;

static PyObject *tt_clean_next(PyObject *loop)
{
    PyObject *item = tt_cython_next(loop);
    if (!item) tt_drop_raised_entries();
    return item;
}

static PyObject *tt_clean_call(PyObject *submitted, PyObject *args, PyObject *names)
{
    PyObject *result = tt_cython_call(submitted, args, names);
    if (!result) tt_drop_raised_entries();
    return result;
}

static void tt_clean_tracebacks(PyTypeObject *loop, PyTypeObject *submitted)
{
    tt_cython_next = loop->tp_iternext;
    loop->tp_iternext = tt_clean_next;
    tt_cython_call = submitted->tp_call;
    submitted->tp_call = tt_clean_call;
}

/* Cython calls this to add an entry for each of its functions. */
#define PyTraceBack_Here(frame) tt_add_first_entry(frame)

#endif
