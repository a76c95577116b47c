/* CPU time and resident memory of a call, on demand and sampled: each costs system calls. */
#ifndef TICKTREE_SAMPLE_H
#define TICKTREE_SAMPLE_H

#include "recorder.h"
#include <stdio.h>

#define TT_SAMPLE_ALL_FIRST 64u
#define TT_SAMPLE_EVERY 16u

static uint64_t tt_resident_bytes(void)
{
#if defined(__linux__)
    char text[64];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    if (got <= 0) return 0;
    text[got] = 0;
    unsigned long long pages = 0;
    if (sscanf(text, "%*s %llu", &pages) != 1) return 0;
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
#else
    return 0;
#endif
}

static uint64_t tt_thread_cpu_ns(void) { return tt_clock_ns(CLOCK_THREAD_CPUTIME_ID); }

/* Every call at first, then one in sixteen: the sample's size stands beside the figure. */
static uint32_t tt_sample_wanted(const tt_node *node, uint32_t wanted)
{
    uint64_t calls = node->stats.count;
    return calls < TT_SAMPLE_ALL_FIRST || calls % TT_SAMPLE_EVERY == 0 ? wanted : 0;
}

static void tt_sample_enter(tt_recorder *recorder, tt_frame *frame, uint32_t wanted)
{
    frame->flags |= tt_sample_wanted(tt_node_at(recorder, frame->node), wanted);
    if (frame->flags & TT_FRAME_MEMORY) frame->memory_start = (int64_t)tt_resident_bytes();
    if (frame->flags & TT_FRAME_CPU) frame->cpu_start = tt_thread_cpu_ns();
}

static void tt_sample_leave(tt_recorder *recorder, tt_frame *frame, tt_node *node, uint64_t duration)
{
    if (frame->flags & TT_FRAME_CPU) {
        node->cpu_ns += tt_thread_cpu_ns() - frame->cpu_start;
        node->cpu_wall += tt_ticks_to_ns(recorder, duration);
        node->cpu_samples++;
    }
    uint64_t resident = frame->flags & TT_FRAME_MEMORY ? tt_resident_bytes() : 0;
    if (resident && frame->memory_start) {
        uint64_t peak = resident > (uint64_t)frame->memory_start ? resident : (uint64_t)frame->memory_start;
        node->memory_change += (int64_t)resident - frame->memory_start;
        if (peak > node->memory_peak) node->memory_peak = peak;
        node->memory_samples++;
    }
}

#endif
