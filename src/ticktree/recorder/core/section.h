/* Entering and leaving: the hot path. */
#ifndef TICKTREE_SECTION_H
#define TICKTREE_SECTION_H

#include "context.h"

#define TT_CHAIN_LIMIT 256     /* Python frames looked at to find who is awake */

static inline tt_frame *tt_below(const tt_frame *frame) { return (tt_frame *)(uintptr_t)frame->below; }

/* What a frame keeps of its section: marked for soft ones, so that leaving a section never finds a stage of its name. */
static inline uint64_t tt_section_mark(const tt_section *section, uint32_t flags)
{
    return (uint64_t)(uintptr_t)section | (flags & TT_FRAME_SOFT);
}

static inline int tt_entered_in(const tt_frame *frame, const tt_pyframe *pyframe)
{
    return frame->python_frame == (uint64_t)(uintptr_t)pyframe;
}

/* How far out a Python frame is in the chain of running calls; -1: it is not running. */
static int tt_chain_depth(uint64_t python_frame, tt_pyframe *pyframe)
{
    for (int depth = 0; pyframe && depth < TT_CHAIN_LIMIT; depth++, pyframe = tt_pyframe_caller(pyframe))
        if (python_frame == (uint64_t)(uintptr_t)pyframe) return depth;
    return -1;
}

static inline int tt_asleep(const tt_frame *frame, tt_pyframe *now)
{
    return frame->flags & TT_FRAME_GENERATOR && tt_chain_depth(frame->python_frame, now) < 0;
}

/* Asleep itself, or inside a call of this stack that is: a stage that a sleeping generator's helper began. */
static int tt_sleeps(const tt_recorder *recorder, const tt_stack *stack, const tt_frame *frame, tt_pyframe *now)
{
    for (; frame && frame != stack->parent; frame = tt_parent_frame(recorder, frame))
        if (tt_asleep(frame, now)) return 1;
    return 0;
}

/* With generators about, the newest frame need not be the one around. Of frames entered in plain calls it is; of
 * those entered in generators, the one whose generator runs innermost; of these two, the one whose Python call is
 * the inner one. A section entered through a call that has returned (ExitStack) is in no chain, unless another call
 * has its address by now: either way it is taken only where it is the newer. */
static __attribute__((noinline)) tt_frame *tt_frame_awake(const tt_recorder *recorder, const tt_stack *stack,
                                                         tt_pyframe *now)
{
    tt_frame *plain = NULL, *generator = NULL;
    int plain_depth = -1, generator_depth = TT_CHAIN_LIMIT;
    /* Newest and innermost: nothing to compare. A plain call that has returned may have had the address of `now`. */
    if (stack->top && stack->top->flags & TT_FRAME_GENERATOR && tt_entered_in(stack->top, now)) return stack->top;
    for (tt_frame *frame = stack->top; frame; frame = tt_below(frame)) {
        if (!(frame->flags & TT_FRAME_GENERATOR)) {
            if (plain || tt_sleeps(recorder, stack, frame, now)) continue;
            plain = frame;
            plain_depth = tt_chain_depth(frame->python_frame, now);
        } else {
            int depth = tt_chain_depth(frame->python_frame, now);
            if (depth < 0 || depth >= generator_depth) continue;
            generator = frame;
            generator_depth = depth;
        }
    }
    if (!plain || !generator) return plain ? plain : generator;
    /* A call that runs inside the generator cannot have entered anything before the generator did. */
    return plain_depth <= generator_depth && plain->serial > generator->serial ? plain : generator;
}

static inline tt_frame *tt_frame_around(const tt_recorder *recorder, const tt_stack *stack, tt_pyframe *now)
{
    return TT_LIKELY(!stack->suspended) ? stack->top : tt_frame_awake(recorder, stack, now);
}

/* Notes where a section is entered: the first instruction to do so, and whether there is another. That of @timed is the
 * function's definition. Resolving it may run any code: it is the last thing that entering a section does. */
static inline void tt_site_check(tt_section *section, tt_ref ref, tt_pyframe *pyframe)
{
    tt_node *node = tt_node_at(section->recorder, ref);
    uint64_t site = section->node_flags & TT_NODE_TIMED ? 1 : tt_pyframe_site(pyframe);
    if (TT_LIKELY(node->site == site)) return;
    if (!node->site) {
        node->site = site;
        tt_site_note(section->recorder, node, section);
    } else if (!(node->flags & TT_NODE_TIMED)) node->flags |= TT_NODE_MANY_SITES;
}

