/* Grafts: what another program reports to have spent on a call of ours, put under the open call as if it had been recorded here.
 *
 * Another program's clock is never compared with ours: only durations come, and what is taken from our own call is at
 * most what it has. What the other says beyond that is concurrent time, so that no account turns negative.
 */
#ifndef TICKTREE_GRAFT_H
#define TICKTREE_GRAFT_H

#include "watch.h"

/* A call that waits for another program. */
typedef struct {
    tt_frame *frame; /* if it is still the call `serial` */
    uint64_t serial;
    uint32_t generation;
} tt_calling;

static tt_frame *tt_frame_here(tt_recorder *recorder, tt_thread **thread)
{
    tt_here here;
    if (!tt_arrive(recorder, &here)) return NULL;
    tt_frame *frame = tt_frame_around(recorder, here.stack, here.pyframe);
    *thread = here.stack->thread;
    tt_stack_rest(here.stack);
    return frame;
}

/* The innermost open call is one for another program. */
static void tt_calling_begin(tt_recorder *recorder, tt_calling *calling)
{
    tt_thread *thread;
    tt_frame *frame = tt_frame_here(recorder, &thread);
    *calling = (tt_calling){frame, frame ? frame->serial : 0, recorder->generation};
    if (frame) frame->flags |= TT_FRAME_CALLING;
}

static tt_frame *tt_calling_open(const tt_recorder *recorder, const tt_calling *calling)
{
    if (!calling->frame || !recorder->recording || recorder->forked || calling->generation != recorder->generation)
        return NULL;
    tt_frame *frame = calling->frame;
    return frame->serial == calling->serial && frame->node ? frame : NULL;
}

/* An open call's self time so far, which no child has covered. */
static uint64_t tt_own_so_far(const tt_recorder *recorder, const tt_frame *frame)
{
    uint64_t until = frame->active ? frame->cover_start : tt_now(recorder);
    uint64_t passed = until > frame->start ? until - frame->start : 0;
    return passed > frame->covered ? passed - frame->covered : 0;
}

static uint64_t tt_since(const tt_recorder *recorder, uint64_t then)
{
    uint64_t now = tt_now(recorder);
    return now > then ? now - then : 0;
}

/* The node that this one's time is part of; of a thread's, that which the thread was started under. */
static tt_ref tt_parent_of(const tt_recorder *recorder, tt_ref ref)
{
    tt_ref above = tt_node_at(recorder, ref)->parent;
    while (above && tt_node_at(recorder, above)->flags & TT_NODE_ROOT) above = tt_node_at(recorder, above)->parent;
    return above;
}

/* Books a row of `own` and what lies under it, `total` in all, at the node of `section` under `parent`; all but
 * `concurrent` of it covers the node above. Returns the node, 0 where there is no room. */
static tt_ref tt_graft_book(tt_section *section, tt_frame *frame, tt_ref parent, uint64_t own, uint64_t concurrent,
                            uint64_t total)
{
    tt_recorder *recorder = section->recorder;
    tt_ref ref = tt_node_find(section, parent);
    if (!ref) return 0;
    tt_node *node = tt_node_at(recorder, ref);
    tt_write_begin(&node->sequence);
    node->own += (int64_t)own;
    node->concurrent += (int64_t)concurrent;
    if (frame->epoch) tt_book_in_tick(node, frame->epoch, total);
    tt_book(recorder, node, total, tt_ticks_to_ns(recorder, total), tt_now(recorder));
    tt_write_end(&node->sequence);
    if (concurrent == total) node->marked_own += (int64_t)own; /* concurrent to the call: on no critical path */
    if (frame->flags & TT_FRAME_WATCHED) tt_watch_note(recorder, frame, ref, total, concurrent);
    return ref;
}

#endif
