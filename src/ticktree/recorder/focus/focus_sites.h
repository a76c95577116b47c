/* What focus knows about code: which code objects are roots, which are watched, and the name of each call site.
 *
 * A call site is the calling instruction and the callee. It is resolved to a name once (naming may run any code). What is
 * known about a code object is stored with it, and freed with it.
 */
#ifndef TICKTREE_FOCUS_SITES_H
#define TICKTREE_FOCUS_SITES_H

#include "core/hot.h"

#include <stdlib.h>

#define TT_FRAME_FOCUS (1u << 21)   /* a call under focus: the Python call of its frame */
#define TT_FRAME_FOCUS_C (1u << 22) /* a call of a C function by that Python call */
_Static_assert(TT_FRAME_RAISED < TT_FRAME_FOCUS, "these flags are above those of layout.h");

#define TT_FOCUS_ROOTS 32u
#define TT_FOCUS_SITE_CAP 16384u /* call sites keep the code that they belong to alive */
#define TT_FOCUS_OUTSIDE_CAP 64u /* calls outside focus after which a function is ignored */

enum tt_code_state {
    TT_CODE_CHECKED = 1,         /* it is known whether it is a root */
    TT_CODE_OWN = 2,             /* ticktree's: its calls count as its caller's */
    TT_CODE_WATCHED = 4,         /* called under focus: its calls are reported */
    TT_CODE_CALLEES_WATCHED = 8, /* calls of the functions that it names are reported */
    TT_CODE_IGNORED = 16,        /* called so often outside focus that its calls are not reported any more */
    TT_CODE_WOKEN = 32,          /* its calls are reported again, under focus or not */
    TT_CODE_COMPREHENSION = 64   /* or a generator expression: its calls count as its caller's */
};

/* Code whose frames are not calls: what runs in them counts as their caller's. */
#define TT_CODE_TRANSPARENT (TT_CODE_OWN | TT_CODE_COMPREHENSION)

/* What is known about a code object; stored with it, and freed with it. */
typedef struct {
    uint32_t epoch; /* of the focus that it belongs to */
    uint32_t state, outside_calls;
    int32_t root; /* its number; -1: none */
} tt_code_info;

typedef struct {
    const void *caller, *callee; /* the observer keeps them alive */
    uint64_t instruction;
    tt_section section;
} tt_focus_site;

typedef struct {
    tt_recorder *recorder; /* NULL: no function is in focus */
    uint32_t epoch, depth, generation;
    int c_functions, root_count, missing_roots, watches_all;
    uint64_t warmup; /* ticks of a root that are set aside; TT_WARMUP_FOUND: as many as are unlike the rest */
    uint32_t open_calls; /* upper bound of the calls open under focus, in all threads: 0 means that there are none */
    tt_section *roots[TT_FOCUS_ROOTS];
    tt_map sites; /* hash of a call site -> tt_focus_site */
} tt_focus_state;

static tt_focus_state tt_focus;

/* In focus.pxi; they may run any code, and leave no exception. */
enum tt_focus_none { TT_FOCUS_NO_ROOT = -1, TT_FOCUS_OWN = -2, TT_FOCUS_COMPREHENSION = -3 };
static int tt_focus_identify(PyObject *code); /* the number of the root that a code object is, or one of these */
static void tt_focus_notify(const char *method, PyObject *code); /* calls a method of the observer; code: may be NULL */
static tt_section *tt_focus_name_site(PyObject *caller, int offset, PyObject *callee, const void *key);
static void tt_focus_note_site(tt_recorder *recorder, tt_node *node, tt_section *section); /* of the node's calls */

static Py_ssize_t tt_code_extra_index = -1;

/* Returns NULL if nothing is known about the code, or if there is no memory. */
static tt_code_info *tt_code_info_of(PyObject *code, int create)
{
    void *extra = NULL;
    if (TT_UNLIKELY(!PyCode_Check(code)) || tt_code_get_extra(code, tt_code_extra_index, &extra) < 0) {
        PyErr_Clear();
        return NULL;
    }
    tt_code_info *info = extra;
    if (TT_UNLIKELY(!info && create)) {
        info = calloc(1, sizeof *info);
        if (info && tt_code_set_extra(code, tt_code_extra_index, info) < 0) {
            PyErr_Clear();
            free(info);
            return NULL;
        }
    }
    if (info && TT_UNLIKELY(info->epoch != tt_focus.epoch)) {
        if (!create) return NULL;
        *info = (tt_code_info){tt_focus.epoch, 0, 0, -1};
    }
    return info;
}

/* Identifies a new code object. Returns whether it is a root. */
static int tt_code_check(PyObject *code, tt_code_info *info)
{
    info->state |= TT_CODE_CHECKED;
    int root = tt_focus_identify(code);
    if (root == TT_FOCUS_OWN) info->state |= TT_CODE_OWN;
    if (root == TT_FOCUS_COMPREHENSION) info->state |= TT_CODE_COMPREHENSION;
    if (root < 0) return 0;
    info->root = root;
    return 1;
}

/* Whether it is watched, and its frames are calls. */
static inline int tt_code_is_watched_call(const tt_code_info *info)
{
    return (info->state & (TT_CODE_WATCHED | TT_CODE_COMPREHENSION)) == TT_CODE_WATCHED;
}

static inline int tt_code_is(PyObject *code, uint32_t state)
{
    tt_code_info *info = tt_code_info_of(code, 0);
    return info && info->state & state;
}

