/* What the calls of a node needed of each memory: kept apart from the node, since few nodes are measured. */
#ifndef TICKTREE_FOOTPRINT_H
#define TICKTREE_FOOTPRINT_H

#include "peaks.h"

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

#endif
