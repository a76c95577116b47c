/* A cache of the sections of objects, by identity: asking for a section costs a Python call. */
#ifndef TICKTREE_SECTION_CACHE_H
#define TICKTREE_SECTION_CACHE_H

#include "choice.h"
#include "core/hot.h"

#define TT_CACHE_HASH_BITS 5
#define TT_CACHE_WAYS 4 /* of one hash */
/* Most that are kept. Of more objects, and seldom of fewer, some are asked about again. */
#define TT_CACHED_SECTIONS (TT_CACHE_WAYS << TT_CACHE_HASH_BITS)

typedef struct {
    PyObject *object; /* where it is, or was: only the reference tells */
    PyObject *reference, *section;
} tt_cached_section;

typedef struct {
    tt_choice choice;
    PyObject *sections; /* called with the first argument of a call: its section, or None: its calls are not recorded */
    tt_cached_section cached[TT_CACHED_SECTIONS];
} tt_section_cache;

/* Set by the Cython side: the classes of sections, and of those that others are told of. */
static PyTypeObject *tt_section_type, *tt_attended_type;

/* Every section is the one instance of a type of its own, right below its class. */
static inline int tt_is_attended(PyObject *section) { return Py_TYPE(section)->tp_base == tt_attended_type; }

/* The TT_CACHE_WAYS entries where an object's section is, if it is cached; the latest comes first. */
static inline tt_cached_section *tt_cached_at(tt_section_cache *known, const PyObject *object)
{
    /* Fibonacci hashing: Knuth, TAOCP 6.4. Of the product the highest bits: they spread what lies in a row, as objects
     * made one after the other do, where those in the middle bring most of it together. */
    uint64_t hash = (uint64_t)(uintptr_t)object * 0x9E3779B97F4A7C15u;
    return &known->cached[(hash >> (64 - TT_CACHE_HASH_BITS)) * TT_CACHE_WAYS];
}

static inline int tt_is_cached(const tt_cached_section *cached, const PyObject *object)
{
    return cached->object == object && tt_referent(cached->reference) == object;
}

static void tt_section_cache_add(tt_section_cache *known, PyObject *object, PyObject *section)
{
    PyObject *reference = PyWeakref_NewRef(object, NULL);
    if (!reference) {
        PyErr_Clear(); /* of what cannot be referred to weakly it is asked every time */
        return;
    }
    tt_cached_section *alike = tt_cached_at(known, object), oldest = alike[TT_CACHE_WAYS - 1];
    Py_INCREF(section);
    memmove(alike + 1, alike, (TT_CACHE_WAYS - 1) * sizeof *alike);
    alike[0] = (tt_cached_section){object, reference, section};
    Py_XDECREF(oldest.reference);
    Py_XDECREF(oldest.section);
}

/* A tt_choice: the section of the first argument, cached, or what `sections` gives. */
static PyObject *tt_section_of(tt_choice *choice, PyObject *const *args, size_t count, PyObject *names)
{
    (void)names;
    if (!PyVectorcall_NARGS(count)) return NULL;
    tt_section_cache *known = (tt_section_cache *)choice;
    const tt_cached_section *alike = tt_cached_at(known, args[0]);
    for (unsigned at = 0; at < TT_CACHE_WAYS; at++) {
        if (!tt_is_cached(&alike[at], args[0])) continue;
        Py_INCREF(alike[at].section);
        return alike[at].section;
    }
    PyObject *section = PyObject_CallOneArg(known->sections, args[0]);
    if (section && (section == Py_None || PyObject_TypeCheck(section, tt_section_type))) {
        tt_section_cache_add(known, args[0], section);
        return section;
    }
    if (!section) tt_forget_mistake();
    Py_XDECREF(section);
    return NULL;
}

static void tt_section_cache_clear(tt_section_cache *known)
{
    for (unsigned at = 0; at < TT_CACHED_SECTIONS; at++) {
        known->cached[at].object = NULL;
        Py_CLEAR(known->cached[at].reference);
        Py_CLEAR(known->cached[at].section);
    }
}

#endif
