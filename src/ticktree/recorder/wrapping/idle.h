/* Calls of a library's method that are known to do nothing: by the arguments, and the object. */
#ifndef TICKTREE_IDLE_H
#define TICKTREE_IDLE_H

#include "choice.h"

typedef struct {
    tt_choice choice;
    PyObject *kinds;  /* a tuple: classes of the first argument; of subclasses nothing is known */
    PyObject *facts;  /* a tuple: names of its attributes that decide */
    PyObject *unless; /* says whether attributes may not be read now; or NULL */
    PyObject *known;  /* a set of such calls: facts, other arguments, and the names of those that have one */
} tt_idle;

static int tt_is_one_of(PyObject *kinds, const PyObject *object)
{
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(kinds); at++)
        if ((PyObject *)Py_TYPE(object) == PyTuple_GET_ITEM(kinds, at)) return 1;
    return 0;
}

/* The arguments, as they are kept in the set; new reference, or NULL with an exception. */
static PyObject *tt_request(const tt_idle *idle, PyObject *const *args, size_t count, PyObject *names)
{
    Py_ssize_t facts = PyTuple_GET_SIZE(idle->facts), named = names ? PyTuple_GET_SIZE(names) : 0;
    Py_ssize_t others = PyVectorcall_NARGS(count) - 1 + named;
    PyObject *request = PyTuple_New(facts + others + (named ? 1 : 0));
    for (Py_ssize_t at = 0; request && at < facts; at++) {
        PyObject *fact = PyObject_GetAttr(args[0], PyTuple_GET_ITEM(idle->facts, at));
        if (fact) PyTuple_SET_ITEM(request, at, fact);
        else Py_CLEAR(request);
    }
    for (Py_ssize_t at = 0; request && at < others; at++) {
        Py_INCREF(args[at + 1]);
        PyTuple_SET_ITEM(request, facts + at, args[at + 1]);
    }
    if (request && named) {
        Py_INCREF(names);
        PyTuple_SET_ITEM(request, facts + others, names);
    }
    return request;
}

static int tt_knows(const tt_idle *idle, PyObject *const *args, size_t count, PyObject *names)
{
    if (idle->unless) {
        PyObject *answer = PyObject_CallNoArgs(idle->unless);
        int is_so = answer ? PyObject_IsTrue(answer) : -1;
        Py_XDECREF(answer);
        if (is_so) return is_so > 0 ? 0 : -1;
    }
    PyObject *request = tt_request(idle, args, count, names);
    int known = request ? PySet_Contains(idle->known, request) : -1;
    Py_XDECREF(request);
    return known;
}

/* A tt_choice: None for a call that does nothing. */
static PyObject *tt_idle_section(tt_choice *choice, PyObject *const *args, size_t count, PyObject *names)
{
    const tt_idle *idle = (const tt_idle *)choice;
    if (!PyVectorcall_NARGS(count) || !PySet_GET_SIZE(idle->known) || !tt_is_one_of(idle->kinds, args[0])) return NULL;
    int known = tt_knows(idle, args, count, names);
    if (known < 0) tt_forget_mistake();
    if (known <= 0) return NULL;
    Py_INCREF(Py_None);
    return Py_None;
}

#endif
