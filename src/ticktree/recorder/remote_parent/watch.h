/* Watches: the time of one request's sections, among many requests that are served at the same time.
 *
 * A watched call (the request's) has a table: for every node below it, how long its calls of this request took. Calls
 * below it are marked as they open, by a flag that they inherit; each one that closes walks up to the watched call and
 * adds itself. So requests that alternate on a thread have exact sums each, a call that outlives its request is in no
 * sum, and sections outside of requests pay one test of a flag that is read anyway.
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
    tt_map row_numbers;         /* node -> its row's number, from 1 */
    uint32_t lost;     /* calls without memory here */
    uint32_t calls;    /* watched calls that are over */
    uint64_t sum;      /* their durations */
    tt_frame *frame;   /* the watched call, if it is still the call `serial` */
    uint64_t serial;
    tt_thread *thread; /* runs it */
    uint32_t generation;
};

/* The row of a node, created if needed; NULL: no memory. */
static tt_watch_row *tt_watch_row_of(tt_watch *watch, tt_ref node)
{
    uint64_t number = tt_map_get(&watch->row_numbers, node);
    if (number) return &watch->rows[number - 1];
    tt_watch_row *rows = tt_grown(watch->rows, watch->count, &watch->room, 16, sizeof *rows);
    if (!rows) return NULL;
    watch->rows = rows;
    if (!tt_map_reserve(&watch->row_numbers)) return NULL;
    watch->rows[watch->count] = (tt_watch_row){.node = node};
    tt_map_add(&watch->row_numbers, node, ++watch->count);
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

/* The parent of a call: the call that it covers, or the call of another thread that submitted its work. */
static tt_frame *tt_watch_parent(const tt_recorder *recorder, const tt_frame *frame)
{
    tt_frame *parent = tt_parent_frame(recorder, frame);
    if (parent) return parent;
    if (!(frame->flags & TT_FRAME_SUBMITTED)) return NULL;
    parent = (tt_frame *)(uintptr_t)frame->submitter;
    return parent->serial == frame->submitter_serial ? parent : NULL;
}

/* Adds to all watched calls at or above `frame`. */
static void tt_watch_note(const tt_recorder *recorder, tt_frame *frame, tt_ref node, uint64_t duration, uint64_t concurrent)
{
    for (; frame; frame = tt_watch_parent(recorder, frame))
        if (frame->flags & TT_FRAME_WATCH) tt_watch_add(tt_watch_of(frame), node, duration, concurrent);
}

/* A call is over: adds it to every watch above it, and ends its own. */
static void tt_watch_close(const tt_recorder *recorder, tt_frame *frame, uint64_t duration, uint64_t concurrent)
{
    tt_watch_note(recorder, tt_watch_parent(recorder, frame), frame->node, duration, concurrent);
    if (!(frame->flags & TT_FRAME_WATCH)) return;
    tt_watch *watch = tt_watch_of(frame);
    watch->calls++;
    watch->sum += duration;
    watch->frame = NULL;
}

/* Begins to watch a call; 0: it is over, or already watched. */
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
    if (!watch->frame || recorder->forked || watch->generation != recorder->generation || !recorder->header)
        return NULL;
    return watch->frame->serial == watch->serial ? watch->frame : NULL;
}

static void tt_watch_free(const tt_recorder *recorder, tt_watch *watch)
{
    tt_frame *frame = tt_watch_open(recorder, watch);
    if (frame) frame->flags &= ~(uint32_t)TT_FRAME_WATCH;
    free(watch->rows);
    tt_map_free(&watch->row_numbers);
}

/* -- grafts -------------------------------------------------------------------------------------------------------- */

/* Grafts: the time that another program reports for a call of ours, added below the open call as if it were recorded
 * here.
 *
 * Another program's clock is never compared with ours: it sends only durations, and at most the self time of our own
 * call is subtracted from it. The rest of what it reports is concurrent time, so that no self time turns negative.
 */

/* A call that waits for another program. */
typedef struct {
    tt_frame *frame; /* if it is still the call `serial` */
    uint64_t serial;
    uint32_t generation;
} tt_calling;

static tt_frame *tt_innermost_frame(tt_recorder *recorder, tt_thread **thread)
{
    tt_here here;
    if (!tt_arrive(recorder, &here)) return NULL;
    tt_frame *frame = tt_frame_around(recorder, here.stack, here.pyframe);
    *thread = here.stack->thread;
    tt_stack_rest(here.stack);
    return frame;
}

/* Marks the innermost open call as one that waits for another program. */
static void tt_calling_begin(tt_recorder *recorder, tt_calling *calling)
{
    tt_thread *thread;
    tt_frame *frame = tt_innermost_frame(recorder, &thread);
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

/* An open call's self time so far. */
static uint64_t tt_self_ticks(const tt_recorder *recorder, const tt_frame *frame)
{
    uint64_t until = frame->active ? frame->cover_start : tt_now(recorder);
    uint64_t passed = until > frame->start ? until - frame->start : 0;
    return passed > frame->covered ? passed - frame->covered : 0;
}

static uint64_t tt_ticks_since(const tt_recorder *recorder, uint64_t start)
{
    uint64_t now = tt_now(recorder);
    return now > start ? now - start : 0;
}

/* The node that contains this one's time; of a thread's root, the node that started the thread. */
static tt_ref tt_parent_of(const tt_recorder *recorder, tt_ref ref)
{
    tt_ref parent = tt_node_at(recorder, ref)->parent;
    while (parent && tt_node_at(recorder, parent)->flags & TT_NODE_ROOT) parent = tt_node_at(recorder, parent)->parent;
    return parent;
}

/* Books a row of `self_ticks`, with its children `total`, at the node of `section` below `parent`; all of it but
 * `concurrent` covers the parent. */
static void tt_graft_book(tt_section *section, tt_frame *frame, tt_ref parent, uint64_t self_ticks, uint64_t concurrent,
                            uint64_t total)
{
    tt_recorder *recorder = section->recorder;
    tt_ref ref = tt_node_find(section, parent);
    if (!ref) return;
    tt_node *node = tt_node_at(recorder, ref);
    tt_write_begin(&node->sequence);
    node->own += (int64_t)self_ticks;
    node->concurrent += (int64_t)concurrent;
    if (frame->epoch) tt_book_in_tick(node, frame->epoch, total);
    tt_book(recorder, node, total, tt_ticks_to_ns(recorder, total), tt_now(recorder));
    tt_write_end(&node->sequence);
    if (concurrent == total) node->marked_own += (int64_t)self_ticks; /* concurrent to the call: on no critical path */
    if (frame->flags & TT_FRAME_WATCHED) tt_watch_note(recorder, frame, ref, total, concurrent);
}

#endif