/* Counts a call that there is no node for. */
static void tt_lose_call(tt_recorder *recorder, const tt_section *section)
{
    enum tt_loss loss = recorder->memory_full ? TT_LOSS_MEMORY : TT_LOSS_NODES;
    tt_lose(recorder, section->name_id == TT_NAMELESS ? TT_LOSS_NAMES : loss);
}

static inline tt_ref tt_node_under(tt_stack *stack, tt_section *section, tt_frame *parent)
{
    tt_ref above = parent ? parent->node : stack->home;
    return above ? tt_node_find(section, above) : 0;
}

static inline tt_frame *tt_bottom_parent(const tt_stack *stack)
{
    return stack->parent && stack->parent->serial == stack->parent_serial ? stack->parent : NULL;
}

/* Puts a frame for a call on its stack. What is set here and by `tt_frame_link` is all that is read of any frame. NULL:
 * there are too many. Inlined by order, as is what calls it: with more code elsewhere in the module the compiler would
 * make calls of them. */
static inline __attribute__((always_inline)) tt_frame *tt_frame_push(tt_recorder *recorder, tt_stack *stack, tt_ref node,
                                uint64_t section, const tt_pyframe *pyframe, uint32_t flags)
{
    tt_frame *frame = tt_frame_make(recorder);
    if (TT_UNLIKELY(!frame)) {
        tt_lose(recorder, recorder->frame_count < recorder->frame_cap ? TT_LOSS_MEMORY : TT_LOSS_FRAMES);
        return NULL;
    }
    frame->node = node;
    frame->covered = 0;
    frame->active = 0;
    frame->waited = 0;
    frame->waits_open = 0;
    frame->flags = flags;
    frame->lane = stack->lane;
    frame->section = section;
    frame->python_frame = (uint64_t)(uintptr_t)pyframe;
    frame->below = (uint64_t)(uintptr_t)stack->top;
    stack->top = frame;
    if (TT_UNLIKELY(flags & TT_FRAME_GENERATOR)) stack->suspended++;
    return frame;
}

/* A call without a node: linked and left as any other, but it covers nobody and is not booked. */
static void tt_open_lost(tt_recorder *recorder, const tt_stack *stack, tt_frame *frame, const tt_frame *parent,
                         const tt_section *section, uint64_t now)
{
    tt_lose_call(recorder, section);
    frame->home = parent ? tt_home_of(parent) : stack->home;
    tt_frame_link(recorder, frame, parent ? parent : tt_bottom_parent(stack), now);
}

/* Pushes a call of `section` under `parent` (NULL: the stack's own place). `now` 0: the clock is read last. */
static inline __attribute__((always_inline)) tt_frame *tt_push(tt_recorder *recorder, tt_stack *stack, tt_frame *parent, tt_section *section,
                                tt_pyframe *pyframe, uint32_t flags, uint64_t now)
{
    tt_ref node = tt_node_under(stack, section, parent);
    tt_frame *frame = tt_frame_push(recorder, stack, node, tt_section_mark(section, flags), tt_pyframe_owner(pyframe), flags);
    if (TT_UNLIKELY(!frame)) return NULL;
    if (TT_UNLIKELY(!node)) {
        tt_open_lost(recorder, stack, frame, parent, section, now ? now : tt_now(recorder));
        return frame;
    }
    if (TT_UNLIKELY(section->frame_flags) && tt_sample_enter(recorder, frame, section->frame_flags)) now = 0;
    if (!parent) parent = tt_bottom_parent(stack);
    tt_open(recorder, frame, parent, now ? now : tt_now(recorder));
    if (TT_UNLIKELY(!parent) && stack->afar) tt_watch_from_afar(frame, stack->afar, stack->afar_serial);
    if (TT_UNLIKELY(section->node_flags & TT_NODE_WAIT)) tt_wait_begin(recorder, frame);
    return frame;
}

/* Notes the site of a call that has just been pushed. */
static inline __attribute__((always_inline)) void tt_pushed(tt_section *section, const tt_frame *frame, tt_pyframe *pyframe)
{
    if (TT_LIKELY(frame && frame->node)) tt_site_check(section, frame->node, pyframe);
}

