/* Focus: the calls under a named function, as nodes by call site.
 *
 * Who tells of calls is sys.monitoring (3.12 and later) or a profile function; both come down to a call that begins
 * and a call that ends, each in a Python frame that is the innermost one. A call under focus is a frame as any other
 * section's, found again by the address of its Python frame. Its node is found by its call site: the calling
 * instruction and what is called, resolved to a name once (who names it may run any code).
 *
 *   plain function   from call to return
 *   generator        only while it runs: each resumption is a call
 *   coroutine        from its first run to its return, awaits included
 *   async generator  from each resumption to the value it yields, awaits included
 */
#ifndef TICKTREE_FOCUS_H
#define TICKTREE_FOCUS_H

#include "focus_sites.h"

/* What happened to this thread before a tick is no cause of it: asked for where ticks are long enough to tell. */
static void tt_focus_tick_begin(tt_recorder *recorder, tt_loop *loop)
{
    loop->boundary_gc_ticks = recorder->header->gc_ticks;
    loop->boundary_known = 0;
#if defined(RUSAGE_THREAD)
    struct rusage usage;
    if (tt_ticks_to_ns(recorder, loop->previous_plus_one) <= TT_CAUSES_FROM_NS) return;
    if (getrusage(RUSAGE_THREAD, &usage)) return;
    loop->boundary_voluntary = (uint32_t)usage.ru_nvcsw;
    loop->boundary_involuntary = (uint32_t)usage.ru_nivcsw;
    loop->boundary_minor = (uint32_t)usage.ru_minflt;
    loop->boundary_major = (uint32_t)usage.ru_majflt;
    loop->boundary_known = 1;
#endif
}

