/* Numbers of a class of their own: what loops yield, one a tick. */
#ifndef TICKTREE_NUMBER_H
#define TICKTREE_NUMBER_H

#include <Python.h>
#include <stdint.h>

/* `kind(number)`, where `kind` is a subclass of int without attributes. Numbers of one digit are made as int itself
 * makes those of its subclasses, without the call: it took most of an empty tick's time. */
static PyObject *tt_number_make(PyTypeObject *kind, uint64_t number)
{
#if PY_VERSION_HEX < 0x030E0000
    if (number && number < (1ULL << PyLong_SHIFT)) {
        PyLongObject *made = (PyLongObject *)kind->tp_alloc(kind, 1); /* which notes that it has one digit, */
        if (!made) return NULL;
#if PY_VERSION_HEX >= 0x030C0000
        made->long_value.lv_tag = 1u << 3; /* or, from 3.12 on, does not: above three bits for the sign */
        made->long_value.ob_digit[0] = (digit)number;
#else
        made->ob_digit[0] = (digit)number;
#endif
        return (PyObject *)made;
    }
#endif
    PyObject *plain = PyLong_FromUnsignedLongLong(number);
    if (!plain) return NULL;
    PyObject *made = PyObject_CallFunctionObjArgs((PyObject *)kind, plain, NULL);
    Py_DECREF(plain);
    return made;
}

#endif
