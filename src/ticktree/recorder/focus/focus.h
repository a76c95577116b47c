/* Focus: the calls under a named function, as nodes by call site.
 *
 * Calls are reported by sys.monitoring (3.12 and later) or a profile function; both come down to a call that begins
 * and a call that ends, each in a Python frame that is the innermost one. A call under focus is a frame as any other
 * section's, found again by the address of its Python frame. Its node is found by its call site: the calling
 * instruction and what is called, resolved to a name once (naming may run any code).
 *
 *   plain function   from call to return
 *   generator        only while it runs: each resumption is a call
 *   coroutine        from its first run to its return, awaits included
 *   async generator  from each resumption to the value it yields, awaits included
 */
#ifndef TICKTREE_FOCUS_H
#define TICKTREE_FOCUS_H

#include "focus_sites.h"

/* What a root's call asks of its loop, and the loop of what it begins with. */
static void tt_focus_tick_begin(tt_recorder *recorder, tt_ref node)
{
    tt_loop *loop = tt_loop_of(recorder, node);
    if (!loop) {
        tt_lose(recorder, TT_LOSS_MEMORY);
        return;
    }
    if (!loop->ticks) tt_loop_ask(recorder, loop, 0, tt_focus.warmup);
    tt_warmup_end_if_due(recorder, loop);
    tt_loop_look(recorder, loop);
}

/* Pushes a call. The clock is read last: what it cost to get here is the caller's. The code is never a section: no leave
 * but its own finds it. */
static inline void tt_focus_push(tt_recorder *recorder, const tt_here *here, tt_frame *around, tt_section *section,
                                 const void *code, uint32_t flags, uint64_t focus)
{
    tt_ref node = TT_UNLIKELY(flags & TT_FRAME_TICK) ? tt_node_under(here->stack, section, around) : 0;
    if (node) tt_focus_tick_begin(recorder, node);
    tt_frame *frame = tt_push_as(recorder, here->stack, around, section, (uint64_t)(uintptr_t)code, here->pyframe,
                                 flags | TT_FRAME_FOCUS, 0);
    if (TT_UNLIKELY(!frame)) return;
    frame->focus = focus;
    tt_focus.open++;
    tt_node *record = frame->node ? tt_node_at(recorder, frame->node) : NULL;
    if (TT_UNLIKELY(record && !record->site)) { /* last: it may run any code */
        record->site = 1; /* no instruction: a section of this name, entered elsewhere, is another site */
        tt_focus_note(recorder, record, section);
    }
}

static inline int tt_focus_is_of(const tt_frame *frame, const void *code, const tt_pyframe *pyframe)
{
    return frame->flags & TT_FRAME_FOCUS && !(frame->flags & TT_FRAME_FOCUS_C) &&
           frame->section == (uint64_t)(uintptr_t)code && tt_entered_in(frame, pyframe);
}

static tt_frame *tt_focus_find(const tt_stack *stack, const void *code, const tt_pyframe *pyframe)
{
    tt_frame *frame = stack->top;
    while (frame && !tt_focus_is_of(frame, code, pyframe)) frame = tt_below(frame);
    return frame;
}

static inline void tt_focus_closed(void)
{
    if (tt_focus.open) tt_focus.open--;
}

static inline void tt_focus_look_at_generation(const tt_recorder *recorder)
{
    if (TT_LIKELY(tt_focus.generation == recorder->generation)) return;
    tt_focus.generation = recorder->generation; /* a forked child's memory, in which nothing is open */
    tt_focus.open = 0;
}

enum tt_focus_kind { TT_FOCUS_START, TT_FOCUS_RESUME };

/* Where the running code is, as focus sees it: the open call, and the one under focus that it is in. */
typedef struct {
    tt_here here;
    tt_frame *around, *parent;
} tt_focus_here;

static inline int tt_focus_arrive(tt_recorder *recorder, tt_focus_here *at)
{
    if (!tt_arrive(recorder, &at->here)) return 0;
    at->around = tt_frame_around(recorder, at->here.stack, at->here.pyframe);
    at->parent = tt_focus_around(recorder, at->here.stack, at->around, at->here.pyframe);
    return 1;
}

/* The recorder, where calls may be open under focus. */
static inline tt_recorder *tt_focus_recorder(void)
{
    return tt_focus.open && tt_focus.recorder && !tt_focus.recorder->forked ? tt_focus.recorder : NULL;
}

