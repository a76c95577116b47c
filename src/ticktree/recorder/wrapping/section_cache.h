/* A cache of the sections of objects, by identity: asking for a section costs a Python call. */
#ifndef TICKTREE_SECTION_CACHE_H
#define TICKTREE_SECTION_CACHE_H

#include "choice.h"
#include "core/hot.h"

#define TT_CACHE_HASH_BITS 9
#define TT_CACHE_SLOTS (1u << TT_CACHE_HASH_BITS)
#define TT_CACHE_MOST (TT_CACHE_SLOTS / 2) /* objects that are cached at a time: so a search ends at a free slot */
#define TT_CACHE_PATIENCE 4096             /* calls of objects that found no room, after which the cache starts empty */

typedef struct {
    PyObject *object; /* where it is, or was: only the reference tells */
    PyObject *reference, *section;
} tt_cached_section;

typedef struct {
    tt_choice choice;
    PyObject *sections; /* called with the first argument of a call: its section, or None: its calls are not recorded */
    unsigned cached_count, refused;
    tt_cached_section cached[TT_CACHE_SLOTS];
} tt_section_cache;

/* Set by the Cython side: the classes of sections, and of those with attendants. */
static PyTypeObject *tt_section_type, *tt_attended_type;

/* Every section is the only instance of its type, right below its class. */
static inline int tt_is_attended(PyObject *section) { return Py_TYPE(section)->tp_base == tt_attended_type; }

/* The slot of an object: the one that names it, or the free one where it belongs (linear probing, TAOCP 6.4). */
static inline tt_cached_section *tt_cached_at(tt_section_cache *known, const PyObject *object)
{
    /* Fibonacci hashing. Of the product the highest bits: they spread what lies in a row, as objects made one after the
     * other do, where those in the middle bring most of it together. */
    uint64_t hash = (uint64_t)(uintptr_t)object * 0x9E3779B97F4A7C15u;
    unsigned at = (unsigned)(hash >> (64 - TT_CACHE_HASH_BITS));
    while (known->cached[at].object && known->cached[at].object != object) at = (at + 1) % TT_CACHE_SLOTS;
    return &known->cached[at];
}

static void tt_section_cache_clear(tt_section_cache *known)
{
    known->cached_count = known->refused = 0;
    for (unsigned at = 0; at < TT_CACHE_SLOTS; at++) {
        known->cached[at].object = NULL;
        Py_CLEAR(known->cached[at].reference);
        Py_CLEAR(known->cached[at].section);
    }
}

static void tt_section_cache_add(tt_section_cache *known, PyObject *object, PyObject *section)
{
    /* A full cache keeps what it has: were it the latest, a model with more parts than slots, called in turn, would never
     * find one. But what it has may be of objects that are gone, so now and then it starts over. */
    if (known->cached_count == TT_CACHE_MOST && ++known->refused > TT_CACHE_PATIENCE) tt_section_cache_clear(known);
    PyObject *reference = PyWeakref_NewRef(object, NULL);
    if (!reference) PyErr_Clear(); /* without a weak reference it is called every time */
    tt_cached_section *cached = tt_cached_at(known, object), gone = *cached;
    if (!reference || (!gone.object && known->cached_count == TT_CACHE_MOST)) {
        Py_XDECREF(reference);
        return;
    }
    if (!gone.object) known->cached_count++;
    Py_INCREF(section);
    *cached = (tt_cached_section){object, reference, section};
    Py_XDECREF(gone.reference); /* another object was at this address */
    Py_XDECREF(gone.section);
}

/* A tt_choice: the section of the first argument, cached, or what `sections` gives. */
static PyObject *tt_section_of(tt_choice *choice, PyObject *const *args, size_t count, PyObject *names)
{
    (void)names;
    if (!PyVectorcall_NARGS(count)) return NULL;
    tt_section_cache *known = (tt_section_cache *)choice;
    const tt_cached_section *cached = tt_cached_at(known, args[0]);
    if (cached->object && tt_referent(cached->reference) == args[0]) {
        Py_INCREF(cached->section);
        return cached->section;
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

#endif
