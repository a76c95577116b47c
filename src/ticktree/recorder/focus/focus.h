/* Focus: the calls under a named function, as one node per call site.
 *
 * Calls are reported by sys.monitoring (3.12 and later) or a profile function; either reports that a call begins or ends
 * in the innermost Python frame. A call under focus is a frame like any other section's, found again by the address of its
 * Python frame. Its node is found by its call site: the calling instruction and the callee, resolved to a name once (naming
 * may run any code).
 *
 *   plain function   from call to return
 *   generator        only while it runs: each resumption is a call
 *   coroutine        from its first run to its return, awaits included
 *   async generator  from each resumption to the value it yields, awaits included
 */
#ifndef TICKTREE_FOCUS_H
#define TICKTREE_FOCUS_H

#include "focus_sites.h"

/* Begins a tick of a root's loop: its warm-up is set on the first tick. */
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

/* Pushes a call. The clock is read last: the cost until here is the caller's. The code is never a section: only its own
 * leave finds it. */
static inline void tt_focus_push(tt_recorder *recorder, const tt_here *here, tt_frame *around, tt_section *section,
                                 const void *code, uint32_t flags, uint64_t focus)
{
    tt_ref node = TT_UNLIKELY(flags & TT_FRAME_TICK) ? tt_node_under(here->stack, section, around) : 0;
    if (node) tt_focus_tick_begin(recorder, node);
    tt_frame *frame = tt_push_as(recorder, here->stack, around, section, (uint64_t)(uintptr_t)code, here->pyframe,
                                 flags | TT_FRAME_FOCUS, 0);
    if (TT_UNLIKELY(!frame)) return;
    frame->focus = focus;
    tt_focus.open_calls++;
    tt_node *record = frame->node ? tt_node_at(recorder, frame->node) : NULL;
    if (TT_UNLIKELY(record && !record->site)) { /* last, because it may run any code */
        record->site = 1; /* not an instruction: a section of this name, entered elsewhere, is another site */
        tt_focus_note_site(recorder, record, section);
    }
}

static inline int tt_focus_matches(const tt_frame *frame, const void *code, const tt_pyframe *pyframe)
{
    return frame->flags & TT_FRAME_FOCUS && !(frame->flags & TT_FRAME_FOCUS_C) &&
           frame->section == (uint64_t)(uintptr_t)code && tt_entered_in(frame, pyframe);
}

static tt_frame *tt_focus_find(const tt_stack *stack, const void *code, const tt_pyframe *pyframe)
{
    tt_frame *frame = stack->top;
    while (frame && !tt_focus_matches(frame, code, pyframe)) frame = tt_below(frame);
    return frame;
}

static inline void tt_focus_count_closed(void)
{
    if (tt_focus.open_calls) tt_focus.open_calls--;
}

static inline void tt_focus_check_generation(const tt_recorder *recorder)
{
    if (TT_LIKELY(tt_focus.generation == recorder->generation)) return;
    tt_focus.generation = recorder->generation; /* a forked child's memory, in which no call is open */
    tt_focus.open_calls = 0;
}

enum tt_focus_kind { TT_FOCUS_START, TT_FOCUS_RESUME };

/* The position of the running code: the open call, and the call under focus around it. */
typedef struct {
    tt_here here;
    tt_frame *around, *parent;
} tt_focus_position;

static inline int tt_focus_arrive(tt_recorder *recorder, tt_focus_position *position)
{
    if (!tt_arrive(recorder, &position->here)) return 0;
    tt_stack *stack = position->here.stack;
    tt_frame *around = tt_frame_around(recorder, stack, position->here.pyframe);
    position->parent = tt_focus_find_parent(recorder, stack, around, position->here.pyframe);
    position->around = around ? around : position->parent;
    return 1;
}

/* Returns the recorder, if calls may be open under focus. */
static inline tt_recorder *tt_focus_recorder(void)
{
    return tt_focus.open_calls && tt_focus.recorder && !tt_focus.recorder->forked ? tt_focus.recorder : NULL;
}