/* A coroutine or async generator is resumed. Whether that is all: its call continues, or it is of no interest. */
static int tt_focus_resumes(PyObject *code, const tt_here *here, int *recorded)
{
    *recorded = tt_focus_find(here->stack, code, here->pyframe) != NULL;
    return *recorded || !(((PyCodeObject *)code)->co_flags & CO_ASYNC_GENERATOR);
}

/* Pushes a call of the innermost Python frame: a root's, or `left` levels above the end of what is looked at. Whether it
 * was recorded. */
static int tt_focus_call(tt_recorder *recorder, tt_focus_here *at, PyObject *code, tt_code_info *info, int is_root,
                         uint32_t roots, uint32_t left, uint32_t flags)
{
    tt_pyframe *caller = left ? tt_focus_caller(tt_pyframe_python_caller(at->here.pyframe), at->parent) : NULL;
    uint64_t serial = recorder->serial;
    tt_section *section = left ? tt_focus_site_of(caller, code, code) : tt_focus.roots[info->root];
    left = left ? left - 1 : 0;
    if (is_root) {
        roots |= 1u << info->root;
        left = tt_focus.depth;
        flags |= TT_FRAME_TICK;
    }
    /* Naming the site may have run code that entered and left sections: nothing of what was found before holds. */
    if (TT_UNLIKELY(serial != recorder->serial) && !tt_focus_arrive(recorder, at)) return 0;
    if (section)
        tt_focus_push(recorder, &at->here, at->around ? at->around : at->parent, section, code, flags,
                      tt_focus_of(roots, left));
    else tt_lose(recorder, TT_LOSS_NODES);
    if (TT_UNLIKELY(left && !(info->state & TT_CODE_NAMED))) {
        info->state |= TT_CODE_NAMED;
        tt_focus_tell("want", code);
    }
    return section != NULL;
}

/* A call begins in the innermost Python frame, whose code is `code`. Whether it was recorded. */
static inline int tt_focus_begin(PyObject *code, tt_code_info *info, enum tt_focus_kind kind)
{
    tt_recorder *recorder = tt_focus.recorder;
    tt_focus_here at;
    if (!recorder || (info->root < 0 && (!tt_focus.open || recorder->forked))) return 0;
    if (!tt_focus_arrive(recorder, &at)) return 0;
    tt_focus_look_at_generation(recorder);
    uint32_t roots = at.parent ? (uint32_t)(at.parent->focus >> 32) : 0, left = at.parent ? (uint32_t)at.parent->focus : 0;
    int sleeps = tt_code_sleeps(code), recorded = 0;
    if (!(sleeps && kind == TT_FOCUS_RESUME && tt_focus_resumes(code, &at.here, &recorded))) {
        int is_root = info->root >= 0 && !(roots >> info->root & 1);
        if (is_root || left)
            recorded = tt_focus_call(recorder, &at, code, info, is_root, roots, left, sleeps ? TT_FRAME_GENERATOR : 0);
    }
    tt_stack_rest(at.here.stack);
    return recorded;
}

/* Whether calls are recorded that the innermost Python frame makes. */
static int tt_focus_is_below(void)
{
    tt_recorder *recorder = tt_focus_recorder();
    tt_focus_here at;
    if (!recorder || !tt_focus_arrive(recorder, &at)) return 0;
    int is = at.parent && (uint32_t)at.parent->focus;
    tt_stack_rest(at.here.stack);
    return is;
}

static TT_NOINLINE void tt_focus_end_slowly(tt_recorder *recorder, const tt_here *here, PyObject *code)
{
    tt_stack *stack = here->stack, *holder = stack;
    int no_call = tt_code_is(code, TT_CODE_NO_CALL);
    tt_frame *frame = no_call ? NULL : tt_focus_find(stack, code, here->pyframe);
    if (!frame && !no_call && tt_code_sleeps(code)) /* a coroutine that another context finalises */
        for (holder = &stack->thread->base; holder && !frame;) {
            frame = tt_focus_find(holder, code, here->pyframe);
            if (!frame) holder = tt_stack_after(stack->thread, holder);
        }
    if (frame) {
        tt_end(recorder, holder, frame, here->pyframe, here->now, TT_COMPLETE);
        tt_focus_closed();
        if (holder != stack) tt_stack_rest(holder);
    }
    tt_stack_rest(stack);
}

/* The call in the innermost Python frame ends, if it was recorded. */
static inline void tt_focus_end(PyObject *code)
{
    tt_recorder *recorder = tt_focus_recorder();
    if (!recorder || !recorder->recording) return;
    tt_here here = {.now = tt_now(recorder)};
    if (!tt_arrive(recorder, &here)) return;
    tt_frame *frame = here.stack->top;
    if (TT_UNLIKELY(!frame || !tt_focus_is_of(frame, code, here.pyframe))) {
        tt_focus_end_slowly(recorder, &here, code);
        return;
    }
    tt_complete_top(recorder, here.stack, frame, here.now);
    tt_focus_closed();
    tt_stack_rest(here.stack);
}

