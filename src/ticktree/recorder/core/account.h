/* The accounts: what a call adds to its node and takes from the call around it.
 *
 * A frame counts its open children. While there is one, the frame's own time stands still; when the last one
 * leaves, the covered stretch is deducted from it once and carried by that child, and what the other children
 * spent meanwhile is `concurrent`. A call that ends with children still open deducts the stretch then, at the
 * expense of the child entered latest. So for every node, always:
 *
 *     total == own + sum(child.total - child.concurrent)
 */
#ifndef TICKTREE_ACCOUNT_H
#define TICKTREE_ACCOUNT_H

#include "booking.h"
#include "memory_sampling/sample.h"
#include "timeline.h"
#include "remote_parent/watch.h"

enum tt_ending {
    TT_COMPLETE, /* counted */
    TT_OPEN,     /* its time is booked, but it is no completed call: cut short, or still open */
    TT_VOID      /* as TT_OPEN, of a tick that never came to be: its iterable was exhausted */
};

static inline tt_frame *tt_parent_frame(const tt_recorder *recorder, const tt_frame *frame)
{
    if (!frame->parent) return NULL;
    tt_frame *parent = tt_at(recorder, frame->parent);
    return TT_LIKELY(parent->serial == frame->parent_serial) ? parent : NULL;
}

/* The innermost frame at or around this one that has a node: of one without, the frame that its time stays in. */
static inline tt_frame *tt_frame_recorded(const tt_recorder *recorder, tt_frame *frame)
{
    while (frame && !frame->node) frame = tt_parent_frame(recorder, frame);
    return frame;
}

/* The node that a frame's time is booked in, or stays in. */
static inline tt_ref tt_home_of(const tt_frame *frame) { return frame->node ? frame->node : frame->home; }

/* What a leaving call covered of the frame around it; all else of its duration was concurrent. */
static inline uint64_t tt_uncover(tt_frame *parent, uint64_t now)
{
    if (--parent->active) return 0;
    uint64_t stretch = now - parent->cover_start;
    parent->covered += stretch;
    return stretch;
}

static void tt_leave_children_behind(tt_recorder *recorder, tt_frame *frame, uint64_t now)
{
    tt_node *latest = tt_node_at(recorder, frame->last_child);
    uint64_t stretch = now - frame->cover_start;
    frame->covered += stretch;
    tt_write_begin(&latest->sequence);
    latest->concurrent -= (int64_t)stretch;
    tt_write_end(&latest->sequence);
}

static tt_frame *tt_living(const tt_recorder *recorder, tt_ref ref, uint64_t serial)
{
    tt_frame *frame = ref ? tt_at(recorder, ref) : NULL;
    return frame && frame->serial == serial ? frame : NULL;
}

static tt_frame *tt_tick_of(const tt_recorder *recorder, const tt_frame *frame)
{
    return tt_living(recorder, frame->tick, frame->epoch);
}

/* A tick's waits are the time in which any was open, its inner loops' included: neither waits inside waits nor
 * several at a time count twice. */
static void tt_wait_begin(tt_recorder *recorder, tt_frame *frame)
{
    if (frame->flags & TT_FRAME_WAITING) return;
    frame->flags |= TT_FRAME_WAITING | TT_FRAME_WAIT;
    frame->wait_tick = frame->tick;
    frame->wait_serial = frame->epoch;
    for (tt_frame *tick = tt_tick_of(recorder, frame); tick; tick = tt_tick_of(recorder, tick))
        if (tick->waits_open++ == 0) tick->wait_start = frame->start;
}

static void tt_wait_end(tt_recorder *recorder, tt_frame *frame, uint64_t now)
{
    tt_frame *tick = tt_living(recorder, frame->wait_tick, frame->wait_serial);
    for (; tick; tick = tt_tick_of(recorder, tick))
        if (--tick->waits_open == 0) tick->waited += now - tick->wait_start;
}

/* Waits that outlive their tick (a task's, a sleeping generator's) go on in the ticks around it. */
static void tt_waits_hand_over(tt_recorder *recorder, const tt_frame *ended)
{
    tt_ref ended_ref = tt_ref_of(recorder, ended);
    for (tt_ref ref = recorder->header->frames; ref;) {
        tt_frame *frame = tt_at(recorder, ref);
        ref = frame->next;
        if (!frame->serial || !(frame->flags & TT_FRAME_WAIT) || frame->wait_tick != ended_ref) continue;
        if (frame->wait_serial != ended->serial) continue;
        frame->wait_tick = ended->tick;
        frame->wait_serial = ended->epoch;
    }
}

static inline void tt_tick_end(tt_recorder *, tt_frame *, tt_node *, uint64_t duration, enum tt_ending);

/* Whether a tick that never came to be is all that there ever was of its node, or a call within that tick of its own:
 * then its time stays in what is around it. */
static inline int tt_leaves_nothing(const tt_frame *frame, const tt_node *node)
{
    return !frame->covered && !node->stats.count && !node->warmup.count;
}

/* What a frame adds to its node, whether its call is complete or not. */
static inline void tt_account(tt_node *node, const tt_frame *frame, uint64_t duration, uint64_t stood_for)
{
    node->own += (int64_t)(duration - frame->covered);
    node->concurrent += (int64_t)(duration - stood_for);
    if (frame->epoch) tt_book_in_tick(node, frame->epoch, duration);
}

