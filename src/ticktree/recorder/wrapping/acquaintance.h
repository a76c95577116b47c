/* The sections of objects that were met lately, known by their identity: to ask for them anew costs a Python call. */
#ifndef TICKTREE_ACQUAINTANCE_H
#define TICKTREE_ACQUAINTANCE_H

#include "mistake.h"

#define TT_ACQUAINTANCES_HASH_BITS 5
#define TT_ACQUAINTANCES_ALIKE 4 /* of one hash */
/* Most that are kept; of more, and seldom of fewer, some are asked about again. */
#define TT_ACQUAINTANCES (TT_ACQUAINTANCES_ALIKE << TT_ACQUAINTANCES_HASH_BITS)

typedef struct {
    PyObject *object; /* where it is, or was: only the reference tells */
    PyObject *reference, *section;
} tt_acquaintance;

typedef struct {
    tt_acquaintance met[TT_ACQUAINTANCES];
} tt_acquaintances;

/* Set by the Cython side: the classes of sections, and of those that others are told of. */
static PyTypeObject *tt_section_type, *tt_attended_type;

/* Every section is the one instance of a type of its own, right below its class. */
static inline int tt_is_attended(PyObject *section) { return Py_TYPE(section)->tp_base == tt_attended_type; }

/* The places, TT_ACQUAINTANCES_ALIKE of them, of which one is an object's if it is known; the latest is the first. */
static inline tt_acquaintance *tt_acquaintances_of(tt_acquaintances *known, const PyObject *object)
{
    /* Fibonacci hashing: Knuth, TAOCP 6.4. Of the product the highest bits: they spread what lies in a row, as objects
     * made one after the other do, where those in the middle bring most of it together. */
    uint64_t hash = (uint64_t)(uintptr_t)object * 0x9E3779B97F4A7C15u;
    return &known->met[(hash >> (64 - TT_ACQUAINTANCES_HASH_BITS)) * TT_ACQUAINTANCES_ALIKE];
}

static inline int tt_is_acquaintance(const tt_acquaintance *met, const PyObject *object)
{
    return met->object == object && tt_referent(met->reference) == object;
}

static void tt_get_acquainted(tt_acquaintances *known, PyObject *object, PyObject *section)
{
    PyObject *reference = PyWeakref_NewRef(object, NULL);
    if (!reference) {
        PyErr_Clear(); /* of what cannot be referred to weakly it is asked every time */
        return;
    }
    tt_acquaintance *alike = tt_acquaintances_of(known, object), oldest = alike[TT_ACQUAINTANCES_ALIKE - 1];
    Py_INCREF(section);
    memmove(alike + 1, alike, (TT_ACQUAINTANCES_ALIKE - 1) * sizeof *alike);
    alike[0] = (tt_acquaintance){object, reference, section};
    Py_XDECREF(oldest.reference);
    Py_XDECREF(oldest.section);
}

/* The section of an object: known, or what `sections` gives. New reference, or NULL: there is none, or what was raised
 * meanwhile is the program's. */
static inline PyObject *tt_section_of(tt_acquaintances *known, PyObject *sections, PyObject *object)
{
    const tt_acquaintance *alike = tt_acquaintances_of(known, object);
    for (unsigned at = 0; at < TT_ACQUAINTANCES_ALIKE; at++) {
        if (!tt_is_acquaintance(&alike[at], object)) continue;
        Py_INCREF(alike[at].section);
        return alike[at].section;
    }
    PyObject *section = PyObject_CallOneArg(sections, object);
    if (section && PyObject_TypeCheck(section, tt_section_type)) {
        tt_get_acquainted(known, object, section);
        return section;
    }
    if (!section) tt_forget_mistake();
    Py_XDECREF(section);
    return NULL;
}

static void tt_forget_acquaintances(tt_acquaintances *known)
{
    for (unsigned at = 0; at < TT_ACQUAINTANCES; at++) {
        known->met[at].object = NULL;
        Py_CLEAR(known->met[at].reference);
        Py_CLEAR(known->met[at].section);
    }
}

#endif
