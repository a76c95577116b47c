/* CPU time and memory of a call, on demand and sampled: each costs system calls. */
#ifndef TICKTREE_SAMPLE_H
#define TICKTREE_SAMPLE_H

#include "peaks.h"

/* -- what the calls of a node needed of each memory: kept apart from the node, since few nodes are measured ---------- */

static tt_footprint *tt_footprint_make(tt_recorder *recorder, tt_ref node, uint32_t memory)
{
    tt_header *header = recorder->header;
    if (header->footprint_count >= TT_FOOTPRINT_CAP) return NULL;
    const char *name = memory ? tt_peaks.names[memory - 1] : NULL;
    tt_ref device = name ? tt_store_text(recorder, name, (uint32_t)strlen(name)) : 0;
    tt_footprint *made = name && !device ? NULL : tt_allocate(recorder, sizeof *made);
    if (!made) return NULL;
    made->node = node;
    made->device = device;
    made->memory = memory;
    made->next = header->footprints;
    tt_link(recorder, &header->footprints, made);
    header->footprint_count++;
    return made;
}

/* Made at need; NULL past the cap. */
static tt_footprint *tt_footprint_of(tt_recorder *recorder, tt_ref node, uint32_t memory)
{
    uint64_t key = (uint64_t)memory << 32 | node, ref = tt_map_get(&recorder->footprints, key);
    if (ref) return tt_at(recorder, (tt_ref)ref);
    if (!tt_map_reserve(&recorder->footprints)) return NULL;
    tt_footprint *made = tt_footprint_make(recorder, node, memory);
    if (made) tt_map_add(&recorder->footprints, key, tt_ref_of(recorder, made));
    return made;
}

static void tt_footprint_book(tt_recorder *recorder, tt_ref node, const tt_measured *call, uint32_t memory)
{
    const tt_mark *mark = &call->marks[memory];
    tt_footprint *print = tt_footprint_of(recorder, node, memory);
    if (!print) {
        tt_lose(recorder, TT_LOSS_MEMORY);
        return;
    }
    tt_write_begin(&print->sequence);
    print->samples++;
    print->change += (int64_t)(tt_peaks.now[memory] - mark->entry);
    if (mark->least > print->peak) print->peak = mark->least;
    if (mark->most > print->peak_bound) print->peak_bound = mark->most;
    if (mark->least - mark->entry > print->growth) print->growth = mark->least - mark->entry;
    if (mark->most - mark->entry > print->growth_bound) print->growth_bound = mark->most - mark->entry;
    tt_write_end(&print->sequence);
}

/* Books all that was measured of a call that has just ended. A device that held nothing is no part of it. */
static void tt_footprints_book(tt_recorder *recorder, tt_ref node, const tt_measured *call)
{
    if (call->resident_known) tt_footprint_book(recorder, node, call, TT_RESIDENT);
    for (uint32_t device = 1; device <= tt_peaks.devices; device++)
        if (call->devices_known && call->marks[device].least) tt_footprint_book(recorder, node, call, device);
}

static void tt_footprints_reset(tt_recorder *recorder)
{
    for (tt_ref ref = recorder->header->footprints; ref;) {
        tt_footprint *print = tt_at(recorder, ref);
        tt_write_begin(&print->sequence);
        print->samples = 0;
        print->change = 0;
        print->peak = print->peak_bound = print->growth = print->growth_bound = 0;
        tt_write_end(&print->sequence);
        ref = print->next;
    }
}

/* -- samples ------------------------------------------------------------------------------------------------------ */

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
