/* CPU time and memory of a call, on demand and sampled: each costs system calls. */
#ifndef TICKTREE_SAMPLE_H
#define TICKTREE_SAMPLE_H

#include "footprint.h"

#define TT_SAMPLE_ALL_FIRST 64u
#define TT_SAMPLE_EVERY 16u

static uint64_t tt_thread_cpu_ns(void) { return tt_clock_ns(CLOCK_THREAD_CPUTIME_ID); }

/* Every call at first, then one in sixteen: the sample's size is shown with the figure. */
static uint32_t tt_sample_wanted(const tt_node *node, uint32_t wanted)
{
    uint64_t calls = node->stats.count;
    return calls < TT_SAMPLE_ALL_FIRST || calls % TT_SAMPLE_EVERY == 0 ? wanted : 0;
}

/* Before anything else where calls of a section that measures memory begin or end. It may run any code; 0: recording has
 * been stopped meanwhile. The next call of a section is most likely at the node of the last: elsewhere too much is read,
 * or its devices go unmeasured. */
static TT_NOINLINE int tt_sample_prepare(const tt_section *section)
{
    const tt_recorder *recorder = section->recorder;
    tt_ref node = recorder->forked ? 0 : section->cached_node;
    int wanted = !node || tt_peaks.count || tt_sample_wanted(tt_node_at(recorder, node), 1);
    if (wanted) tt_devices_read();
    else tt_peaks.devices_read = 0;
    return recorder->recording;
}

static void tt_sample_done(void) { tt_peaks.devices_read = 0; }

/* Returns whether it is sampled: then time has passed that is not the call's. */
static TT_NOINLINE int tt_sample_enter(tt_recorder *recorder, tt_frame *frame, uint32_t wanted)
{
    uint32_t sampled = tt_sample_wanted(tt_node_at(recorder, frame->node), wanted);
    frame->flags |= sampled;
    if (sampled & TT_FRAME_MEMORY) frame->measured = tt_measured_begin(recorder);
    if (sampled & TT_FRAME_CPU) frame->cpu_start = tt_thread_cpu_ns();
    return sampled != 0;
}

struct tt_sample {
    uint64_t cpu_ns;
    int is_measured;
    tt_measured memory;
};

static const tt_sample *tt_sample_leave(const tt_frame *frame)
{
    static tt_sample scratch; /* the GIL is held until it is booked */
    tt_sample *sample = &scratch;
    sample->cpu_ns = frame->flags & TT_FRAME_CPU ? tt_thread_cpu_ns() - frame->cpu_start : 0;
    sample->is_measured = frame->flags & TT_FRAME_MEMORY && tt_measured_end(frame->measured, &sample->memory);
    return sample;
}

static void tt_sample_book(tt_recorder *recorder, const tt_frame *frame, tt_node *node, const tt_sample *sample,
                           uint64_t duration)
{
    if (frame->flags & TT_FRAME_CPU) {
        node->cpu_ns += sample->cpu_ns;
        node->cpu_wall += tt_ticks_to_ns(recorder, duration);
        node->cpu_samples++;
    }
    if (!sample->is_measured) return;
    const tt_mark *mark = &sample->memory.marks[TT_RESIDENT];
    if (sample->memory.resident_known) {
        node->memory_change += (int64_t)(tt_peaks.now[TT_RESIDENT] - mark->entry);
        if (mark->least > node->memory_peak) node->memory_peak = mark->least;
        node->memory_samples++;
    }
    tt_footprints_book(recorder, frame->node, &sample->memory);
}

#endif