static inline uint32_t tt_generator_flag(tt_pyframe *pyframe)
{
    if (TT_LIKELY(!tt_pyframe_may_sleep(pyframe))) return 0;
    return tt_pyframe_may_sleep(tt_pyframe_owner(pyframe)) ? TT_FRAME_GENERATOR : 0;
}

/* A call that there is no frame for: its leave is counted, too, and so is all that is entered until then. */
static void tt_too_deep(tt_stack *stack)
{
    if (stack->too_deep++ == 0) stack->suspended++; /* sends leaves the slow way */
}

/* Pushes a call of `section` made now, with `flags` and what its Python frame adds to them. NULL: not recorded. */
static inline __attribute__((always_inline)) tt_frame *tt_enter_on(tt_recorder *recorder, tt_section *section, tt_stack **stack,
                                tt_pyframe **pyframe, uint32_t flags)
{
    PyThreadState *state = tt_thread_state();
    *stack = tt_stack_now(recorder, state);
    if (TT_UNLIKELY(!*stack)) return NULL;
    uint64_t now = tt_now(recorder); /* now: a new process may just have been given its file, which takes a millisecond */
    *pyframe = tt_pyframe_now(state);
    if (!(flags & TT_FRAME_CALL)) flags |= tt_generator_flag(*pyframe);
    tt_frame *frame = NULL;
    if (TT_UNLIKELY((*stack)->suspended) && (*stack)->too_deep) tt_lose(recorder, TT_LOSS_FRAMES);
    else frame = tt_push(recorder, *stack, tt_frame_around(recorder, *stack, *pyframe), section, *pyframe, flags, now);
    if (TT_UNLIKELY(!frame)) tt_too_deep(*stack);
    return frame;
}

static inline int tt_is_measured(const tt_section *section)
{
    return TT_UNLIKELY(section->frame_flags & TT_FRAME_MEMORY);
}

static inline void tt_enter(tt_section *section)
{
    tt_stack *stack;
    tt_pyframe *pyframe = NULL;
    if (!section->recorder->recording) return;
    if (tt_is_measured(section) && !tt_sample_prepare(section)) return;
    tt_frame *frame = tt_enter_on(section->recorder, section, &stack, &pyframe, 0);
    if (tt_is_measured(section)) tt_sample_done();
    tt_pushed(section, frame, pyframe);
}

/* Whether leaving `frame` ends `inner`: it does unless a section between them sleeps, and inner with it. */
static int tt_ended_by(const tt_recorder *recorder, const tt_frame *inner, const tt_frame *frame, tt_pyframe *now)
{
    while (inner && inner != frame) {
        int alone = (inner->flags & (TT_FRAME_SOFT | TT_FRAME_HELD)) == TT_FRAME_SOFT; /* nobody else ends it */
        if (!alone && tt_asleep(inner, now)) return 0;
        inner = tt_parent_frame(recorder, inner);
    }
    return inner == frame;
}

/* Ends what is still open inside `frame`, which is about to end itself: stages normally, ticks as incomplete, sections
 * as unwound, unless what they are in never came to be; generators asleep inside it sleep on. */
static void tt_unwind_to(tt_recorder *recorder, tt_stack *stack, tt_frame *frame, tt_pyframe *pyframe, uint64_t now,
                         enum tt_ending ending)
{
    enum tt_ending part = ending == TT_VOID ? TT_VOID : TT_OPEN;
    for (tt_frame *inner = stack->top, *next; inner && inner != frame; inner = next) {
        next = tt_below(inner);
        if (!tt_ended_by(recorder, inner, frame, pyframe)) continue;
        if (!(inner->flags & TT_FRAME_SOFT) && ending != TT_VOID) tt_lose(recorder, TT_LOSS_UNWOUND);
        int stage = (inner->flags & (TT_FRAME_SOFT | TT_FRAME_TICK)) == TT_FRAME_SOFT;
        tt_pop(recorder, stack, inner, now, stage ? TT_COMPLETE : inner->flags & TT_FRAME_SOFT ? TT_OPEN : part);
    }
}

/* The call of `section` that this leave ends: the newest one entered in the same Python call; failing that, the
 * newest that is awake. */