/* Pushes a call. The clock is read last: what it cost to get here is the caller's. */
static inline void tt_focus_push(tt_recorder *recorder, tt_stack *stack, tt_frame *around, tt_section *section,
                                 const void *code, tt_pyframe *pyframe, uint32_t flags, uint64_t focus)
{
    tt_ref node = tt_node_under(stack, section, around);
    /* The code is never a section: no leave but its own finds it. */
    tt_frame *frame = tt_frame_push(recorder, stack, node, (uint64_t)(uintptr_t)code, pyframe, flags | TT_FRAME_FOCUS);
    if (TT_UNLIKELY(!frame)) return;
    frame->focus = focus;
    tt_focus.open++;
    if (TT_UNLIKELY(!node)) {
        tt_open_lost(recorder, stack, frame, around, section, tt_now(recorder));
        return;
    }
    tt_node *record = tt_node_at(recorder, node);
    if (TT_UNLIKELY(flags & TT_FRAME_TICK)) {
        tt_loop *loop = tt_loop_of(recorder, node);
        if (loop) {
            if (!loop->ticks) tt_loop_ask(recorder, loop, 0, tt_focus.warmup);
            tt_focus_tick_begin(recorder, loop);
        }
        else tt_lose(recorder, TT_LOSS_MEMORY);
    }
    tt_open(recorder, frame, around ? around : tt_bottom_parent(stack), tt_now(recorder));
    if (TT_UNLIKELY(stack->afar != NULL && !frame->parent)) tt_watch_from_afar(frame, stack->afar, stack->afar_serial);
    if (TT_UNLIKELY(!record->site)) { /* last: it may run any code */
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

/* A call begins in the innermost Python frame, whose code is `code`. Whether it was recorded. */
static inline int tt_focus_begin(PyObject *code, tt_code_info *info, enum tt_focus_kind kind)
{
    tt_recorder *recorder = tt_focus.recorder;
    if (!recorder || !recorder->recording) return 0;
    if (info->root < 0 && (!tt_focus.open || recorder->forked)) return 0;
    PyThreadState *state = tt_thread_state();
    tt_stack *stack = tt_stack_now(recorder, state);
    if (TT_UNLIKELY(!stack)) return 0;
    tt_focus_look_at_generation(recorder);
    tt_pyframe *pyframe = tt_pyframe_now(state);
    tt_frame *around = tt_frame_around(recorder, stack, pyframe);
    tt_frame *parent = tt_focus_around(recorder, stack, around, pyframe);
    uint32_t roots = parent ? (uint32_t)(parent->focus >> 32) : 0;
    uint32_t left = parent ? (uint32_t)parent->focus : 0, flags = 0;
    int sleeps = tt_code_sleeps(code), recorded = 0;
    tt_section *section = NULL;
    if (TT_UNLIKELY(sleeps) && kind == TT_FOCUS_RESUME) {
        int goes_on = tt_focus_find(stack, code, pyframe) != NULL;
        if (goes_on || !(((PyCodeObject *)code)->co_flags & CO_ASYNC_GENERATOR)) {
            tt_stack_rest(stack);
            return goes_on;
        }
    }
    if (TT_UNLIKELY(sleeps)) flags |= TT_FRAME_GENERATOR;
    int is_root = info->root >= 0 && !(roots >> info->root & 1);
    if (is_root || left) {
        tt_pyframe *caller = left ? tt_focus_caller(tt_pyframe_python_caller(pyframe), parent) : NULL;
        uint64_t serial = recorder->serial;
        if (left) section = tt_focus_site_of(caller, code, code);
        else section = tt_focus.roots[info->root];
        left = left ? left - 1 : 0;
        if (is_root) {
            roots |= 1u << info->root;
            left = tt_focus.depth;
            flags |= TT_FRAME_TICK;
        }
        /* Naming the site may have run code that entered and left sections: nothing of what was found before holds. */
        if (TT_UNLIKELY(serial != recorder->serial)) {
            stack = tt_stack_now(recorder, state);
            if (!stack) return 0;
            around = tt_frame_around(recorder, stack, pyframe);
            parent = tt_focus_around(recorder, stack, around, pyframe);
        }
        if (section) {
            if (!around) around = parent;
            tt_focus_push(recorder, stack, around, section, code, pyframe, flags, tt_focus_of(roots, left));
            recorded = 1;
        } else {
            tt_lose(recorder, TT_LOSS_NODES);
        }
        if (TT_UNLIKELY(left && !(info->state & TT_CODE_NAMED))) {
            info->state |= TT_CODE_NAMED;
            tt_focus_want(code);
        }
    }
    tt_stack_rest(stack);
    return recorded;
}

/* Whether calls are recorded that the innermost Python frame makes. */
static int tt_focus_is_below(void)
{
    tt_recorder *recorder = tt_focus.recorder;
    if (!tt_focus.open || !recorder || !recorder->recording || recorder->forked) return 0;
    PyThreadState *state = tt_thread_state();
    tt_stack *stack = tt_stack_now(recorder, state);
    if (!stack) return 0;
    tt_pyframe *pyframe = tt_pyframe_now(state);
    tt_frame *parent = tt_focus_around(recorder, stack, tt_frame_around(recorder, stack, pyframe), pyframe);
    int is = parent && (uint32_t)parent->focus;
    tt_stack_rest(stack);
    return is;
}

static __attribute__((noinline)) void tt_focus_end_slowly(tt_recorder *recorder, tt_stack *stack, PyObject *code,
                                                          tt_pyframe *pyframe, uint64_t now)
{
    tt_stack *holder = stack;
    int no_call = tt_code_is(code, TT_CODE_NO_CALL);
    tt_frame *frame = no_call ? NULL : tt_focus_find(stack, code, pyframe);
    if (!frame && !no_call && tt_code_sleeps(code)) /* a coroutine that somebody else's context finalises */
        for (holder = &stack->thread->base; holder && !frame;) {
            frame = tt_focus_find(holder, code, pyframe);
            if (!frame) holder = holder == &stack->thread->base ? stack->thread->stacks : holder->next;
        }
    if (frame) {
        tt_unwind_to(recorder, holder, frame, pyframe, now, TT_COMPLETE);
        tt_pop(recorder, holder, frame, now, TT_COMPLETE);
        tt_focus_closed();
        if (holder != stack) tt_stack_rest(holder);
    }
    tt_stack_rest(stack);
}

/* The call in the innermost Python frame ends, if it was recorded. */
static inline void tt_focus_end(PyObject *code)
{
    tt_recorder *recorder = tt_focus.recorder;
    if (!tt_focus.open || !recorder || !recorder->recording || recorder->forked) return;
    uint64_t now = tt_now(recorder);
    PyThreadState *state = tt_thread_state();
    tt_stack *stack = tt_stack_now(recorder, state);
    if (TT_UNLIKELY(!stack)) return;
    tt_pyframe *pyframe = tt_pyframe_now(state);
    tt_frame *frame = stack->top;
    if (TT_UNLIKELY(!frame || !tt_focus_is_of(frame, code, pyframe))) {
        tt_focus_end_slowly(recorder, stack, code, pyframe, now);
        return;
    }
    stack->top = tt_below(frame);
    if (TT_UNLIKELY(frame->flags & TT_FRAME_GENERATOR)) stack->suspended--;
    tt_close(recorder, frame, now, TT_COMPLETE);
    tt_focus_closed();
    tt_stack_rest(stack);
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

/* The innermost Python frame calls a C function, which its author sees as a call like any other. */
static void tt_focus_c_begin(PyObject *callable)
{
    tt_recorder *recorder = tt_focus.recorder;
    if (!tt_focus.open || !recorder || !recorder->recording || recorder->forked) return;
    PyThreadState *state = tt_thread_state();
    tt_stack *stack = tt_stack_now(recorder, state);
    if (!stack) return;
    tt_pyframe *pyframe = tt_pyframe_now(state);
    tt_frame *around = tt_frame_around(recorder, stack, pyframe);
    tt_frame *parent = tt_focus_around(recorder, stack, around, pyframe);
    if (parent && (uint32_t)parent->focus && !tt_code_is((PyObject *)tt_pyframe_code(pyframe), TT_CODE_OWN)) {
        tt_section *section = tt_focus_site_of(pyframe, callable, tt_focus_c_key(callable));
        stack = tt_stack_now(recorder, state);
        if (!stack) return;
        around = tt_frame_around(recorder, stack, pyframe);
        parent = tt_focus_around(recorder, stack, around, pyframe);
        if (section && parent)
            tt_focus_push(recorder, stack, around ? around : parent, section, NULL, pyframe, TT_FRAME_FOCUS_C,
                          parent->focus - 1);
    }
    tt_stack_rest(stack);
}

static void tt_focus_c_end(void)
{
    tt_recorder *recorder = tt_focus.recorder;
    if (!tt_focus.open || !recorder || !recorder->recording || recorder->forked) return;
    uint64_t now = tt_now(recorder);
    PyThreadState *state = tt_thread_state();
    tt_stack *stack = tt_stack_now(recorder, state);
    if (!stack) return;
    tt_pyframe *pyframe = tt_pyframe_now(state);
    tt_frame *frame = stack->top;
    while (frame && !(frame->flags & TT_FRAME_FOCUS_C && tt_entered_in(frame, pyframe))) {
        if (frame->flags & TT_FRAME_FOCUS && tt_entered_in(frame, pyframe)) frame = NULL; /* that call's own: no C call */
        else frame = tt_below(frame);
    }
    if (frame) {
        tt_unwind_to(recorder, stack, frame, pyframe, now, TT_COMPLETE);
        tt_pop(recorder, stack, frame, now, TT_COMPLETE);
        tt_focus_closed();
    }
    tt_stack_rest(stack);
}

/* Ends what is open under focus, though its calls go on: nobody will tell when they end. */
static void tt_focus_close_all(tt_recorder *recorder)
{
    if (!recorder->recording || recorder->forked) return;
    uint64_t now = tt_now(recorder);
    for (tt_thread *thread = recorder->threads; thread; thread = thread->next)
        for (tt_stack *stack = &thread->base; stack; stack = stack == &thread->base ? thread->stacks : stack->next)
            for (tt_frame *frame = stack->top, *next; frame; frame = next) {
                next = tt_below(frame);
                if (frame->flags & TT_FRAME_FOCUS) tt_pop(recorder, stack, frame, now, TT_OPEN);
            }
}

/* Calls of this stack that have returned without anybody telling: another profiler took over. */
static void tt_focus_settle(tt_recorder *recorder)
{
    if (!recorder->recording || recorder->forked) return;
    PyThreadState *state = tt_thread_state();
    tt_stack *stack = tt_stack_now(recorder, state);
    if (!stack) return;
    tt_pyframe *now = tt_pyframe_now(state);
    for (tt_frame *frame = stack->top, *next; frame; frame = next) {
        next = tt_below(frame);
        if (!(frame->flags & TT_FRAME_FOCUS) || frame->flags & TT_FRAME_GENERATOR) continue;
        if (tt_chain_depth(frame->python_frame, now) >= 0) break;
        tt_pop(recorder, stack, frame, tt_now(recorder), TT_OPEN);
        tt_focus_closed();
    }
    tt_stack_rest(stack);
}

static void tt_focus_forget(void)
{
    for (uint32_t at = 0; at < tt_focus.slots; at++) {
        if (!tt_focus.sites[at]) continue;
        tt_section_unlink(&tt_focus.sites[at]->section);
        free(tt_focus.sites[at]);
    }
    free(tt_focus.sites);
    tt_focus = (tt_focus_state){.epoch = tt_focus.epoch + 1};
}

#endif
