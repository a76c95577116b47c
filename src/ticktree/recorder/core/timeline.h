/* The timeline: the last completed calls one by one, in a ring of the memory file, where a program asks for it.
 *
 * One ring a process, not one a stack: all lanes then reach back equally far, and the ring's size is the bound. Who
 * writes holds the GIL. Readers need no number an event: `done` before they copy and `begun` after it say which events
 * nothing was written over meanwhile; so does a file whose writer was killed in the middle of one.
 */
#ifndef TICKTREE_TIMELINE_H
#define TICKTREE_TIMELINE_H

#include "memory.h"

#define TT_EVENTS_LEAST 1024u    /* a ring that finds no room for these is not worth its place */
#define TT_EVENTS_MOST 2000000u  /* 46 MiB of the 64 MiB of addresses that a file has */
#define TT_LANE_CAP 1024u        /* what runs past it shares lane 0 */

/* One more chunk of exactly so many bytes, in one go: a ring is reserved and touched before anything is recorded. */
static int tt_ring_back(tt_recorder *recorder, uint64_t bytes)
{
    tt_arena *arena = &recorder->arena;
    uint64_t unit = tt_chunk_unit(), to = recorder->header->used_bytes + bytes + TT_AHEAD;
    if (to <= arena->backed) return 1;
    uint64_t more = (to - arena->backed + unit - 1) / unit * unit;
    uint64_t most = arena->fd >= 0 && arena->file_limit < TT_RESERVED_BYTES ? arena->file_limit : TT_RESERVED_BYTES;
    /* Nodes and histograms need room as well: at most three quarters of it all are the ring's. */
    if (arena->backed + more > most - most / 4 || !tt_arena_extend(arena, more)) return 0;
    recorder->header->backed_bytes = arena->backed;
    return 1;
}

static tt_ring *tt_ring_make(tt_recorder *recorder, uint64_t capacity)
{
    uint64_t bytes = sizeof(tt_ring) + capacity * sizeof(tt_event);
    tt_ring *ring = tt_ring_back(recorder, bytes) ? tt_allocate(recorder, bytes) : NULL;
    if (ring) ring->capacity = capacity;
    return ring;
}

/* The lane of a thread, or of one of the contexts that interleave in it; found again by those who come back. */
static tt_ref tt_lane_of(tt_recorder *recorder, uint64_t thread_id, const char *thread_name, uint32_t number)
{
    if (!recorder->ring) return 0;
    for (tt_ref ref = recorder->header->lanes; ref;) {
        tt_lane *lane = tt_at(recorder, ref);
        if (lane->thread_id == thread_id && lane->number == number && !strcmp(lane->thread_name, thread_name)) return ref;
        ref = lane->next;
    }
    if (recorder->header->lane_count >= TT_LANE_CAP) return 0;
    tt_lane *lane = tt_allocate(recorder, sizeof *lane);
    if (!lane) return 0;
    lane->thread_id = thread_id;
    lane->number = number;
    strncpy(lane->thread_name, thread_name, TT_THREAD_NAME);
    lane->next = recorder->header->lanes;
    tt_link(recorder, &recorder->header->lanes, lane);
    recorder->header->lane_count++;
    return tt_ref_of(recorder, lane);
}

/* Of a stack beside its thread's own. `known`: the lane it had when it was last in use. */
static tt_ref tt_lane_of_stack(tt_recorder *recorder, const tt_thread *thread, tt_ref known, uint32_t number)
{
    if (known || !thread->base.lane) return known;
    const tt_lane *own = tt_at(recorder, thread->base.lane);
    return tt_lane_of(recorder, own->thread_id, own->thread_name, number);
}

static void tt_lanes_of_thread(tt_recorder *recorder, tt_thread *thread)
{
    const tt_tree *tree = tt_at(recorder, thread->slot->tree);
    thread->base.lane = tt_lane_of(recorder, tree->thread_id, tree->thread_name, 0);
    for (tt_stack *stack = thread->stacks; stack; stack = stack->next)
        stack->lane = tt_lane_of_stack(recorder, thread, stack->lane, stack->number);
}

/* Gives a file its ring, once. Where there is no room for so many events, for as many as there is: half, a quarter, ... */
static void tt_timeline_begin(tt_recorder *recorder)
{
    uint64_t capacity = recorder->events_asked;
    if (recorder->ring || !capacity) return;
    while (capacity >= TT_EVENTS_LEAST && !recorder->ring) {
        recorder->ring = tt_ring_make(recorder, capacity);
        capacity /= 2;
    }
    if (!recorder->ring && recorder->events_asked < TT_EVENTS_LEAST)
        recorder->ring = tt_ring_make(recorder, recorder->events_asked);
    if (!recorder->ring) return;
    recorder->event_at = 0;
    tt_link(recorder, &recorder->header->ring, recorder->ring);
    for (tt_thread *thread = recorder->threads; thread; thread = thread->next) tt_lanes_of_thread(recorder, thread);
}

static inline tt_event *tt_events_of(tt_ring *ring) { return (tt_event *)(ring + 1); }

/* Out of line: who records no timeline need not have it in the way. */
static __attribute__((noinline)) void tt_event_put(tt_recorder *recorder, tt_ref lane, tt_ref node, uint64_t start,
                                                   uint64_t end)
{
    tt_ring *ring = recorder->ring;
    __atomic_store_n(&ring->begun, ring->begun + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    tt_events_of(ring)[recorder->event_at] = (tt_event){start, end, node, lane};
    if (++recorder->event_at == ring->capacity) recorder->event_at = 0;
    __atomic_store_n(&ring->done, ring->done + 1, __ATOMIC_RELEASE);
}

static void tt_timeline_reset(tt_recorder *recorder)
{
    if (recorder->ring) __atomic_store_n(&recorder->ring->forgotten, recorder->ring->done, __ATOMIC_RELEASE);
}

#endif
