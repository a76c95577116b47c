/* Booking a completed call: statistics, histogram, window, and the tick it fell in. */
#ifndef TICKTREE_BOOKING_H
#define TICKTREE_BOOKING_H

#include "histogram.h"
#include "memory.h"

/* Pairs of windows become one: their counts and totals add exactly. */
static void tt_windows_coarsen(tt_node *node, uint32_t shift)
{
    for (; node->window_shift < shift; node->window_shift++) {
        for (unsigned at = 0; at < TT_WINDOWS / 2; at++) {
            tt_window even = node->windows[2 * at], odd = node->windows[2 * at + 1];
            node->windows[at] = (tt_window){even.count + odd.count, even.sum + odd.sum};
        }
        memset(&node->windows[TT_WINDOWS / 2], 0, TT_WINDOWS / 2 * sizeof(tt_window));
    }
}

static inline uint64_t tt_ns_since_began(const tt_recorder *recorder, uint64_t now)
{
    const tt_anchor *first = &recorder->header->first;
    uint64_t before = first->monotonic_ns - recorder->header->run_began_ns;
    return now > first->ticks ? before + tt_ticks_to_ns(recorder, now - first->ticks) : before;
}

static void tt_anchor_renew(tt_recorder *recorder)
{
    tt_anchor anchor = {recorder->virtual_now, recorder->virtual_now, 0};
    if (recorder->clock != TT_CLOCK_VIRTUAL) anchor = tt_anchor_read(recorder->clock);
    tt_write_begin(&recorder->header->anchor_sequence);
    recorder->header->last = anchor;
    tt_write_end(&recorder->header->anchor_sequence);
}

/* Moves on to the window of `now`; its end is kept in ticks, so that a call costs one comparison. */
static __attribute__((noinline)) void tt_window_advance(tt_recorder *recorder, uint64_t now)
{
    uint64_t ns = tt_ns_since_began(recorder, now);
    while (ns / (TT_WINDOW_NS << recorder->window_shift) >= TT_WINDOWS) recorder->window_shift++;
    uint64_t width = TT_WINDOW_NS << recorder->window_shift;
    recorder->window_index = (uint32_t)(ns / width);
    uint64_t left = (recorder->window_index + 1ULL) * width - ns;
    uint64_t ticks = tt_ns_to_ticks(recorder, left);
    recorder->window_end = now + (ticks ? ticks : 1);
    tt_anchor_renew(recorder);
}

/* A body of any size has pushed the node's lines out of the caches: fetched together, they cost one wait. */
static inline void tt_book_prefetch(const tt_recorder *recorder, const tt_node *node)
{
    __builtin_prefetch(node, 1);
    __builtin_prefetch(&node->tick_epoch, 1);
    __builtin_prefetch(&node->windows[recorder->window_index], 1);
    __builtin_prefetch(&node->octaves[8]); /* 256 ns to 16 ms */
}

/* The caller holds the node's sequence odd. `duration` is in the node's own unit. A call that the histogram has no
 * memory for is not counted at all: every count of a node is of the same calls. 0: it is not counted. */
static inline int tt_book(tt_recorder *recorder, tt_node *node, uint64_t duration, uint64_t ns, uint64_t now)
{
    unsigned octave, sub;
    tt_bucket_of(ns, &octave, &sub);
    uint64_t *counts = tt_octave_counts(recorder, &node->octaves[octave]);
    if (TT_UNLIKELY(!counts)) {
        tt_lose(recorder, TT_LOSS_MEMORY);
        return 0;
    }
    counts[sub]++;
    node->stats.count++;
    node->stats.sum += duration;
    if (duration < node->stats.minimum) node->stats.minimum = duration;
    if (duration > node->stats.maximum) node->stats.maximum = duration;
    if (TT_UNLIKELY(now >= recorder->window_end)) tt_window_advance(recorder, now);
    if (TT_UNLIKELY(node->window_shift != recorder->window_shift))
        tt_windows_coarsen(node, recorder->window_shift);
    tt_window *window = &node->windows[recorder->window_index];
    window->count++;
    window->sum += duration;
    return 1;
}

/* A tick's breakdown: one sum a node, begun anew by the first call of each tick. */
static inline void tt_book_in_tick(tt_node *node, uint64_t epoch, uint64_t duration)
{
    if (node->tick_epoch != epoch) {
        node->tick_epoch = epoch;
        node->tick_sum = 0;
    }
    node->tick_sum += duration;
}

#endif
