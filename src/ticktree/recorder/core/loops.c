/* The beginning and end of ticks, each a call of its loop's node, and the age of the data that a tick acts on. */
#include "hot.h"

tt_loop *tt_loop_of(tt_recorder *recorder, tt_ref node_ref)
{
    tt_node *node = tt_node_at(recorder, node_ref);
    if (node->ticks) return tt_at(recorder, node->ticks);
    tt_loop_sums *sums = tt_allocate(recorder, sizeof *sums);
    tt_loop *loop = sums ? tt_allocate(recorder, sizeof *loop) : NULL;
    if (!loop) return NULL;
    loop->node = node_ref;
    loop->sums = tt_ref_of(recorder, sums);
    TT_PREPEND(recorder, &recorder->header->loops, loop);
    node->flags |= TT_NODE_LOOP;
    node->ticks = tt_ref_of(recorder, loop);
    return loop;
}

void tt_loop_ask(tt_recorder *recorder, tt_loop *loop, double hz, uint64_t warmup)
{
    if (hz > 0 && loop->hz == 0) {
        loop->hz = hz;
        loop->budget_ticks = tt_ns_to_ticks(recorder, (uint64_t)(1e9 / hz + 0.5));
    } else if (hz > 0 && loop->hz != hz) {
        loop->other_hz = hz;
        loop->budget_ticks = 0;
    }
    if (warmup == TT_WARMUP_FOUND) return;
    tt_loop_sums *sums = tt_at(recorder, loop->sums);
    sums->flags |= TT_SUMS_DECLARED;
    if (warmup > loop->warmup_target && !(sums->flags & TT_SUMS_WARM)) loop->warmup_target = warmup;
}

static tt_frame *tt_tick_open(tt_section *section, const tt_here *here, double hz, uint64_t warmup, int is_continued,
                              uint32_t extra_flags)
{
    tt_recorder *recorder = section->recorder;
    uint32_t flags = TT_FRAME_SOFT | TT_FRAME_TICK | extra_flags | tt_generator_flag(here->pyframe);
    tt_frame *tick = tt_push(recorder, here, tt_frame_around(recorder, here->stack, here->pyframe), section, flags);
    if (!tick || !tick->node) return tick;
    tt_loop *loop = tt_loop_of(recorder, tick->node);
    if (!loop) {
        tt_lose(recorder, TT_LOSS_MEMORY);
        return tick;
    }
    tt_loop_ask(recorder, loop, hz, warmup);
    if (!is_continued) { /* an episode has ended: earlier events are no causes, the previous tick is no neighbour */
        loop->boundary_gc_ticks = recorder->header->gc_ticks;
        loop->boundary_known = 0;
        loop->previous_plus_one = 0;
    }
    return tick;
}

/* The innermost open tick of this loop around the running code; `adjacent_only`: with only stages and inner ticks in
 * between. */
static tt_frame *tt_tick_around(tt_section *section, const tt_here *here, int adjacent_only)
{
    tt_recorder *recorder = section->recorder;
    tt_frame *frame = tt_frame_around(recorder, here->stack, here->pyframe);
    while (frame && !tt_is_tick_of(frame, section)) {
        if (adjacent_only && !(frame->flags & TT_FRAME_SOFT)) return NULL;
        frame = tt_parent_frame(recorder, frame);
    }
    return frame;
}

/* A boundary of a loop whose `for` is in other code: ends its open tick, if any, and begins the next. */
void tt_tick(tt_section *section, double hz, uint64_t warmup)
{
    tt_here here;
    if (!tt_begin(section, &here, 1)) return;
    tt_frame *tick = tt_tick_around(section, &here, 1);
    int is_continued = tick && tt_stack_of_frame(here.stack->thread, tick) == here.stack;
    if (is_continued) tt_end(section->recorder, here.stack, tick, here.pyframe, here.now, TT_COMPLETE);
    tick = tt_tick_open(section, &here, hz, warmup, is_continued, 0);
    if (tick) tt_loop_has_item(section, tick, tick->serial);
    tt_enter_finish(section, tick, here.pyframe);
}

