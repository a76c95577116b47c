/* Ticks of a loop that nobody marked: only where nothing else is open, so that they never stand between the program's
 * own sections. */
#ifndef TICKTREE_LONE_H
#define TICKTREE_LONE_H

#include "critical_path/edge.h"
#include "core/tick.h"

static int tt_is_lone(const tt_frame *frame, const tt_section *section)
{
    return frame->flags & TT_FRAME_TICK && frame->section == tt_section_mark(section, TT_FRAME_SOFT) &&
           !tt_below(frame);
}

/* A boundary of the loop `section`, if nothing is open here, or only its own tick. Whether it was one. */
static int tt_lone_tick(tt_section *section)
{
    tt_recorder *recorder = section->recorder;
    if (!recorder->recording) return 0;
    PyThreadState *state = tt_thread_state();
    tt_stack *stack = tt_stack_now(recorder, state);
    if (!stack) return 0;
    const tt_frame *around = tt_frame_around(recorder, stack, tt_pyframe_now(state));
    if (around ? !tt_is_lone(around, section) : stack->top != NULL) return 0;
    tt_tick(section, 0, TT_WARMUP_FOUND);
    return 1;
}

/* Whether the calling thread is in anything that is recorded here. */
static int tt_is_inside(tt_recorder *recorder)
{
    if (!recorder->recording || recorder->forked || !tt_thread_known(recorder)) return 0;
    const tt_stack *stack = tt_stack_now(recorder, tt_thread_state());
    return stack && stack->top;
}

/* The stack of this thread that holds the loop's open tick and nothing else, or NULL. */
static tt_stack *tt_lone_stack(tt_section *section)
{
    tt_recorder *recorder = section->recorder;
    if (!recorder->recording || recorder->forked) return NULL;
    tt_stack *stack = tt_stack_now(recorder, tt_thread_state());
    return stack && stack->top && tt_is_lone(stack->top, section) ? stack : NULL;
}

/* Ends the loop's open tick, which is incomplete, if nothing is open in it. */
static void tt_lone_end(tt_section *section)
{
    uint64_t now = tt_now(section->recorder);
    if (!tt_lone_stack(section) || (tt_is_measured(section) && !tt_sample_prepare(section))) return;
    tt_stack *stack = tt_lone_stack(section); /* reading the memory of devices may have run any code */
    if (stack) tt_tick_close(section->recorder, stack, stack->top, tt_pyframe_now(tt_thread_state()), now, TT_OPEN);
    if (tt_is_measured(section)) tt_sample_done();
    if (stack) tt_stack_rest(stack);
}

#endif
