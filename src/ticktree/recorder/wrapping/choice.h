/* Chooses the section of a call: by its first argument, by its call site, or none if the call is known to do nothing. */
#ifndef TICKTREE_CHOICE_H
#define TICKTREE_CHOICE_H

#include "core/hot.h"

/* Clears an exception of the usual types: what we call before a program's own call may fail, and that must not affect the
 * program. Any other exception is the program's, raised by a signal handler: Ctrl-C, a timeout. Returns whether none is
 * left. */
static int tt_clear_usual_error(void)
{
    PyObject *types[] = {PyExc_TypeError,   PyExc_ValueError,      PyExc_AttributeError,
                         PyExc_LookupError, PyExc_ArithmeticError, PyExc_RuntimeError};
    PyObject *error = PyErr_Occurred();
    unsigned i = 0;
    while (error && i < sizeof types / sizeof *types && !PyErr_GivenExceptionMatches(error, types[i])) i++;
    if (error && i == sizeof types / sizeof *types) return 0;
    PyErr_Clear();
    return 1;
}

/* The first member of every struct that chooses. */
typedef struct tt_choice {
    /* Returns a new reference: a section, or Py_None for a call that is not recorded. NULL: the function's own section, or
     * the program's exception is set. */
    PyObject *(*choose)(struct tt_choice *choice, PyObject *const *args, size_t count, PyObject *names);
} tt_choice;

/* -- by the first argument: a cache by identity, since asking for a section costs a Python call ----------------------- */

#define TT_CACHE_HASH_BITS 9
#define TT_CACHE_SLOTS (1u << TT_CACHE_HASH_BITS)
#define TT_CACHE_MAX (TT_CACHE_SLOTS / 2) /* objects cached at a time; so that a search ends at a free slot */
#define TT_CACHE_MAX_REFUSALS 4096        /* calls of objects that did not fit, after which the cache is cleared */

typedef struct {
    PyObject *object; /* its address, also after it was freed: only the weak reference tells */
    PyObject *reference, *section;
} tt_cache_slot;

typedef struct {
    tt_choice choice;
    PyObject *sections; /* called with the first argument of a call; returns its section, or None: it is not recorded */
    unsigned count, refusals;
    tt_cache_slot slots[TT_CACHE_SLOTS];
} tt_section_cache;

/* Set by the Cython side: the classes of sections, and of those with attendants. */
static PyTypeObject *tt_section_type, *tt_attended_type;

/* Every section is the only instance of its type, which derives directly from its class. */
static inline int tt_is_attended(PyObject *section) { return Py_TYPE(section)->tp_base == tt_attended_type; }

/* The slot that holds an object, or the free one for it (linear probing, TAOCP 6.4). */
static inline tt_cache_slot *tt_cache_find(tt_section_cache *cache, const PyObject *object)
{
    /* Fibonacci hashing, with the highest bits of the product: they spread addresses at equal distances, as objects created
     * in sequence have; the middle bits would map most of them together. */
    uint64_t hash = (uint64_t)(uintptr_t)object * 0x9E3779B97F4A7C15u;
    unsigned i = (unsigned)(hash >> (64 - TT_CACHE_HASH_BITS));
    while (cache->slots[i].object && cache->slots[i].object != object) i = (i + 1) % TT_CACHE_SLOTS;
    return &cache->slots[i];
}

static void tt_section_cache_clear(tt_section_cache *cache)
{
    cache->count = cache->refusals = 0;
    for (unsigned i = 0; i < TT_CACHE_SLOTS; i++) {
        cache->slots[i].object = NULL;
        Py_CLEAR(cache->slots[i].reference);
        Py_CLEAR(cache->slots[i].section);
    }
}

