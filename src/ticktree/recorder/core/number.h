/* Numbers of a class of their own: what loops yield, one a tick. */
#ifndef TICKTREE_NUMBER_H
#define TICKTREE_NUMBER_H

#include "pyframe.h"
#include <stdint.h>

/* `kind(number)`, where `kind` is a subclass of int without attributes. Numbers of one digit are made as int itself
 * makes those of its subclasses, without the call: it took most of an empty tick's time. */
static PyObject *tt_number_make(PyTypeObject *kind, uint64_t number)
{
    if (number && number < (1ULL << PyLong_SHIFT)) {
        PyObject *made = kind->tp_alloc(kind, 1);
        if (made) tt_set_digit(made, (digit)number);
        return made;
    }
    PyObject *plain = PyLong_FromUnsignedLongLong(number);
    if (!plain) return NULL;
    PyObject *made = PyObject_CallFunctionObjArgs((PyObject *)kind, plain, NULL);
    Py_DECREF(plain);
    return made;
}

#endif