/* Whether a resumed coroutine or async generator begins no call: its call continues, or it is a coroutine. */
static int tt_focus_skips_resume(PyObject *code, const tt_here *here, int *is_recorded)
{
    *is_recorded = tt_focus_find(here->stack, code, here->pyframe) != NULL;
    return *is_recorded || !(((PyCodeObject *)code)->co_flags & CO_ASYNC_GENERATOR);
}

/* Pushes a call of the innermost Python frame: of a root, or with `depth_left` more levels to record. Returns whether it
 * was recorded. */
static int tt_focus_call(tt_recorder *recorder, tt_focus_position *position, PyObject *code, tt_code_info *info,
                         int is_root, uint32_t roots, uint32_t depth_left, uint32_t flags)
{
    tt_pyframe *caller = depth_left ? tt_pyframe_python_caller(position->here.pyframe) : NULL;
    caller = tt_focus_skip_own(caller, position->parent);
    uint64_t serial = recorder->serial;
    tt_section *section = depth_left ? tt_focus_get_site(caller, code, code) : tt_focus.roots[info->root];
    depth_left = depth_left ? depth_left - 1 : 0;
    if (is_root) {
        roots |= 1u << info->root;
        depth_left = tt_focus.depth;
        flags |= TT_FRAME_TICK;
    }
    /* Naming the site may have run code that entered and left sections: the position may have changed. */
    if (TT_UNLIKELY(serial != recorder->serial) && !tt_focus_arrive(recorder, position)) return 0;
    if (section)
        tt_focus_push(recorder, &position->here, position->around, section, code, flags,
                      tt_focus_pack(roots, depth_left));
    else tt_lose(recorder, TT_LOSS_NODES);
    if (TT_UNLIKELY(depth_left && !(info->state & TT_CODE_CALLEES_WATCHED))) {
        info->state |= TT_CODE_CALLEES_WATCHED;
        tt_focus_notify("watch_callees", code);
    }
    return section != NULL;
}

/* A call begins in the innermost Python frame, whose code is `code`. Returns whether it was recorded. */
static inline int tt_focus_begin(PyObject *code, tt_code_info *info, enum tt_focus_kind kind)
{
    tt_recorder *recorder = tt_focus.recorder;
    tt_focus_position position;
    if (!recorder || (info->root < 0 && (!tt_focus.open_calls || recorder->forked))) return 0;
    if (!tt_focus_arrive(recorder, &position)) return 0;
    tt_focus_check_generation(recorder);
    uint32_t roots = position.parent ? (uint32_t)(position.parent->focus >> 32) : 0;
    uint32_t depth_left = tt_focus_depth_left(position.parent);
    int can_suspend = tt_code_can_suspend(code), is_recorded = 0;
    if (!(can_suspend && kind == TT_FOCUS_RESUME && tt_focus_skips_resume(code, &position.here, &is_recorded))) {
        int is_root = info->root >= 0 && !(roots >> info->root & 1);
        if (is_root || depth_left)
            is_recorded = tt_focus_call(recorder, &position, code, info, is_root, roots, depth_left,
                                        can_suspend ? TT_FRAME_GENERATOR : 0);
    }
    tt_stack_rest(position.here.stack);
    return is_recorded;
}

/* Whether calls by the innermost Python frame are recorded. */
static int tt_focus_is_recording(void)
{
    tt_recorder *recorder = tt_focus_recorder();
    tt_focus_position position;
    if (!recorder || !tt_focus_arrive(recorder, &position)) return 0;
    int is_recording = tt_focus_depth_left(position.parent) != 0;
    tt_stack_rest(position.here.stack);
    return is_recording;
}