static void tt_section_cache_add(tt_section_cache *cache, PyObject *object, PyObject *section)
{
    /* A full cache keeps its entries: if it kept the latest instead, a model with more parts than slots, called in turn,
     * would never find one. But its entries may be of freed objects, so it is cleared from time to time. */
    if (cache->count == TT_CACHE_MAX && ++cache->refusals > TT_CACHE_MAX_REFUSALS) tt_section_cache_clear(cache);
    PyObject *reference = PyWeakref_NewRef(object, NULL);
    if (!reference) PyErr_Clear(); /* an object without weak references is not cached */
    tt_cache_slot *slot = tt_cache_find(cache, object), previous = *slot;
    if (!reference || (!previous.object && cache->count == TT_CACHE_MAX)) {
        Py_XDECREF(reference);
        return;
    }
    if (!previous.object) cache->count++;
    *slot = (tt_cache_slot){object, reference, Py_NewRef(section)};
    Py_XDECREF(previous.reference); /* of another object that was at this address */
    Py_XDECREF(previous.section);
}

/* A tt_choice: the section of the first argument, from the cache or from `sections`. */
static PyObject *tt_choose_by_object(tt_choice *choice, PyObject *const *args, size_t count, PyObject *Py_UNUSED(names))
{
    if (!PyVectorcall_NARGS(count)) return NULL;
    tt_section_cache *cache = (tt_section_cache *)choice;
    const tt_cache_slot *slot = tt_cache_find(cache, args[0]);
    if (slot->object && tt_referent(slot->reference) == args[0]) return Py_NewRef(slot->section);
    PyObject *section = PyObject_CallOneArg(cache->sections, args[0]);
    if (section && (section == Py_None || PyObject_TypeCheck(section, tt_section_type))) {
        tt_section_cache_add(cache, args[0], section);
        return section;
    }
    if (!section) tt_clear_usual_error();
    Py_XDECREF(section);
    return NULL;
}

/* -- by call site, identified by a number; calls from some of them have their own section ----------------------------- */

typedef struct {
    uint64_t number;
    PyObject *section;
} tt_call_site_section;

typedef struct {
    tt_choice choice;
    tt_recorder *recorder;
    unsigned calls; /* how many a number is computed from */
    size_t count;
    tt_call_site_section *entries; /* few: searched one by one */
} tt_call_sites;

/* Hashes the call site that `frame` is at: the open node, the frame's instruction, and those of the calls around it. */
static uint64_t tt_call_site_number(const tt_call_sites *call_sites, tt_pyframe *frame)
{
    tt_ref node = tt_node_open_here(call_sites->recorder);
    uint64_t hash = tt_hash(TT_HASH_BEGIN, &node, sizeof node);
    for (unsigned calls = call_sites->calls; frame && calls; calls--, frame = tt_pyframe_python_caller(frame)) {
        uint64_t site = tt_pyframe_site(frame);
        hash = tt_hash(hash, &site, sizeof site);
    }
    return tt_hash_end(hash);
}

/* The same for the caller of the running Python function. */
static uint64_t tt_call_site_number_of_caller(const tt_call_sites *call_sites)
{
    return tt_call_site_number(call_sites, tt_pyframe_python_caller(tt_pyframe_now(tt_thread_state())));
}

static tt_call_site_section *tt_call_sites_find(const tt_call_sites *call_sites, uint64_t number)
{
    for (size_t i = 0; i < call_sites->count; i++)
        if (call_sites->entries[i].number == number) return &call_sites->entries[i];
    return NULL;
}

/* Sets the section of calls from a call site. Returns -1 if there is no memory. */
static int tt_call_sites_set(tt_call_sites *call_sites, uint64_t number, PyObject *section)
{
    tt_call_site_section *entry = tt_call_sites_find(call_sites, number);
    PyObject *previous = entry ? entry->section : NULL;
    if (!entry) {
        tt_call_site_section *entries = PyMem_Realloc(call_sites->entries, (call_sites->count + 1) * sizeof *entries);
        if (!entries) return -1;
        call_sites->entries = entries;
        entry = &entries[call_sites->count++];
        entry->number = number;
    }
    entry->section = Py_NewRef(section);
    Py_XDECREF(previous);
    return 0;
}

/* Puts calls from a call site into the function's own section again. */
static void tt_call_sites_forget(tt_call_sites *call_sites, uint64_t number)
{
    tt_call_site_section *entry = tt_call_sites_find(call_sites, number);
    if (!entry) return;
    PyObject *previous = entry->section;
    *entry = call_sites->entries[--call_sites->count];
    Py_DECREF(previous);
}

