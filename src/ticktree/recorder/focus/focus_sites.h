/* What focus knows of code: which is a root, what was met, and what each call site is called.
 *
 * A call site is the calling instruction and what is called. It is resolved to a name once (naming may run any
 * code); what is known of a code object lies with it, and goes with it.
 */
#ifndef TICKTREE_FOCUS_SITES_H
#define TICKTREE_FOCUS_SITES_H

#include "core/hot.h"

#include <stdlib.h>

#define TT_FRAME_FOCUS (1u << 21)   /* a call under focus, in the frame's own Python call */
#define TT_FRAME_FOCUS_C (1u << 22) /* of a C function, by the frame's Python call */
_Static_assert(TT_FRAME_RAISED < TT_FRAME_FOCUS, "these flags are above those of layout.h");

#define TT_FOCUS_ROOTS 32u
#define TT_FOCUS_SITE_CAP 16384u /* call sites are kept, with the code that they are of */
#define TT_FOCUS_OUTSIDE_CAP 64u /* calls outside after which a function is no longer looked at */

enum tt_code_state {
    TT_CODE_CHECKED = 1, /* whether it is a root is known */
    TT_CODE_OWN = 2,     /* ticktree's: its calls are its caller's */
    TT_CODE_MET = 4,     /* called under focus: it tells of its calls */
    TT_CODE_NAMED = 8,   /* what it may call is known by name */
    TT_CODE_ASLEEP = 16, /* called so often outside that it is no longer looked at */
    TT_CODE_SLEEPY = 32, /* woken: its calls are looked at, under focus or not */
    TT_CODE_PART = 64    /* a comprehension or generator expression: what it calls counts as called by its caller */
};

/* No own calls: what runs in them is their caller's. */
#define TT_CODE_NO_CALL (TT_CODE_OWN | TT_CODE_PART)

/* What is known of a code object; lies with it, and goes with it. */
typedef struct {
    uint32_t epoch; /* of the focus that it was learnt in */
    uint32_t state, outside;
    int32_t root; /* which; -1: none */
} tt_code_info;

typedef struct {
    const void *caller, *callee; /* held by the namer of the site */
    uint64_t at;
    tt_section section;
} tt_focus_site;

typedef struct {
    tt_recorder *recorder; /* NULL: nothing is in focus */
    uint32_t epoch, depth, generation;
    int c_functions, root_count, unfound, keeps_looking;
    uint64_t warmup; /* ticks of a root that are set aside; TT_WARMUP_FOUND: as many as are unlike the rest */
    uint32_t open; /* at least the calls that are open under focus, in all threads: 0 says that there are none */
    tt_section *roots[TT_FOCUS_ROOTS];
    tt_map sites; /* hash of a call site -> tt_focus_site */
} tt_focus_state;

static tt_focus_state tt_focus;

/* In focus.pxi; each may run any code and leaves no exception. */
enum tt_focus_none { TT_FOCUS_NO_ROOT = -1, TT_FOCUS_OWN = -2, TT_FOCUS_PART = -3 };
static int tt_focus_which(PyObject *code);   /* which root a code object is, met for the first time; or one of these */
/* "meet": makes a code object tell of its calls; "want": wakes what it may call; "sleep": notes that it is no longer looked at;
 * "alone", without one: a wrapped root was called in a thread that has its own profile function. */
static void tt_focus_tell(const char *what, PyObject *code);
static tt_section *tt_focus_name(PyObject *caller, int offset, PyObject *callee, const void *key);
static void tt_focus_note(tt_recorder *recorder, tt_node *node, tt_section *section); /* where its calls are made */

static Py_ssize_t tt_code_extra_index = -1;

/* NULL where nothing is known of the code, and where there is no memory to note it. */
static tt_code_info *tt_code_info_of(PyObject *code, int make)
{
    void *extra = NULL;
    if (TT_UNLIKELY(!PyCode_Check(code)) || tt_code_get_extra(code, tt_code_extra_index, &extra) < 0) {
        PyErr_Clear();
        return NULL;
    }
    tt_code_info *info = extra;
    if (TT_UNLIKELY(!info && make)) {
        info = calloc(1, sizeof *info);
        if (info && tt_code_set_extra(code, tt_code_extra_index, info) < 0) {
            PyErr_Clear();
            free(info);
            return NULL;
        }
    }
    if (info && TT_UNLIKELY(info->epoch != tt_focus.epoch)) {
        if (!make) return NULL;
        *info = (tt_code_info){tt_focus.epoch, 0, 0, -1};
    }
    return info;
}

/* Asks what a code object is that is met for the first time. Whether it is a root. */
static int tt_code_check(PyObject *code, tt_code_info *info)
{
    info->state |= TT_CODE_CHECKED;
    int root = tt_focus_which(code);
    if (root == TT_FOCUS_OWN) info->state |= TT_CODE_OWN;
    if (root == TT_FOCUS_PART) info->state |= TT_CODE_PART;
    if (root < 0) return 0;
    info->root = root;
    return 1;
}