static TT_NOINLINE void tt_focus_end_slowly(tt_recorder *recorder, const tt_here *here, PyObject *code)
{
    tt_stack *stack = here->stack, *owner = stack;
    int is_transparent = tt_code_is(code, TT_CODE_TRANSPARENT);
    tt_frame *frame = is_transparent ? NULL : tt_focus_find(stack, code, here->pyframe);
    if (!frame && !is_transparent && tt_code_can_suspend(code)) /* a coroutine that is finalised in another context */
        for (owner = &stack->thread->base; owner && !frame;) {
            frame = tt_focus_find(owner, code, here->pyframe);
            if (!frame) owner = tt_stack_after(stack->thread, owner);
        }
    if (frame) {
        tt_end(recorder, owner, frame, here->pyframe, here->now, TT_COMPLETE);
        tt_focus_count_closed();
        if (owner != stack) tt_stack_rest(owner);
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
    if (TT_UNLIKELY(!frame || !tt_focus_matches(frame, code, here.pyframe))) {
        tt_focus_end_slowly(recorder, &here, code);
        return;
    }
    tt_complete_top(recorder, here.stack, frame, here.now);
    tt_focus_count_closed();
    tt_stack_rest(here.stack);
}

/* Whether a yield ends the call: an async generator's does if it yields a value, and does not if it awaits. */
static inline int tt_focus_yield_ends(PyObject *code, PyObject *value)
{
    if (TT_LIKELY(!tt_code_can_suspend(code))) return 1;
    return ((PyCodeObject *)code)->co_flags & CO_ASYNC_GENERATOR && tt_is_yielded_value(value);
}

/* Returns a key that identifies a C function, or a type. */
static inline const void *tt_focus_c_key(PyObject *callable)
{
    const void *key = tt_c_function_key(callable);
    if (key) return key;
    return PyType_Check(callable) ? (const void *)callable : (const void *)Py_TYPE(callable);
}

/* The innermost Python frame calls a C function; to the program's author that is a call like any other. */
static void tt_focus_c_begin(PyObject *callable)
{
    tt_recorder *recorder = tt_focus_recorder();
    tt_focus_position position;
    if (!recorder || !tt_focus_arrive(recorder, &position)) return;
    tt_pyframe *pyframe = position.here.pyframe;
    if (tt_focus_depth_left(position.parent) && !tt_code_is((PyObject *)tt_pyframe_code(pyframe), TT_CODE_OWN)) {
        tt_section *section = tt_focus_get_site(pyframe, callable, tt_focus_c_key(callable));
        if (!tt_focus_arrive(recorder, &position)) return;
        if (section && position.parent)
            tt_focus_push(recorder, &position.here, position.around, section, NULL, TT_FRAME_FOCUS_C,
                          position.parent->focus - 1);
    }
    tt_stack_rest(position.here.stack);
}

static void tt_focus_c_end(void)
{
    tt_recorder *recorder = tt_focus_recorder();
    if (!recorder || !recorder->recording) return;
    tt_here here = {.now = tt_now(recorder)};
    if (!tt_arrive(recorder, &here)) return;
    tt_frame *frame = here.stack->top;
    while (frame && !(frame->flags & TT_FRAME_FOCUS_C && tt_entered_in(frame, here.pyframe))) {
        int is_own_call = frame->flags & TT_FRAME_FOCUS && tt_entered_in(frame, here.pyframe); /* the frame's, not in C */
        frame = is_own_call ? NULL : tt_below(frame);
    }
    if (frame) {
        tt_end(recorder, here.stack, frame, here.pyframe, here.now, TT_COMPLETE);
        tt_focus_count_closed();
    }
    tt_stack_rest(here.stack);
}

/* Ends all open calls under focus, although they continue: their ends will not be reported. */
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

/* Ends calls of this stack that have returned without a report, because another profiler took over. */
static void tt_focus_close_returned(tt_recorder *recorder)
{
    tt_here here;
    if (recorder->forked || !tt_arrive(recorder, &here)) return;
    for (tt_frame *frame = here.stack->top, *next; frame; frame = next) {
        next = tt_below(frame);
        if (!(frame->flags & TT_FRAME_FOCUS) || frame->flags & TT_FRAME_GENERATOR) continue;
        if (tt_chain_depth(frame->python_frame, here.pyframe) >= 0) break;
        tt_pop(recorder, here.stack, frame, tt_now(recorder), TT_OPEN);
        tt_focus_count_closed();
    }
    tt_stack_rest(here.stack);
}

static void tt_focus_forget(void)
{
    for (uint32_t i = 0; i < tt_focus.sites.room; i++) {
        tt_focus_site *site = (tt_focus_site *)(uintptr_t)tt_focus.sites.entries[i].value;
        if (!site) continue;
        tt_section_unlink(&site->section);
        free(site);
    }
    tt_map_free(&tt_focus.sites);
    tt_focus = (tt_focus_state){.epoch = tt_focus.epoch + 1};
}

#endif