static tt_frame *tt_frame_of(const tt_recorder *recorder, const tt_stack *stack, const tt_section *section,
                             tt_pyframe *pyframe)
{
    tt_frame *frame = stack->top;
    while (frame && !(frame->section == (uint64_t)(uintptr_t)section && tt_entered_in(frame, pyframe)))
        frame = tt_below(frame);
    if (frame) return frame;
    frame = stack->top;
    while (frame && !(frame->section == (uint64_t)(uintptr_t)section && !tt_sleeps(recorder, stack, frame, pyframe)))
        frame = tt_below(frame);
    return frame;
}

/* A generator finalised by somebody else's context leaves there what it entered here. */
static tt_frame *tt_frame_elsewhere(tt_thread *thread, const tt_section *section, tt_pyframe *pyframe, tt_stack **where)
{
    for (tt_stack *stack = &thread->base; stack; stack = stack == &thread->base ? thread->stacks : stack->next)
        for (tt_frame *frame = stack->top; frame; frame = tt_below(frame))
            if (frame->section == (uint64_t)(uintptr_t)section && tt_entered_in(frame, pyframe)) {
                *where = stack;
                return frame;
            }
    return NULL;
}

/* Whether a section that is left here was entered in the process that this one was forked from. */
static int tt_is_inherited(tt_open_at_fork *open, const tt_section *section)
{
    for (uint32_t at = open->inherited; at-- > 0;)
        if (open->sections[at] == (uint64_t)(uintptr_t)section) {
            open->sections[at] = open->sections[--open->inherited];
            return 1;
        }
    return 0;
}

static __attribute__((noinline)) void tt_leave_slowly(tt_recorder *recorder, tt_stack *stack, tt_section *section,
                                                      tt_pyframe *pyframe, uint64_t now, uint32_t raised)
{
    if (stack->too_deep) {
        if (--stack->too_deep == 0) stack->suspended--;
        return;
    }
    tt_stack *holder = stack;
    tt_frame *frame = tt_frame_of(recorder, stack, section, pyframe);
    if (!frame) {
        frame = tt_frame_elsewhere(stack->thread, section, pyframe, &holder);
        if (frame) tt_lose(recorder, TT_LOSS_FOREIGN);
        else if (!tt_is_inherited(&recorder->open_at_fork, section)) tt_lose(recorder, TT_LOSS_UNMATCHED);
    }
    if (frame) {
        frame->flags |= raised;
        tt_unwind_to(recorder, holder, frame, pyframe, now, TT_COMPLETE);
        tt_pop(recorder, holder, frame, now, TT_COMPLETE);
    }
    if (holder != stack) tt_stack_rest(holder);
    tt_stack_rest(stack);
}

/* What a frame is marked with when an exception of this type ends its call: not where an iterator is exhausted or a
 * generator closed, which is how these end. */
static inline uint32_t tt_raised(const PyObject *type)
{
    if (TT_LIKELY(!type || type == Py_None)) return 0;
    int ends = type == PyExc_StopIteration || type == PyExc_StopAsyncIteration || type == PyExc_GeneratorExit;
    return ends ? 0 : TT_FRAME_RAISED;
}

/* `raised`: as `tt_raised` says. */
static inline __attribute__((always_inline)) void tt_leave_at(tt_recorder *recorder, tt_section *section, uint64_t now,
                                                              uint32_t raised)
{
    PyThreadState *state = tt_thread_state();
    tt_stack *stack = tt_stack_now(recorder, state);
    if (TT_UNLIKELY(!stack)) return;
    tt_frame *frame = stack->top;
    if (TT_UNLIKELY(!frame || frame->section != (uint64_t)(uintptr_t)section ||
                    (stack->suspended && (stack->too_deep || !tt_entered_in(frame, tt_pyframe_now(state)))))) {
        tt_leave_slowly(recorder, stack, section, tt_pyframe_now(state), now, raised);
        return;
    }
    stack->top = tt_below(frame);
    if (TT_UNLIKELY(frame->flags & TT_FRAME_GENERATOR)) stack->suspended--;
    frame->flags |= raised;
    tt_complete(recorder, frame, now);
    tt_stack_rest(stack);
}

