/* Watches: what one request's own sections took, of many that are served at a time.
 *
 * A call that is watched (the request's) keeps a table: for every node below it, how long its calls of this request
 * took. Calls below are marked as they open, by a flag that they inherit; one that closes walks up to the watched call
 * and adds itself. So requests that take turns on a thread each have their own exact sums, a call that outlives its
 * request is in no sum, and sections that are in no request pay one test of a flag that is read anyway.
 */
#ifndef TICKTREE_WATCH_H
#define TICKTREE_WATCH_H

#include "core/hot.h"

#include <stdlib.h>

typedef struct { /* one node's calls in one request */
    tt_ref node;
    uint32_t calls;
    uint64_t sum, concurrent;
} tt_watch_row;

struct tt_watch {
    tt_watch_row *rows;
    uint32_t count, room;
    tt_map at;         /* node -> its row's number, from 1 */
    uint32_t lost;     /* calls that found no memory here */
    uint32_t calls;    /* watched calls that are over */
    uint64_t sum;      /* their durations */
    tt_frame *frame;   /* the watched call, if it is still the call `serial` */
    uint64_t serial;
    tt_thread *thread; /* that runs it */
    uint32_t generation;
};

/* Made at need; NULL: no memory. */
static tt_watch_row *tt_watch_row_of(tt_watch *watch, tt_ref node)
{
    uint64_t number = tt_map_get(&watch->at, node);
    if (number) return &watch->rows[number - 1];
    tt_watch_row *rows = tt_grown(watch->rows, watch->count, &watch->room, 16, sizeof *rows);
    if (!rows) return NULL;
    watch->rows = rows;
    if (!tt_map_reserve(&watch->at)) return NULL;
    watch->rows[watch->count] = (tt_watch_row){.node = node};
    tt_map_add(&watch->at, node, ++watch->count);
    return &watch->rows[watch->count - 1];
}

static void tt_watch_add(tt_watch *watch, tt_ref node, uint64_t duration, uint64_t concurrent)
{
    tt_watch_row *row = tt_watch_row_of(watch, node);
    if (!row) {
        watch->lost++;
        return;
    }
    row->calls++;
    row->sum += duration;
    row->concurrent += concurrent;
}

static inline tt_watch *tt_watch_of(const tt_frame *frame) { return (tt_watch *)(uintptr_t)frame->watch; }

/* The call around this one: the one it covers, or the one that gave its thread the work. */
static tt_frame *tt_watch_above(const tt_recorder *recorder, const tt_frame *frame)
{
    tt_frame *above = tt_parent_frame(recorder, frame);
    if (above) return above;
    if (!(frame->flags & TT_FRAME_AFAR)) return NULL;
    above = (tt_frame *)(uintptr_t)frame->afar;
    return above->serial == frame->afar_serial ? above : NULL;
}

/* Adds to a watched call, and to those that watch around it. */
static void tt_watch_note(const tt_recorder *recorder, tt_frame *frame, tt_ref node, uint64_t duration, uint64_t concurrent)
{
    for (; frame; frame = tt_watch_above(recorder, frame))
        if (frame->flags & TT_FRAME_WATCH) tt_watch_add(tt_watch_of(frame), node, duration, concurrent);
}

/* A call is over: adds it to every watch that it is under, and ends its own. */
static void tt_watch_close(const tt_recorder *recorder, tt_frame *frame, uint64_t duration, uint64_t concurrent)
{
    tt_watch_note(recorder, tt_watch_above(recorder, frame), frame->node, duration, concurrent);
    if (!(frame->flags & TT_FRAME_WATCH)) return;
    tt_watch *watch = tt_watch_of(frame);
    watch->calls++;
    watch->sum += duration;
    watch->frame = NULL;
}

/* From now on a call is watched; 0: it is over, or watched already. */
static int tt_watch_begin(const tt_recorder *recorder, tt_watch *watch, tt_thread *thread, tt_frame *frame)
{
    if (!frame || !frame->node || frame->flags & TT_FRAME_WATCH || watch->frame) return 0;
    frame->flags |= TT_FRAME_WATCH | TT_FRAME_WATCHED;
    frame->watch = (uint64_t)(uintptr_t)watch;
    watch->frame = frame;
    watch->serial = frame->serial;
    watch->thread = thread;
    watch->generation = recorder->generation;
    return 1;
}

/* The watched call, while it is open. */
static tt_frame *tt_watch_open(const tt_recorder *recorder, const tt_watch *watch)
{
    if (!watch->frame || recorder->forked || watch->generation != recorder->generation || !recorder->header) return NULL;
    return watch->frame->serial == watch->serial ? watch->frame : NULL;
}

static void tt_watch_free(const tt_recorder *recorder, tt_watch *watch)
{
    tt_frame *frame = tt_watch_open(recorder, watch);
    if (frame) frame->flags &= ~(uint32_t)TT_FRAME_WATCH;
    free(watch->rows);
    tt_map_free(&watch->at);
}

/* -- grafts --------------------------------------------------------------------------------------------------------- */

/* Grafts: what another program reports to have spent on a call of ours, put under the open call as if it had been recorded here.
 *
 * Another program's clock is never compared with ours: only durations come, and what is taken from our own call is at
 * most what it has. What the other says beyond that is concurrent time, so that no account turns negative.
 */

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
