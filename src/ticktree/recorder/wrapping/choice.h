/* Which section a call is in, where that is not always the function's own: by its first argument, by where it comes from,
 * or none where it is known to do nothing. */
#ifndef TICKTREE_CHOICE_H
#define TICKTREE_CHOICE_H

#include "core/hot.h"

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

/* The first member of whatever chooses. */
typedef struct tt_choice {
    /* New reference: a section, or Py_None for a call that is not recorded. NULL: the function's own section, or what was
     * raised meanwhile is the program's. */
    PyObject *(*choose)(struct tt_choice *choice, PyObject *const *args, size_t count, PyObject *names);
} tt_choice;

/* -- by the first argument: a cache by identity, since asking for a section costs a Python call ----------------------- */

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

/* -- by call site, distinguished by numbers; calls from some of them are in an own section ---------------------------- */

typedef struct {
    uint64_t number;
    PyObject *section;
} tt_named_call_site;

typedef struct {
    tt_choice choice;
    tt_recorder *recorder;
    unsigned calls;         /* that a number is made of */
    size_t count;
    tt_named_call_site *named; /* few: they are gone through one by one */
} tt_call_sites;

/* A number for where `frame` is: the node open here, the instruction it executes, and those of the calls around it. */
static uint64_t tt_call_sites_of(const tt_call_sites *call_sites, tt_pyframe *frame)
{
    tt_ref node = tt_node_open_here(call_sites->recorder);
    uint64_t hash = tt_hash(TT_HASH_BEGIN, &node, sizeof node);
    for (unsigned calls = call_sites->calls; frame && calls; calls--, frame = tt_pyframe_python_caller(frame)) {
        uint64_t site = tt_pyframe_site(frame);
        hash = tt_hash(hash, &site, sizeof site);
    }
    return tt_hash_end(hash);
}

/* That of the caller of the running Python function. */
static uint64_t tt_call_sites_of_caller(const tt_call_sites *call_sites)
{
    return tt_call_sites_of(call_sites, tt_pyframe_python_caller(tt_pyframe_now(tt_thread_state())));
}

static tt_named_call_site *tt_call_sites_find(const tt_call_sites *call_sites, uint64_t number)
{
    for (size_t at = 0; at < call_sites->count; at++)
        if (call_sites->named[at].number == number) return &call_sites->named[at];
    return NULL;
}

/* Has calls from there be in `section`. Returns -1 where there is no memory. */
static int tt_call_sites_name(tt_call_sites *call_sites, uint64_t number, PyObject *section)
{
    tt_named_call_site *known = tt_call_sites_find(call_sites, number);
    PyObject *old = known ? known->section : NULL;
    if (!known) {
        tt_named_call_site *more = PyMem_Realloc(call_sites->named, (call_sites->count + 1) * sizeof *more);
        if (!more) return -1;
        call_sites->named = more;
        known = &more[call_sites->count++];
        known->number = number;
    }
    Py_INCREF(section);
    known->section = section;
    Py_XDECREF(old);
    return 0;
}

/* Has calls from there be in no other section than all are. */
static void tt_call_sites_forget(tt_call_sites *call_sites, uint64_t number)
{
    tt_named_call_site *known = tt_call_sites_find(call_sites, number);
    if (!known) return;
    PyObject *old = known->section;
    *known = call_sites->named[--call_sites->count];
    Py_DECREF(old);
}

static void tt_call_sites_forget_all(tt_call_sites *call_sites)
{
    while (call_sites->count) Py_DECREF(call_sites->named[--call_sites->count].section);
    PyMem_Free(call_sites->named);
    call_sites->named = NULL;
}

/* A tt_choice: the section of calls from where the running Python function makes this one, if they have one. */
static PyObject *tt_call_sites_section(tt_choice *choice, PyObject *const *args, size_t count, PyObject *names)
{
    (void)args, (void)count, (void)names;
    const tt_call_sites *call_sites = (const tt_call_sites *)choice;
    if (!call_sites->count || call_sites->recorder->forked) return NULL;
    tt_named_call_site *known = tt_call_sites_find(call_sites, tt_call_sites_of(call_sites, tt_pyframe_now(tt_thread_state())));
    if (!known) return NULL;
    Py_INCREF(known->section);
    return known->section;
}

/* -- calls of a library's method that are known to do nothing: by the arguments, and the object ----------------------- */

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