static void tt_call_sites_forget_all(tt_call_sites *call_sites)
{
    while (call_sites->count) Py_DECREF(call_sites->entries[--call_sites->count].section);
    PyMem_Free(call_sites->entries);
    call_sites->entries = NULL;
}

/* A tt_choice: the section of the call site in the running Python function, if it has one. */
static PyObject *tt_choose_by_call_site(tt_choice *choice, PyObject *const *Py_UNUSED(args), size_t Py_UNUSED(count),
                                        PyObject *Py_UNUSED(names))
{
    const tt_call_sites *call_sites = (const tt_call_sites *)choice;
    if (!call_sites->count || call_sites->recorder->forked) return NULL;
    uint64_t number = tt_call_site_number(call_sites, tt_pyframe_now(tt_thread_state()));
    tt_call_site_section *entry = tt_call_sites_find(call_sites, number);
    if (!entry) return NULL;
    return Py_NewRef(entry->section);
}

/* -- calls of a library's method that are known to do nothing, by their arguments and the object ---------------------- */

typedef struct {
    tt_choice choice;
    PyObject *types;      /* a tuple: classes of the first argument, without their subclasses */
    PyObject *attributes; /* a tuple: names of its attributes that decide */
    PyObject *unless;     /* returns whether attributes may not be read now; or NULL */
    PyObject *calls;      /* a set of calls: values of attributes, other arguments, and the names of keyword arguments */
} tt_idle;

static int tt_has_type_in(PyObject *types, const PyObject *object)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types); i++)
        if ((PyObject *)Py_TYPE(object) == PyTuple_GET_ITEM(types, i)) return 1;
    return 0;
}

/* The key of a call in the set; new reference, or NULL with an exception. */
static PyObject *tt_idle_key(const tt_idle *idle, PyObject *const *args, size_t count, PyObject *names)
{
    Py_ssize_t attribute_count = PyTuple_GET_SIZE(idle->attributes), keyword_count = names ? PyTuple_GET_SIZE(names) : 0;
    Py_ssize_t argument_count = PyVectorcall_NARGS(count) - 1 + keyword_count;
    PyObject *key = PyTuple_New(attribute_count + argument_count + (keyword_count ? 1 : 0));
    for (Py_ssize_t i = 0; key && i < attribute_count; i++) {
        PyObject *value = PyObject_GetAttr(args[0], PyTuple_GET_ITEM(idle->attributes, i));
        if (value) PyTuple_SET_ITEM(key, i, value);
        else Py_CLEAR(key);
    }
    for (Py_ssize_t i = 0; key && i < argument_count; i++)
        PyTuple_SET_ITEM(key, attribute_count + i, Py_NewRef(args[i + 1]));
    if (key && keyword_count) PyTuple_SET_ITEM(key, attribute_count + argument_count, Py_NewRef(names));
    return key;
}

static int tt_idle_contains(const tt_idle *idle, PyObject *const *args, size_t count, PyObject *names)
{
    if (idle->unless) {
        PyObject *answer = PyObject_CallNoArgs(idle->unless);
        int is_blocked = answer ? PyObject_IsTrue(answer) : -1;
        Py_XDECREF(answer);
        if (is_blocked) return is_blocked > 0 ? 0 : -1;
    }
    PyObject *key = tt_idle_key(idle, args, count, names);
    int is_known = key ? PySet_Contains(idle->calls, key) : -1;
    Py_XDECREF(key);
    return is_known;
}

/* A tt_choice: None for a call that is known to do nothing. */
static PyObject *tt_choose_idle(tt_choice *choice, PyObject *const *args, size_t count, PyObject *names)
{
    const tt_idle *idle = (const tt_idle *)choice;
    if (!PyVectorcall_NARGS(count) || !PySet_GET_SIZE(idle->calls) || !tt_has_type_in(idle->types, args[0])) return NULL;
    int is_known = tt_idle_contains(idle, args, count, names);
    if (is_known < 0) tt_clear_usual_error();
    if (is_known <= 0) return NULL;
    return Py_NewRef(Py_None);
}

#endif
