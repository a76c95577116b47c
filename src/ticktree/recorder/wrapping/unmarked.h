/* Ticks of a loop that the program does not mark: only where nothing else is open, so that they never come between the
 * program's own sections. */
#ifndef TICKTREE_UNMARKED_H
#define TICKTREE_UNMARKED_H

#include "core/hot.h"

static int tt_is_only_tick(const tt_frame *frame, const tt_section *section)
{
    return tt_is_tick_of(frame, section) && !tt_below(frame);
}

/* The tick that has just begun lasts until the next one, even if it began in a generator that has ended by then, as in
 * sum(env.step(action)[1] for action in plan). */
static void tt_keep_tick_open(tt_stack *stack)
{
    tt_frame *tick = stack->top;
    if (TT_LIKELY(!tick || !(tick->flags & TT_FRAME_GENERATOR))) return;
    tick->flags &= ~(uint32_t)TT_FRAME_GENERATOR;
    stack->suspended--;
}

/* Marks a tick boundary of the loop `section`, if nothing is open here but its own tick. Returns whether it did. */
static int tt_unmarked_tick(tt_section *section)
{
    tt_recorder *recorder = section->recorder;
    tt_here here;
    if (!tt_arrive(recorder, &here)) return 0;
    const tt_frame *around = tt_frame_around(recorder, here.stack, here.pyframe);
    if (around ? !tt_is_only_tick(around, section) : here.stack->top != NULL) return 0;
    tt_tick(section, 0, TT_WARMUP_FOUND);
    tt_keep_tick_open(here.stack);
    return 1;
}

/* Whether a section is open on the calling thread. */
static int tt_is_inside(tt_recorder *recorder)
{
    tt_here here;
    return !recorder->forked && tt_thread_known(recorder) && tt_arrive(recorder, &here) && here.stack->top;
}

/* Ends the loop's open tick, as incomplete, if nothing else is open on this thread. */
static void tt_unmarked_end(tt_section *section)
{
    tt_recorder *recorder = section->recorder;
    tt_here here;
    if (recorder->forked || !tt_begin(section, &here, 1)) return;
    tt_frame *tick = here.stack->top;
    if (tick && tt_is_only_tick(tick, section)) tt_end(recorder, here.stack, tick, here.pyframe, here.now, TT_OPEN);
    tt_done(section);
    tt_stack_rest(here.stack);
}

#endif
