/* What goes wrong where we look at a program's call before it is made. */
#ifndef TICKTREE_MISTAKE_H
#define TICKTREE_MISTAKE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* What we call before a program's own call may fail, which must not affect the program; what a signal's
 * handler raises meanwhile is: Ctrl-C, a time that is up. So mistakes of the usual kinds are forgotten, and no others.
 * Whether there is no exception any more. */
static int tt_forget_mistake(void)
{
    PyObject *kinds[] = {PyExc_TypeError,   PyExc_ValueError,      PyExc_AttributeError,
                         PyExc_LookupError, PyExc_ArithmeticError, PyExc_RuntimeError};
    PyObject *raised = PyErr_Occurred();
    unsigned at = 0;
    while (raised && at < sizeof kinds / sizeof *kinds && !PyErr_GivenExceptionMatches(raised, kinds[at])) at++;
    if (raised && at == sizeof kinds / sizeof *kinds) return 0;
    PyErr_Clear();
    return 1;
}

#endif