/* Books a frame and frees it; the caller has unlinked it from its stack. */
static __attribute__((noinline)) void tt_close(tt_recorder *recorder, tt_frame *frame, uint64_t now,
                                               enum tt_ending ending)
{
    if (TT_UNLIKELY(!frame->node)) {
        tt_frame_free(recorder, frame);
        return;
    }
    tt_node *node = tt_node_at(recorder, frame->node);
    tt_book_prefetch(recorder, node);
    if (TT_UNLIKELY(now < frame->start)) now = frame->start; /* counters of two cores may be a hair apart */
    uint64_t duration = now - frame->start;
    if (TT_UNLIKELY(frame->active)) tt_leave_children_behind(recorder, frame, now);
    tt_frame *parent = tt_parent_frame(recorder, frame);
    uint64_t stood_for = parent ? tt_uncover(parent, now) : 0;
    uint32_t flags = frame->flags;
    if (TT_UNLIKELY(flags & TT_FRAME_WATCHED)) tt_watch_close(recorder, frame, duration, duration - stood_for);
    const tt_sample *sample = NULL;
    if (TT_UNLIKELY(flags & (TT_FRAME_CPU | TT_FRAME_MEMORY))) sample = tt_sample_leave(frame);
    tt_write_begin(&node->sequence);
    if (TT_UNLIKELY(ending == TT_VOID) && tt_leaves_nothing(frame, node)) {
        if (parent) parent->covered -= stood_for;
    } else {
        tt_account(node, frame, duration, stood_for);
    }
    if (TT_LIKELY(ending == TT_COMPLETE)) {
        int counted = tt_book(recorder, node, duration, tt_ticks_to_ns(recorder, duration), now);
        if (TT_UNLIKELY(flags & TT_FRAME_RAISED)) node->raised += (uint64_t)counted;
    }
    if (TT_UNLIKELY(sample != NULL)) tt_sample_book(recorder, frame, node, sample, duration);
    tt_write_end(&node->sequence);
    if (TT_UNLIKELY(recorder->ring != NULL) && ending == TT_COMPLETE)
        tt_event_put(recorder, frame->lane, frame->node, frame->start, now);
    if (TT_UNLIKELY(flags & TT_FRAME_WAIT)) tt_wait_end(recorder, frame, now);
    if (TT_UNLIKELY(flags & TT_FRAME_TICK)) {
        if (frame->waits_open) tt_waits_hand_over(recorder, frame);
        tt_tick_end(recorder, frame, node, duration, ending);
    }
    tt_frame_free(recorder, frame);
}

/* The same of a call that is complete, inlined where sections are left: nearly all have nothing but their account. */
static inline __attribute__((always_inline)) void tt_complete(tt_recorder *recorder, tt_frame *frame, uint64_t now)
{
    if (TT_UNLIKELY(!frame->node || frame->active || frame->flags & TT_FRAME_RARE || recorder->ring)) {
        tt_close(recorder, frame, now, TT_COMPLETE);
        return;
    }
    tt_node *node = tt_node_at(recorder, frame->node);
    tt_book_prefetch(recorder, node);
    uint64_t duration = TT_LIKELY(now > frame->start) ? now - frame->start : 0;
    tt_frame *parent = tt_parent_frame(recorder, frame);
    uint64_t stood_for = parent ? tt_uncover(parent, frame->start + duration) : 0;
    tt_write_begin(&node->sequence);
    tt_account(node, frame, duration, stood_for);
    tt_book(recorder, node, duration, tt_ticks_to_ns(recorder, duration), frame->start + duration);
    tt_write_end(&node->sequence);
    tt_frame_free(recorder, frame);
}

/* Takes a frame from anywhere in its stack, and closes it. */
static void tt_pop(tt_recorder *recorder, tt_stack *stack, tt_frame *frame, uint64_t now, enum tt_ending ending)
{
    if (stack->top == frame) stack->top = (tt_frame *)(uintptr_t)frame->below;
    else {
        tt_frame *above = stack->top;
        while ((tt_frame *)(uintptr_t)above->below != frame) above = (tt_frame *)(uintptr_t)above->below;
        above->below = frame->below;
    }
    if (frame->flags & TT_FRAME_GENERATOR) stack->suspended--;
    tt_close(recorder, frame, now, ending);
}

/* Links a new frame to the frame around it, with a node or without; from here on it is open. */
static inline void tt_frame_link(tt_recorder *recorder, tt_frame *frame, const tt_frame *parent, uint64_t now)
{
    frame->start = now;
    if (TT_LIKELY(parent != NULL)) {
        frame->parent = tt_ref_of(recorder, parent);
        frame->parent_serial = parent->serial;
        if (parent->flags & TT_FRAME_TICK) {
            frame->tick = frame->parent;
            frame->epoch = parent->serial;
        } else {
            frame->tick = parent->tick;
            frame->epoch = parent->epoch;
        }
        frame->flags |= parent->flags & TT_FRAME_INHERITED;
    } else {
        frame->parent = 0;
        frame->parent_serial = 0;
        frame->tick = 0;
        frame->epoch = 0;
    }
    __atomic_store_n(&frame->serial, ++recorder->serial, __ATOMIC_RELEASE);
}

/* Links a frame that has a node, and lets it cover the frame around it, from `now`. */
static inline void tt_open(tt_recorder *recorder, tt_frame *frame, tt_frame *parent, uint64_t now)
{
    if (TT_LIKELY(parent != NULL)) {
        if (TT_LIKELY(parent->active++ == 0)) parent->cover_start = now;
        parent->last_child = frame->node;
    }
    tt_frame_link(recorder, frame, parent, now);
}

#endif
