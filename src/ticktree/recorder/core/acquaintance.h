/* The sections of objects that were met lately, known by their identity: to ask for them anew costs a Python call. */
#ifndef TICKTREE_ACQUAINTANCE_H
#define TICKTREE_ACQUAINTANCE_H

#include "builtins.h"

#define TT_ACQUAINTANCES 8 /* objects; of more, some are asked about again */

typedef struct {
    PyObject *objects[TT_ACQUAINTANCES]; /* where they are, or were: only their reference tells */
    PyObject *references[TT_ACQUAINTANCES], *sections[TT_ACQUAINTANCES];
    unsigned next; /* to be forgotten */
} tt_acquaintances;

/* Set by the Cython side: the classes of sections, and of those that others are told of. */
static PyTypeObject *tt_section_type, *tt_attended_type;

/* Every section is the one instance of a type of its own, right below its class. */
static inline int tt_is_attended(PyObject *section) { return Py_TYPE(section)->tp_base == tt_attended_type; }

static void tt_get_acquainted(tt_acquaintances *known, PyObject *object, PyObject *section)
{
    PyObject *reference = PyWeakref_NewRef(object, NULL);
    if (!reference) {
        PyErr_Clear(); /* of what cannot be referred to weakly it is asked every time */
        return;
    }
    unsigned at = known->next++ % TT_ACQUAINTANCES;
    PyObject *old[] = {known->references[at], known->sections[at]};
    Py_INCREF(section);
    known->objects[at] = object;
    known->references[at] = reference;
    known->sections[at] = section;
    Py_XDECREF(old[0]);
    Py_XDECREF(old[1]);
}

/* The section of an object: known, or what `sections` gives. New reference, or NULL without an exception. */
static inline PyObject *tt_section_of(tt_acquaintances *known, PyObject *sections, PyObject *object)
{
    for (unsigned at = 0; at < TT_ACQUAINTANCES; at++) {
        if (known->objects[at] != object || ((PyWeakReference *)known->references[at])->wr_object != object) continue;
        Py_INCREF(known->sections[at]);
        return known->sections[at];
    }
    PyObject *section = PyObject_CallOneArg(sections, object);
    if (section && PyObject_TypeCheck(section, tt_section_type)) {
        tt_get_acquainted(known, object, section);
        return section;
    }
    PyErr_Clear();
    Py_XDECREF(section);
    return NULL;
}

static void tt_forget_acquaintances(tt_acquaintances *known)
{
    for (unsigned at = 0; at < TT_ACQUAINTANCES; at++) {
        known->objects[at] = NULL;
        Py_CLEAR(known->references[at]);
        Py_CLEAR(known->sections[at]);
    }
}

#endif
