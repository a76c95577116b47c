/* Tracebacks of the profiled program: they have no entry of ticktree's. */
#ifndef TICKTREE_TRACEBACK_H
#define TICKTREE_TRACEBACK_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>

/* Set by the Cython side: the folder of ticktree's own Python files, with a slash. */
static PyObject *tt_own_folder;

static int tt_is_own_entry(const PyTracebackObject *entry)
{
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
    PyErr_NormalizeException(&kind, &error, &trace);
    if (trace) PyException_SetTraceback(error, trace);
    Py_XDECREF(trace);
    tt_drop_own_entries(error);
    PyErr_Restore(kind, error, PyException_GetTraceback(error));
}

/* Adds an entry where there is none yet: the error was raised in C, and Cython's `except` clauses let go of the
 * traceback of what they handle without asking whether there is one. */
static int tt_first_entry(PyFrameObject *frame)
{
    PyObject *kind, *error, *trace;
    PyErr_Fetch(&kind, &error, &trace);
    int has_entries = trace != NULL;
    PyErr_Restore(kind, error, trace);
    return has_entries ? 0 : PyTraceBack_Here(frame);
}

/* What Cython calls to add an entry for each of its functions. */
#define PyTraceBack_Here(frame) tt_first_entry(frame)

#endif
