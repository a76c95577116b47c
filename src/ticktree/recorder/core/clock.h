/* The cheapest monotonic counter of the machine, and the anchors that convert its ticks to nanoseconds later. */
#ifndef TICKTREE_CLOCK_H
#define TICKTREE_CLOCK_H

#include "layout.h"
#include <stdio.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

static inline uint64_t tt_clock_ns(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

/* Whether the kernel trusts the TSC: it stops using it as a clock source once it drifts between cores. */
static int tt_kernel_trusts_tsc(void)
{
#if defined(__linux__)
    char source[32] = "";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (file) {
        if (!fgets(source, sizeof source, file)) source[0] = 0;
        fclose(file);
    }
    /* The paravirtual clocks of KVM and Hyper-V are the TSC, scaled. */
    return !strncmp(source, "tsc", 3) || !strncmp(source, "kvm-clock", 9) || !strncmp(source, "hyperv", 6);
#else
    return 1;
#endif
}

static enum tt_clock_kind tt_clock_choose(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d = 0;
    int invariant = __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & (1u << 8));
    return invariant && tt_kernel_trusts_tsc() ? TT_CLOCK_TSC : TT_CLOCK_MONOTONIC;
#elif defined(__aarch64__)
    return TT_CLOCK_CNTVCT;
#else
    return TT_CLOCK_MONOTONIC;
#endif
}

/* One turn of a busy wait. */
static inline void tt_pause(void)
{
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

static inline uint64_t tt_clock_ticks(enum tt_clock_kind kind)
{
#if defined(__x86_64__)
    if (__builtin_expect(kind == TT_CLOCK_TSC, 1)) return __rdtsc();
#elif defined(__aarch64__)
    if (__builtin_expect(kind == TT_CLOCK_CNTVCT, 1)) {
        uint64_t ticks;
        __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
    }
#endif
    return tt_clock_ns(CLOCK_MONOTONIC);
}

/* Takes the attempt with the shortest reading time: an interrupt between two reads would distort the scale. */
static tt_anchor tt_anchor_read(enum tt_clock_kind kind)
{
    tt_anchor best = {0, 0, 0};
    uint64_t min_ticks = UINT64_MAX;
    for (int attempt = 0; attempt < 5; attempt++) {
        uint64_t before = tt_clock_ticks(kind);
        uint64_t monotonic = tt_clock_ns(CLOCK_MONOTONIC);
        uint64_t after = tt_clock_ticks(kind);
        if (after - before < min_ticks) {
            min_ticks = after - before;
            best.ticks = before + (after - before) / 2;
            best.monotonic_ns = monotonic;
        }
    }
    best.wall_ns = tt_clock_ns(CLOCK_REALTIME);
    return best;
}

/* Nanoseconds per tick, scaled by 2^32, measured over about two milliseconds: accurate to some 50 parts in a million,
 * which is enough for histogram buckets; readers use the anchors, which are farther apart. */
static uint64_t tt_clock_scale(enum tt_clock_kind kind)
{
    if (kind == TT_CLOCK_MONOTONIC || kind == TT_CLOCK_VIRTUAL) return 1ULL << 32;
    tt_anchor from = tt_anchor_read(kind), to;
    do to = tt_anchor_read(kind);
    while (to.monotonic_ns - from.monotonic_ns < 2000000);
    return (uint64_t)(((unsigned __int128)(to.monotonic_ns - from.monotonic_ns) << 32) / (to.ticks - from.ticks));
}

#endif
