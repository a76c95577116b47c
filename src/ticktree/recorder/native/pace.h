/* Holding a rate: due times on a grid, and the sleep until a due time.
 *
 * A due time is a multiple of the period after the first tick's beginning, rounded once. Adding a rounded period to the
 * previous due time would drift: by a third of a nanosecond per tick at 30 Hz.
 *
 * A sleep overshoots, by the kernel's timer slack (50 µs) and by the time the core takes to wake. So the thread
 * requests an earlier wake-up, by as much as only one sleep in twenty overshoots here, and then reads the clock until
 * the tick is due. It learns this amount from its own sleeps, tick by tick: after a late wake-up it requests 19 steps
 * earlier; after one in time, one step later. It does not change the timer slack, which also applies to the program's
 * own sleeps. */
#ifndef TICKTREE_PACE_H
#define TICKTREE_PACE_H

#include "core/clock.h"

#include <errno.h>

#define TT_PACE_STEP_NS 1000
#define TT_PACE_ONE_IN 20             /* sleeps may overshoot by more than the requested advance */
#define TT_PACE_FIRST_EARLY_NS 100000 /* the advance of the first sleep */
#define TT_PACE_MAX_EARLY_NS 200000   /* the longest busy wait; also at most this part of a period: */
#define TT_PACE_MAX_EARLY_PART 10
#define TT_PACE_BACKLOG_NS 1000000000ULL /* the most that is caught up, or one period if that is longer */

enum tt_pace_kind { TT_PACE_NONE, TT_PACE_SKIP, TT_PACE_CATCH_UP };

typedef struct {
    double hz;
    enum tt_pace_kind kind;
    int is_begun;
    uint64_t anchor;      /* ns of CLOCK_MONOTONIC: when the first tick began */
    uint64_t next;        /* the next tick is due so many periods after it */
    int64_t early_ns;     /* how much before the due time to request the wake-up */
    int64_t max_early_ns; /* at most */
} tt_pace;

static tt_pace tt_pace_of(double hz, enum tt_pace_kind kind)
{
    double share_ns = 1e9 / hz / TT_PACE_MAX_EARLY_PART;
    int64_t max_early = share_ns < TT_PACE_MAX_EARLY_NS ? (int64_t)share_ns : TT_PACE_MAX_EARLY_NS;
    int64_t early = max_early < TT_PACE_FIRST_EARLY_NS ? max_early : TT_PACE_FIRST_EARLY_NS;
    return (tt_pace){hz, kind, 0, 0, 0, early, max_early};
}

static uint64_t tt_pace_due(const tt_pace *pace, uint64_t tick)
{
    return pace->anchor + (uint64_t)((double)tick * 1e9 / pace->hz + 0.5);
}

/* The first tick that is due at `ns` or later. */
static uint64_t tt_pace_first_from(const tt_pace *pace, uint64_t ns)
{
    uint64_t tick = (uint64_t)((double)(ns - pace->anchor) * pace->hz / 1e9);
    while (tt_pace_due(pace, tick) < ns) tick++;
    while (tick && tt_pace_due(pace, tick - 1) >= ns) tick--;
    return tick;
}

/* When the next tick may begin, in ns, or 0: it is due already. Advances `next`. */
static uint64_t tt_pace_claim(tt_pace *pace, uint64_t now)
{
    if (!pace->is_begun) {
        pace->is_begun = 1;
        pace->anchor = now;
        pace->next = 1;
        return 0;
    }
    uint64_t due = tt_pace_due(pace, pace->next);
    if (now < due) {
        pace->next++;
        return due;
    }
    uint64_t oldest = now + 1; /* of the due times not to skip */
    if (pace->kind == TT_PACE_CATCH_UP) {
        double period = 1e9 / pace->hz;
        uint64_t backlog = period > TT_PACE_BACKLOG_NS ? (uint64_t)period : TT_PACE_BACKLOG_NS;
        oldest = now - pace->anchor > backlog ? now - backlog : pace->anchor;
        pace->next++; /* this tick's own */
    }
    if (tt_pace_due(pace, pace->next) < oldest) pace->next = tt_pace_first_from(pace, oldest);
    return 0;
}

/* Learns from a sleep that ended so many ns after the requested time. */
static void tt_pace_learn(tt_pace *pace, int64_t overshot)
{
    pace->early_ns += overshot > pace->early_ns ? (TT_PACE_ONE_IN - 1) * TT_PACE_STEP_NS : -TT_PACE_STEP_NS;
    if (pace->early_ns > pace->max_early_ns) pace->early_ns = pace->max_early_ns;
    if (pace->early_ns < 0) pace->early_ns = 0;
}

static uint64_t tt_monotonic_ns(void) { return tt_clock_ns(CLOCK_MONOTONIC); }

/* Sleeps until that time of CLOCK_MONOTONIC; 1: a signal ended the sleep. */
static int tt_sleep_until(uint64_t ns)
{
#if defined(__linux__)
    struct timespec until = {(time_t)(ns / 1000000000ULL), (long)(ns % 1000000000ULL)};
    return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR;
#else
    uint64_t now = tt_monotonic_ns();
    if (now >= ns) return 0;
    struct timespec remaining = {(time_t)((ns - now) / 1000000000ULL), (long)((ns - now) % 1000000000ULL)};
    return nanosleep(&remaining, NULL) != 0;
#endif
}

/* Reads the clock until that time. */
static void tt_spin_until(uint64_t ns)
{
    while (tt_monotonic_ns() < ns) tt_pause();
}

#endif
