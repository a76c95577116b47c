/* Holding a rate: due times on a grid, and the sleep until one of them.
 *
 * A due time is a multiple of the period from the first tick's beginning, rounded by itself, not the one before it and
 * a rounded period: a third of a nanosecond a tick at 30 Hz would be a drift.
 *
 * A sleep overshoots, by the kernel's timer slack (50 µs) and by however long the core takes to wake. So the thread
 * asks to be woken sooner, by as much as only one sleep in twenty overshoots here, and looks at the clock until the
 * tick is due. How much that is it learns from its own sleeps, tick by tick: too late by one, and it asks for 19
 * steps sooner; in time, and for one step later. The slack is left as it is: it is the thread's, its other sleeps are
 * the program's affair, and what is known to come late is requested sooner. */
#ifndef TICKTREE_PACE_H
#define TICKTREE_PACE_H

#include "core/clock.h"

#include <errno.h>

#define TT_PACE_STEP_NS 1000
#define TT_PACE_ONE_IN 20            /* sleeps may overshoot what is allowed for */
#define TT_PACE_EARLY_NS 100000      /* allowed for at first */
#define TT_PACE_MOST_EARLY_NS 200000 /* the longest look at the clock; nor more than this part of a period: */
#define TT_PACE_MOST_EARLY_PART 10
#define TT_PACE_BACKLOG_NS 1000000000ULL /* what is caught up at most, or a period where that is longer */

enum tt_pace_kind { TT_PACE_NONE, TT_PACE_SKIP, TT_PACE_CATCH_UP };

typedef struct {
    double hz;
    enum tt_pace_kind kind;
    int begun;
    uint64_t anchor;  /* ns of CLOCK_MONOTONIC: when the first tick began */
    uint64_t next;    /* how many periods after it the next tick is due */
    int64_t early;    /* ns: how much sooner to ask to be woken */
    int64_t earliest; /* and at most */
} tt_pace;

static tt_pace tt_pace_of(double hz, enum tt_pace_kind kind)
{
    double part = 1e9 / hz / TT_PACE_MOST_EARLY_PART;
    int64_t most = part < TT_PACE_MOST_EARLY_NS ? (int64_t)part : TT_PACE_MOST_EARLY_NS;
    return (tt_pace){hz, kind, 0, 0, 0, most < TT_PACE_EARLY_NS ? most : TT_PACE_EARLY_NS, most};
}

static uint64_t tt_pace_due(const tt_pace *pace, uint64_t tick)
{
    return pace->anchor + (uint64_t)((double)tick * 1e9 / pace->hz + 0.5);
}

/* The first tick that is due at `at` or later. */
static uint64_t tt_pace_first_from(const tt_pace *pace, uint64_t at)
{
    uint64_t tick = (uint64_t)((double)(at - pace->anchor) * pace->hz / 1e9);
    while (tt_pace_due(pace, tick) < at) tick++;
    while (tick && tt_pace_due(pace, tick - 1) >= at) tick--;
    return tick;
}

/* When the next tick may begin, in ns, or 0 where it is due already; from then on the one after it is the next. */
static uint64_t tt_pace_claim(tt_pace *pace, uint64_t now)
{
    if (!pace->begun) {
        pace->begun = 1;
        pace->anchor = now;
        pace->next = 1;
        return 0;
    }
    uint64_t due = tt_pace_due(pace, pace->next);
    if (now < due) {
        pace->next++;
        return due;
    }
    uint64_t oldest = now + 1; /* of the due times that are still to be kept */
    if (pace->kind == TT_PACE_CATCH_UP) {
        double period = 1e9 / pace->hz;
        uint64_t backlog = period > TT_PACE_BACKLOG_NS ? (uint64_t)period : TT_PACE_BACKLOG_NS;
        oldest = now - pace->anchor > backlog ? now - backlog : pace->anchor;
        pace->next++; /* this tick's own */
    }
    if (tt_pace_due(pace, pace->next) < oldest) pace->next = tt_pace_first_from(pace, oldest);
    return 0;
}

/* What was learnt from a sleep that ended so many ns after the requested time. */
static void tt_pace_learn(tt_pace *pace, int64_t overshot)
{
    pace->early += overshot > pace->early ? (TT_PACE_ONE_IN - 1) * TT_PACE_STEP_NS : -TT_PACE_STEP_NS;
    if (pace->early > pace->earliest) pace->early = pace->earliest;
    if (pace->early < 0) pace->early = 0;
}

static uint64_t tt_monotonic_ns(void)
{
    return tt_clock_ns(CLOCK_MONOTONIC);
}

/* Sleeps until that time of CLOCK_MONOTONIC, or until a signal comes: then 1. */
static int tt_sleep_until(uint64_t ns)
{
#if defined(__linux__)
    struct timespec until = {(time_t)(ns / 1000000000ULL), (long)(ns % 1000000000ULL)};
    return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR;
#else
    uint64_t now = tt_monotonic_ns();
    if (now >= ns) return 0;
    struct timespec left = {(time_t)((ns - now) / 1000000000ULL), (long)((ns - now) % 1000000000ULL)};
    return nanosleep(&left, NULL) != 0;
#endif
}

/* Looks at the clock until then. */
static void tt_spin_until(uint64_t ns)
{
    while (tt_monotonic_ns() < ns) {
#if defined(__x86_64__)
        _mm_pause();
#elif defined(__aarch64__)
        __asm__ __volatile__("yield");
#endif
    }
}

#endif