/* Whether a yield ends the call: an async generator's does where it yields a value, and not where it awaits. */
static inline int tt_focus_yield_ends(PyObject *code, PyObject *value)
{
    if (TT_LIKELY(!tt_code_sleeps(code))) return 1;
    return ((PyCodeObject *)code)->co_flags & CO_ASYNC_GENERATOR && tt_is_yielded_value(value);
}

/* What tells a C function from others, and one type from others. */
static inline const void *tt_focus_c_key(PyObject *callable)
{
    const void *key = tt_c_function_key(callable);
    if (key) return key;
    return PyType_Check(callable) ? (const void *)callable : (const void *)Py_TYPE(callable);
}

/* The innermost Python frame calls a C function, which to its author is a call like any other. */
static void tt_focus_c_begin(PyObject *callable)
{
    tt_recorder *recorder = tt_focus_recorder();
    tt_focus_here at;
    if (!recorder || !tt_focus_arrive(recorder, &at)) return;
    tt_pyframe *pyframe = at.here.pyframe;
    if (at.parent && (uint32_t)at.parent->focus && !tt_code_is((PyObject *)tt_pyframe_code(pyframe), TT_CODE_OWN)) {
        tt_section *section = tt_focus_site_of(pyframe, callable, tt_focus_c_key(callable));
        if (!tt_focus_arrive(recorder, &at)) return;
        if (section && at.parent)
            tt_focus_push(recorder, &at.here, at.around ? at.around : at.parent, section, NULL, TT_FRAME_FOCUS_C,
                          at.parent->focus - 1);
    }
    tt_stack_rest(at.here.stack);
}

static void tt_focus_c_end(void)
{
    tt_recorder *recorder = tt_focus_recorder();
    if (!recorder || !recorder->recording) return;
    tt_here here = {.now = tt_now(recorder)};
    if (!tt_arrive(recorder, &here)) return;
    tt_frame *frame = here.stack->top;
    while (frame && !(frame->flags & TT_FRAME_FOCUS_C && tt_entered_in(frame, here.pyframe))) {
        int is_python = frame->flags & TT_FRAME_FOCUS && tt_entered_in(frame, here.pyframe); /* that call's own: no C call */
        frame = is_python ? NULL : tt_below(frame);
    }
    if (frame) {
        tt_end(recorder, here.stack, frame, here.pyframe, here.now, TT_COMPLETE);
        tt_focus_closed();
    }
    tt_stack_rest(here.stack);
}

/* Ends what is open under focus, though its calls continue: their ends will not be reported. */
static void tt_focus_close_all(tt_recorder *recorder)
{
    if (!recorder->recording || recorder->forked) return;
    uint64_t now = tt_now(recorder);
    for (tt_thread *thread = recorder->threads; thread; thread = thread->next)
        for (tt_stack *stack = &thread->base; stack; stack = tt_stack_after(thread, stack))
            for (tt_frame *frame = stack->top, *next; frame; frame = next) {
                next = tt_below(frame);
                if (frame->flags & TT_FRAME_FOCUS) tt_pop(recorder, stack, frame, now, TT_OPEN);
            }
}

/* Calls of this stack that have returned without anybody telling: another profiler took over. */
static void tt_focus_settle(tt_recorder *recorder)
{
    tt_here here;
    if (recorder->forked || !tt_arrive(recorder, &here)) return;
    for (tt_frame *frame = here.stack->top, *next; frame; frame = next) {
        next = tt_below(frame);
        if (!(frame->flags & TT_FRAME_FOCUS) || frame->flags & TT_FRAME_GENERATOR) continue;
        if (tt_chain_depth(frame->python_frame, here.pyframe) >= 0) break;
        tt_pop(recorder, here.stack, frame, tt_now(recorder), TT_OPEN);
        tt_focus_closed();
    }
    tt_stack_rest(here.stack);
}

static void tt_focus_forget(void)
{
    for (uint32_t at = 0; at < tt_focus.sites.room; at++) {
        tt_focus_site *site = (tt_focus_site *)(uintptr_t)tt_focus.sites.entries[at].value;
        if (!site) continue;
        tt_section_unlink(&site->section);
        free(site);
    }
    tt_map_free(&tt_focus.sites);
    tt_focus = (tt_focus_state){.epoch = tt_focus.epoch + 1};
}

#endif