/* The stack that holds a loop object's tick, if the tick is still open on this thread. */
static tt_stack *tt_stack_of_tick(tt_recorder *recorder, const tt_frame *tick, uint64_t serial)
{
    if (recorder->forked || !tick || tick->serial != serial) return NULL;
    tt_thread *thread = tt_thread_here(recorder);
    return thread ? tt_stack_of_frame(thread, tick) : NULL;
}

/* Ends the tick that a loop object began, on any stack; the enclosing section may have ended it already. */
void tt_loop_end_tick(tt_section *section, tt_frame *tick, uint64_t serial, enum tt_ending ending)
{
    tt_recorder *recorder = section->recorder;
    uint64_t now;
    if (recorder->forked || !tick || !tt_prepare(section, &now)) return;
    tt_stack *stack = tt_stack_of_tick(recorder, tick, serial);
    if (stack) tt_end(recorder, stack, tick, tt_pyframe_now(tt_thread_state()), now, ending);
    tt_done(section);
    if (stack) tt_stack_rest(stack);
}

/* Ends what is open inside the loop's tick, but not the tick: the time that follows belongs to no stage. */
void tt_loop_end_stages(tt_section *section, tt_frame *tick, uint64_t serial)
{
    tt_recorder *recorder = section->recorder;
    tt_stack *stack = recorder->recording ? tt_stack_of_tick(recorder, tick, serial) : NULL;
    if (stack) tt_unwind_to(recorder, stack, tick, tt_pyframe_now(tt_thread_state()), tt_now(recorder), TT_COMPLETE);
}

/* A boundary of a loop object: one clock reading ends the tick `*serial` and begins the next, whose serial it stores
 * there. */
tt_frame *tt_loop_boundary(tt_section *section, tt_frame *tick, uint64_t *serial, double hz, uint64_t warmup)
{
    tt_here here;
    tt_stack *holder = NULL;
    uint64_t ended_serial = *serial;
    *serial = 0;
    if (!tt_begin(section, &here, 1)) return NULL;
    if (tick && tick->serial == ended_serial) holder = tt_stack_of_frame(here.stack->thread, tick);
    if (holder) tt_end(section->recorder, holder, tick, here.pyframe, here.now, TT_COMPLETE);
    tt_frame *next = tt_tick_open(section, &here, hz, warmup, holder != NULL, TT_FRAME_LOOP_OBJECT);
    if (next) *serial = next->serial;
    tt_enter_finish(section, next, here.pyframe);
    if (holder && holder != here.stack) tt_stack_rest(holder);
    return next;
}

/* The tick that a loop object has begun is real: its iterator had an item for it. */
void tt_loop_has_item(tt_section *section, const tt_frame *tick, uint64_t serial)
{
    tt_recorder *recorder = section->recorder;
    if (recorder->forked || !tick || tick->serial != serial || !tick->node) return;
    const tt_node *node = tt_node_at(recorder, tick->node);
    if (node->ticks) tt_warmup_end_if_due(recorder, tt_at(recorder, node->ticks));
}

/* Records an age in ns below the open tick of `loop`: its loop object's tick if `serial` is not 0, else the one around
 * the running code. Returns 0 if this thread has none. */
int tt_record_age(tt_section *age, uint64_t ns, tt_section *loop, tt_frame *loop_tick, uint64_t serial)
{
    tt_recorder *recorder = age->recorder;
    tt_here here;
    if (recorder->forked || !tt_arrive(recorder, &here)) return 0;
    tt_stack *holder = here.stack;
    tt_frame *tick = loop_tick;
    if (!serial) tick = tt_tick_around(loop, &here, 0);
    else holder = loop_tick && loop_tick->serial == serial ? tt_stack_of_frame(here.stack->thread, loop_tick) : NULL;
    int is_found = tick && holder && tick->node;
    tt_ref ref = is_found ? tt_record_under(holder, tick, age, ns, &(tt_amounts){0}) : 0;
    if (ref) tt_site_check(age, ref, here.pyframe);
    tt_stack_rest(here.stack);
    return is_found;
}