/* Wakes a code object that is ignored: its calls are reported again. Returns whether it was ignored. */
static int tt_code_wake(PyObject *code)
{
    tt_code_info *info = tt_code_info_of(code, 0);
    if (!info || !(info->state & TT_CODE_IGNORED)) return 0;
    info->state = (info->state & ~(uint32_t)TT_CODE_IGNORED) | TT_CODE_WOKEN;
    return 1;
}

/* Whether it is a coroutine's or async generator's: these are suspended while their call is open. */
static inline int tt_code_can_suspend(PyObject *code)
{
    return ((PyCodeObject *)code)->co_flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR);
}

static inline uint64_t tt_focus_pack(uint32_t roots, uint32_t depth_left) { return (uint64_t)roots << 32 | depth_left; }

/* How many levels of calls below a call are recorded. */
static inline uint32_t tt_focus_depth_left(const tt_frame *frame) { return frame ? (uint32_t)frame->focus : 0; }

/* Finds the call in the thread's own stack that a call in another context runs in. An event loop under focus runs its tasks
 * there, wherever they were created. */
static TT_NOINLINE tt_frame *tt_focus_find_in_thread(const tt_stack *stack, tt_pyframe *pyframe)
{
    tt_frame *frame = stack->thread->base.top;
    while (frame && !(frame->flags & TT_FRAME_FOCUS && tt_chain_depth(frame->python_frame, pyframe) >= 0))
        frame = tt_below(frame);
    return frame;
}

/* Whether a call, or one around it, is suspended, whatever contexts they were entered in. */
static int tt_is_in_suspended_call(const tt_recorder *recorder, const tt_frame *frame, tt_pyframe *pyframe)
{
    for (; frame; frame = tt_parent_frame(recorder, frame))
        if (tt_asleep(frame, pyframe)) return 1;
    return 0;
}

/* Finds the call under focus that is open around a call entered here; NULL: none. What a suspended coroutine has started
 * is concurrent to it, not in it; so is what an event loop calls back in a copy of its context. */
static inline tt_frame *tt_focus_find_parent(const tt_recorder *recorder, const tt_stack *stack, tt_frame *around,
                                        tt_pyframe *pyframe)
{
    tt_frame *frame = around ? around : tt_bottom_parent(stack);
    while (frame && !(frame->flags & TT_FRAME_FOCUS)) frame = tt_parent_frame(recorder, frame);
    if (TT_LIKELY(stack == &stack->thread->base)) return frame;
    if (frame && !tt_is_in_suspended_call(recorder, frame, pyframe)) return frame;
    return tt_focus_find_in_thread(stack, pyframe);
}

static uint64_t tt_focus_site_key(const void *caller, uint64_t instruction, const void *callee)
{
    const uint64_t words[3] = {(uintptr_t)caller, instruction, (uintptr_t)callee};
    return tt_hash_end(tt_hash(TT_HASH_BEGIN, words, sizeof words));
}

static tt_focus_site *tt_focus_find_site(uint64_t key, const void *caller, uint64_t instruction, const void *callee)
{
    uint64_t value;
    for (uint32_t step = 0; (value = tt_map_next(&tt_focus.sites, key, &step));) {
        tt_focus_site *site = (tt_focus_site *)(uintptr_t)value;
        if (site->instruction == instruction && site->callee == callee && site->caller == caller) return site;
    }
    return NULL;
}

/* Adds a new call site. NULL: there are too many. */
static TT_NOINLINE tt_section *tt_focus_add_site(tt_pyframe *caller, const void *code, uint64_t instruction,
                                                 PyObject *callee, const void *callee_key)
{
    if (tt_focus.sites.count >= TT_FOCUS_SITE_CAP) return NULL;
    int offset = caller ? tt_pyframe_offset(caller) : -1;
    tt_section *section = tt_focus_name_site((PyObject *)code, offset, callee, callee_key);
    if (!section || !tt_focus.recorder) return NULL;
    uint64_t key = tt_focus_site_key(code, instruction, callee_key);
    tt_focus_site *site = tt_focus_find_site(key, code, instruction, callee_key); /* another thread may have added it */
    if (!site) {
        site = tt_map_reserve(&tt_focus.sites) ? calloc(1, sizeof *site) : NULL;
        if (!site) return NULL;
        *site = (tt_focus_site){code, callee_key, instruction, *section};
        tt_section_link(tt_focus.recorder, &site->section);
        tt_map_add(&tt_focus.sites, key, (uint64_t)(uintptr_t)site);
    }
    return &site->section;
}

/* Finds or adds a call site of `callee` in `caller` (NULL: no Python code); `callee_key` distinguishes callees. */
static inline tt_section *tt_focus_get_site(tt_pyframe *caller, PyObject *callee, const void *callee_key)
{
    const void *code = caller ? tt_pyframe_code(caller) : NULL;
    uint64_t instruction = tt_pyframe_site(caller);
    uint64_t key = tt_focus_site_key(code, instruction, callee_key);
    tt_focus_site *site = tt_focus_find_site(key, code, instruction, callee_key);
    return TT_LIKELY(site != NULL) ? &site->section : tt_focus_add_site(caller, code, instruction, callee, callee_key);
}

/* Returns the caller as the program's author sees it: without ticktree's frames between. */
static inline tt_pyframe *tt_focus_skip_own(tt_pyframe *caller, const tt_frame *around)
{
    while (caller && !(around && tt_entered_in(around, caller)) &&
           tt_code_is((PyObject *)tt_pyframe_code(caller), TT_CODE_OWN))
        caller = tt_pyframe_python_caller(caller);
    return caller;
}

#endif