static inline int tt_code_is(PyObject *code, uint32_t state)
{
    tt_code_info *info = tt_code_info_of(code, 0);
    return info && info->state & state;
}

/* Coroutines, and async generators between two values: they sleep with their call open. */
static inline int tt_code_sleeps(PyObject *code)
{
    return ((PyCodeObject *)code)->co_flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR);
}

static inline uint64_t tt_focus_of(uint32_t roots, uint32_t depth_left) { return (uint64_t)roots << 32 | depth_left; }

/* In an own context: the call of the thread's that this one runs in. An event loop that runs under focus runs its
 * tasks there, wherever they were made. */
static TT_NOINLINE tt_frame *tt_focus_beneath(const tt_stack *stack, tt_pyframe *now)
{
    tt_frame *frame = stack->thread->base.top;
    while (frame && !(frame->flags & TT_FRAME_FOCUS && tt_chain_depth(frame->python_frame, now) >= 0))
        frame = tt_below(frame);
    return frame;
}

/* Whether a call sleeps, or one that it is in, whatever contexts they were entered in. */
static int tt_focus_sleeps(const tt_recorder *recorder, const tt_frame *frame, tt_pyframe *now)
{
    for (; frame; frame = tt_parent_frame(recorder, frame))
        if (tt_asleep(frame, now)) return 1;
    return 0;
}

/* The call under focus that is open around a call entered here; NULL: none is. What a sleeping coroutine has started
 * is concurrent to it, not in it; so does what an event loop calls back in a copy of its context. */
static inline tt_frame *tt_focus_around(const tt_recorder *recorder, const tt_stack *stack, tt_frame *around,
                                        tt_pyframe *now)
{
    tt_frame *frame = around ? around : tt_bottom_parent(stack);
    while (frame && !(frame->flags & TT_FRAME_FOCUS))
        frame = tt_parent_frame(recorder, frame);
    if (TT_LIKELY(stack == &stack->thread->base)) return frame;
    if (frame && !tt_focus_sleeps(recorder, frame, now)) return frame;
    return tt_focus_beneath(stack, now);
}

static uint64_t tt_focus_key(const void *caller, uint64_t at, const void *callee)
{
    const uint64_t site[3] = {(uintptr_t)caller, at, (uintptr_t)callee};
    return tt_hash_end(tt_hash(TT_HASH_BEGIN, site, sizeof site));
}

static tt_focus_site *tt_focus_site_known(uint64_t key, const void *caller, uint64_t at, const void *callee)
{
    uint64_t value;
    for (uint32_t step = 0; (value = tt_map_next(&tt_focus.sites, key, &step));) {
        tt_focus_site *site = (tt_focus_site *)(uintptr_t)value;
        if (site->at == at && site->callee == callee && site->caller == caller) return site;
    }
    return NULL;
}

/* A call site met for the first time. NULL: there are too many. */
static TT_NOINLINE tt_section *tt_focus_site_make(tt_pyframe *caller, const void *code, uint64_t at,
                                                                PyObject *callee, const void *callee_key)
{
    if (tt_focus.sites.count >= TT_FOCUS_SITE_CAP) return NULL;
    tt_section *named = tt_focus_name((PyObject *)code, caller ? tt_pyframe_offset(caller) : -1, callee, callee_key);
    if (!named || !tt_focus.recorder) return NULL;
    uint64_t key = tt_focus_key(code, at, callee_key);
    tt_focus_site *site = tt_focus_site_known(key, code, at, callee_key); /* another thread may have made it meanwhile */
    if (!site) {
        site = tt_map_reserve(&tt_focus.sites) ? calloc(1, sizeof *site) : NULL;
        if (!site) return NULL;
        *site = (tt_focus_site){code, callee_key, at, *named};
        tt_section_link(tt_focus.recorder, &site->section);
        tt_map_add(&tt_focus.sites, key, (uint64_t)(uintptr_t)site);
    }
    return &site->section;
}

/* `callee` is called by `caller` (NULL: by no code); `callee_key` distinguishes it from others that are called there. */
static inline tt_section *tt_focus_site_of(tt_pyframe *caller, PyObject *callee, const void *callee_key)
{
    const void *code = caller ? tt_pyframe_code(caller) : NULL;
    uint64_t at = tt_pyframe_site(caller);
    tt_focus_site *site = tt_focus_site_known(tt_focus_key(code, at, callee_key), code, at, callee_key);
    return TT_LIKELY(site != NULL) ? &site->section : tt_focus_site_make(caller, code, at, callee, callee_key);
}

/* The caller, as the program's author sees it: without what ticktree puts between. */
static inline tt_pyframe *tt_focus_caller(tt_pyframe *caller, const tt_frame *around)
{
    while (caller && !(around && tt_entered_in(around, caller)) &&
           tt_code_is((PyObject *)tt_pyframe_code(caller), TT_CODE_OWN))
        caller = tt_pyframe_python_caller(caller);
    return caller;
}

#endif