static inline void tt_leave_by(tt_section *section, uint32_t raised)
{
    tt_recorder *recorder = section->recorder;
    if (!recorder->recording) return;
    uint64_t now = tt_now(recorder);
    if (tt_is_measured(section) && !tt_sample_prepare(section)) return;
    tt_leave_at(recorder, section, now, raised);
    if (tt_is_measured(section)) tt_sample_done();
}

static inline void tt_leave(tt_section *section) { tt_leave_by(section, 0); }

/* A call of @timed: left on the stack it was entered on, without looking for it again. */
typedef struct {
    tt_stack *stack;
    tt_frame *frame;
    uint64_t serial;
    uint32_t generation;
} tt_call;

/* Only calls of @timed have a site: the others are entered by instruments. */
static __attribute__((noinline)) void tt_call_site(tt_section *section, const tt_frame *frame)
{
    section->is_unnoted = 0;
    if (section->node_flags & TT_NODE_TIMED) tt_pushed(section, frame, NULL);
}

static inline __attribute__((always_inline)) tt_call tt_call_begin(tt_section *section)
{
    tt_recorder *recorder = section->recorder;
    tt_call call = {NULL, NULL, 0, 0};
    tt_pyframe *pyframe = NULL;
    if (!recorder->recording) return call;
    if (tt_is_measured(section) && !tt_sample_prepare(section)) return call;
    call.frame = tt_enter_on(recorder, section, &call.stack, &pyframe, TT_FRAME_CALL);
    if (TT_LIKELY(call.frame != NULL)) {
        call.serial = call.frame->serial;
        call.generation = recorder->generation;
    }
    if (tt_is_measured(section)) tt_sample_done();
    if (TT_UNLIKELY(section->is_unnoted)) tt_call_site(section, call.frame);
    return call;
}

static __attribute__((noinline)) void tt_call_end_elsewhere(tt_section *section, uint32_t raised)
{
    tt_leave_by(section, raised);
}

/* The frame may be gone by now: recording was stopped, or this is a forked child with a memory of its own. */
static inline __attribute__((always_inline)) void tt_call_end(tt_section *section, const tt_call *call,
                                                              uint32_t raised)
{
    tt_recorder *recorder = section->recorder;
    if (!recorder->recording) return;
    uint64_t now = tt_now(recorder);
    if (tt_is_measured(section) && !tt_sample_prepare(section)) return;
    if (TT_UNLIKELY(!call->frame || recorder->forked || call->generation != recorder->generation ||
                    call->frame->serial != call->serial || call->stack->top != call->frame)) {
        tt_call_end_elsewhere(section, raised);
        return;
    }
    call->stack->top = tt_below(call->frame);
    call->frame->flags |= raised;
    tt_complete(recorder, call->frame, now);
    if (tt_is_measured(section)) tt_sample_done();
    tt_stack_rest(call->stack);
}

/* The stage that is open here ends `now`, and one of `section` begins. */
static inline __attribute__((always_inline)) tt_frame *tt_stage_on(tt_recorder *recorder, tt_section *section, tt_stack *stack,
                                tt_pyframe *pyframe, uint64_t now)
{
    tt_frame *around = tt_frame_around(recorder, stack, pyframe);
    if (around && (around->flags & (TT_FRAME_SOFT | TT_FRAME_TICK)) == TT_FRAME_SOFT) {
        tt_pop(recorder, stack, around, now, TT_COMPLETE);
        around = tt_frame_around(recorder, stack, pyframe);
    }
    return tt_push(recorder, stack, around, section, pyframe, TT_FRAME_SOFT | tt_generator_flag(pyframe), now);
}

/* From here on `section`: ends the stage before it with the same reading of the clock. */
static inline __attribute__((always_inline)) void tt_stage(tt_section *section)
{
    tt_recorder *recorder = section->recorder;
    if (!recorder->recording) return;
    uint64_t now = tt_now(recorder);
    if (tt_is_measured(section) && !tt_sample_prepare(section)) return;
    PyThreadState *state = tt_thread_state();
    tt_stack *stack = tt_stack_now(recorder, state);
    tt_pyframe *pyframe = tt_pyframe_now(state);
    tt_frame *frame = NULL;
    if (TT_LIKELY(stack != NULL)) frame = tt_stage_on(recorder, section, stack, pyframe, now);
    if (tt_is_measured(section)) tt_sample_done();
    tt_pushed(section, frame, pyframe);
}

#endif
