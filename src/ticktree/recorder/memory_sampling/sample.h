/* CPU time and memory of a call, on demand and sampled: each costs system calls. */
#ifndef TICKTREE_SAMPLE_H
#define TICKTREE_SAMPLE_H

#include "peaks.h"

/* -- footprints: what the calls of a node needed of a memory; separate from the node, since few nodes are measured ---- */

static tt_footprint *tt_footprint_make(tt_recorder *recorder, tt_ref node, uint32_t memory)
{
    tt_header *header = recorder->header;
    if (header->footprint_count >= TT_FOOTPRINT_CAP) return NULL;
    const char *name = memory ? tt_peaks.names[memory - 1] : NULL;
    tt_ref device = name ? tt_store_text(recorder, name, (uint32_t)strlen(name)) : 0;
    tt_footprint *footprint = name && !device ? NULL : tt_allocate(recorder, sizeof *footprint);
    if (!footprint) return NULL;
    footprint->node = node;
    footprint->device = device;
    footprint->memory = memory;
    footprint->next = header->footprints;
    tt_link(recorder, &header->footprints, footprint);
    header->footprint_count++;
    return footprint;
}

/* Finds or creates a footprint; NULL past the cap. */
static tt_footprint *tt_footprint_of(tt_recorder *recorder, tt_ref node, uint32_t memory)
{
    uint64_t key = (uint64_t)memory << 32 | node, ref = tt_map_get(&recorder->footprints, key);
    if (ref) return tt_at(recorder, (tt_ref)ref);
    if (!tt_map_reserve(&recorder->footprints)) return NULL;
    tt_footprint *footprint = tt_footprint_make(recorder, node, memory);
    if (footprint) tt_map_add(&recorder->footprints, key, tt_ref_of(recorder, footprint));
    return footprint;
}

static void tt_footprint_book(tt_recorder *recorder, tt_ref node, const tt_measured_call *call, uint32_t memory)
{
    const tt_call_peak *peak = &call->peaks[memory];
    tt_footprint *footprint = tt_footprint_of(recorder, node, memory);
    if (!footprint) {
        tt_lose(recorder, TT_LOSS_MEMORY);
        return;
    }
    tt_write_begin(&footprint->sequence);
    footprint->samples++;
    footprint->change += (int64_t)(tt_peaks.now[memory] - peak->entry);
    if (peak->min_peak > footprint->peak) footprint->peak = peak->min_peak;
    if (peak->max_peak > footprint->peak_bound) footprint->peak_bound = peak->max_peak;
    if (peak->min_peak - peak->entry > footprint->growth) footprint->growth = peak->min_peak - peak->entry;
    if (peak->max_peak - peak->entry > footprint->growth_bound) footprint->growth_bound = peak->max_peak - peak->entry;
    tt_write_end(&footprint->sequence);
}

/* Books all memories of a call that has just ended, except devices that held nothing. */
static void tt_footprints_book(tt_recorder *recorder, tt_ref node, const tt_measured_call *call)
{
    if (call->has_resident) tt_footprint_book(recorder, node, call, TT_RESIDENT);
    for (uint32_t device = 1; device <= tt_peaks.devices; device++)
        if (call->has_devices && call->peaks[device].min_peak) tt_footprint_book(recorder, node, call, device);
}

static void tt_footprints_reset(tt_recorder *recorder)
{
    for (tt_ref ref = recorder->header->footprints; ref;) {
        tt_footprint *footprint = tt_at(recorder, ref);
        tt_write_begin(&footprint->sequence);
        footprint->samples = 0;
        footprint->change = 0;
        footprint->peak = footprint->peak_bound = footprint->growth = footprint->growth_bound = 0;
        tt_write_end(&footprint->sequence);
        ref = footprint->next;
    }
}

/* -- samples ------------------------------------------------------------------------------------------------------ */

#define TT_SAMPLE_ALL_FIRST 64u
#define TT_SAMPLE_EVERY 16u

static uint64_t tt_thread_cpu_ns(void) { return tt_clock_ns(CLOCK_THREAD_CPUTIME_ID); }

/* Samples every call at first, then one in sixteen: the number of samples is shown with the figure. */
static uint32_t tt_sample_due(const tt_node *node, uint32_t flags)
{
    uint64_t calls = node->stats.count;
    return calls < TT_SAMPLE_ALL_FIRST || calls % TT_SAMPLE_EVERY == 0 ? flags : 0;
}

/* Called before anything else when a call of a section that measures memory begins or ends. It may run any code; 0:
 * recording was stopped meanwhile. It assumes that the next call of a section is at the node of the last: otherwise it
 * reads too much, or the call's devices are not measured. */
static TT_NOINLINE int tt_sample_prepare(const tt_section *section)
{
    const tt_recorder *recorder = section->recorder;
    tt_ref node = recorder->forked ? 0 : section->cached_node;
    int is_due = !node || tt_peaks.count || tt_sample_due(tt_node_at(recorder, node), 1);
    if (is_due) tt_update_devices();
    else tt_peaks.has_read_devices = 0;
    return recorder->recording;
}

static void tt_sample_done(void) { tt_peaks.has_read_devices = 0; }

/* Returns whether the call is sampled: then time has passed that is not the call's. */
static TT_NOINLINE int tt_sample_enter(tt_recorder *recorder, tt_frame *frame, uint32_t flags)
{
    uint32_t sampled = tt_sample_due(tt_node_at(recorder, frame->node), flags);
    frame->flags |= sampled;
    if (sampled & TT_FRAME_MEMORY) frame->measured = tt_measured_begin(recorder);
    if (sampled & TT_FRAME_CPU) frame->cpu_start = tt_thread_cpu_ns();
    return sampled != 0;
}

struct tt_sample {
    uint64_t cpu_ns;
    int is_measured;
    tt_measured_call memory;
};

static const tt_sample *tt_sample_leave(const tt_frame *frame)
{
    static tt_sample sample; /* the GIL is held until it is booked */
    sample.cpu_ns = frame->flags & TT_FRAME_CPU ? tt_thread_cpu_ns() - frame->cpu_start : 0;
    sample.is_measured = frame->flags & TT_FRAME_MEMORY && tt_measured_end(frame->measured, &sample.memory);
    return &sample;
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
    const tt_call_peak *resident = &sample->memory.peaks[TT_RESIDENT];
    if (sample->memory.has_resident) {
        node->memory_change += (int64_t)(tt_peaks.now[TT_RESIDENT] - resident->entry);
        if (resident->min_peak > node->memory_peak) node->memory_peak = resident->min_peak;
        node->memory_samples++;
    }
    tt_footprints_book(recorder, frame->node, &sample->memory);
}

#endif
