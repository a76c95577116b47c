/* How old what a tick acts on is: recorded under the loop's node, wherever inside the tick that is said. */
#ifndef TICKTREE_AGE_H
#define TICKTREE_AGE_H

#include "tick.h"
#include "value.h"

/* The innermost open tick of this loop on this stack, in whatever sections the running code is by now. */
static tt_frame *tt_tick_anywhere(tt_recorder *recorder, tt_stack *stack, tt_section *loop, tt_pyframe *pyframe)
{
    tt_frame *frame = tt_frame_around(recorder, stack, pyframe);
    while (frame && !(frame->flags & TT_FRAME_TICK && frame->section == tt_section_mark(loop, TT_FRAME_SOFT)))
        frame = tt_parent_frame(recorder, frame);
    return frame;
}

/* Records an age in ns under the open tick of `loop`: the one that its loop object holds, where `serial` is not 0, else
 * the one found here. Returns 0 where there is none on this thread. */
static int tt_record_age(tt_section *age, uint64_t ns, tt_section *loop, tt_frame *held, uint64_t serial)
{
    tt_recorder *recorder = age->recorder;
    if (!recorder->recording || recorder->forked) return 0;
    PyThreadState *state = tt_thread_state();
    tt_stack *stack = tt_stack_now(recorder, state);
    if (!stack) return 0;
    tt_pyframe *pyframe = tt_pyframe_now(state);
    tt_stack *holder = stack;
    tt_frame *tick = held;
    if (!serial) tick = tt_tick_anywhere(recorder, stack, loop, pyframe);
    else holder = held && held->serial == serial ? tt_stack_holding(stack->thread, held) : NULL;
    int found = tick && holder && tick->node;
    tt_ref ref = found ? tt_record_under(holder, tick, age, ns, &(tt_amounts){0}) : 0;
    if (ref) tt_site_check(age, ref, pyframe);
    tt_stack_rest(stack);
    return found;
}

#endif
