/* A description of a memory file for its readers: the records of layout.h, field by field, and its constants. */
#ifndef TICKTREE_DESCRIPTION_H
#define TICKTREE_DESCRIPTION_H

#include <string.h>
#include <sys/types.h>

#include "layout.h"

/* One field that readers see; fields without a description are private to the process. The native module exports the
 * descriptions (native/copying.pxi), and run/reading/layout.py builds its types from them. */
typedef struct {
    const char *record, *field, *kind; /* kind: a number's letter and size, or the name of a record */
    uint32_t record_bytes, offset, bytes; /* bytes: of all items of an array */
} tt_field;

/* The kind of a field, or of the items of an array field. */
#define TT_KIND(member)                                                                                            \
    _Generic((member), uint32_t: "u4", uint32_t *: "u4", uint64_t: "u8", uint64_t *: "u8", int64_t: "i8",           \
        int16_t: "i2", double: "f8", char *: "S1", tt_anchor: "anchor", tt_stats: "stats", tt_window *: "window",    \
        tt_share *: "share", tt_worst_row *: "worst_row", tt_worst_tick *: "worst_tick", tt_causes: "causes",        \
        tt_gauge_octave *: "gauge_octave", tt_gauge_window *: "gauge_window")
#define TT_FIELD(record, field)                                                                                    \
    {#record, #field, TT_KIND(((tt_##record *)0)->field), sizeof(tt_##record), offsetof(tt_##record, field),        \
     sizeof(((tt_##record *)0)->field)},

/* TT_FIELD of each field of a record: the preprocessor expands TT_NEXT once per scan, and TT_SCAN scans 64 times. */
#define TT_SCAN(...) TT_SCAN_16(TT_SCAN_16(TT_SCAN_16(TT_SCAN_16(__VA_ARGS__))))
#define TT_SCAN_16(...) TT_SCAN_4(TT_SCAN_4(TT_SCAN_4(TT_SCAN_4(__VA_ARGS__))))
#define TT_SCAN_4(...) TT_SCAN_1(TT_SCAN_1(TT_SCAN_1(TT_SCAN_1(__VA_ARGS__))))
#define TT_SCAN_1(...) __VA_ARGS__
#define TT_PARENTHESES ()
#define TT_NEXT(record, field, ...) TT_FIELD(record, field) __VA_OPT__(TT_AGAIN TT_PARENTHESES (record, __VA_ARGS__))
#define TT_AGAIN() TT_NEXT
#define TT_RECORD(...) TT_SCAN(TT_NEXT(__VA_ARGS__))

static const tt_field tt_fields[] = {
    TT_RECORD(anchor, ticks, monotonic_ns, wall_ns)
    TT_RECORD(header, magic, format, layout, header_bytes, clock_kind, flags, node_cap, used_bytes, backed_bytes, pid,
        process_start, boot_id, parent_pid, parent_start, parent_node, anchor_sequence, first, last, run_began_ns,
        ns_per_tick, inner_cost, outer_cost, gc_ticks, gc_pauses, times_enabled, nodes, frames, trees, loops, gauges,
        node_count, losses, incarnation, parent_incarnation, process_name, role, edges, edge_count, footprints,
        footprint_count, ring, lanes, lane_count)
    TT_RECORD(stats, count, sum, minimum, maximum)
    TT_RECORD(window, count, sum)
    TT_RECORD(node, sequence, flags, own, concurrent, stats, window_shift, tree, tick_epoch, tick_sum, parent, name,
        first_child, sibling, next, loop, site_file, site_function, site_line, cpu_samples, memory_samples, ticks,
        cpu_ns, cpu_wall, memory_change, memory_peak, work_bytes, work_flops, work_items, raised, warmup, depth,
        marked_own, marked_count, octaves, warmup_octaves, windows)
    TT_RECORD(frame, serial, parent_serial, start, covered, cover_start, epoch, node, parent, last_child, active, flags,
        next, tick, lane, waited, wait_start, waits_open, wait_tick, wait_serial)
    TT_RECORD(tree, root, next, spawn_node, alive, thread_id, adoptions, thread_name, role, path)
    TT_RECORD(event, start, end, node, lane)
    TT_RECORD(ring, begun, done, forgotten, capacity)
    TT_RECORD(lane, next, number, thread_id, thread_name)
    TT_RECORD(share, start, pid, incarnation, node, ns)
    TT_RECORD(path, sequence, tree, mark_ticks, mark_ns, signals, unblocks, count, shares)
    TT_RECORD(edge, sequence, node, next, channel, start, pid, incarnation, by_node, count, waited_ns, latency_ns)
    TT_RECORD(footprint, sequence, node, next, device, samples, change, peak, peak_bound, growth, growth_bound)
    TT_RECORD(worst_row, node, sum)
    TT_RECORD(worst_tick, duration, tick, start, gc_ticks, voluntary_switches, involuntary_switches, minor_faults,
        major_faults, causes_known, row_count, rows)
    TT_RECORD(causes, ticks, gc_ticks, voluntary_switches, involuntary_switches, minor_faults, major_faults)
    TT_RECORD(missed_rows, next, rows)
    TT_RECORD(loop_sums, flags, missed_rows, ticks, waited, missed, missed_sum, causes, missed_causes, late_octaves,
        jitter_octaves, bins, bins_waited)
    TT_RECORD(loop, sequence, node, next, sums, hz, other_hz, budget_ticks, ticks, incomplete, busy, warmup_ticks,
        warmup_target, missed, miss_run, longest_miss_run, late_sum, late_maximum, jitter_count, jitter_sum,
        previous_plus_one, first_wall_ns, first_count, first, boundary_gc_ticks, boundary_known, boundary_voluntary,
        boundary_involuntary, boundary_minor, boundary_major, worst_count, worst)
    TT_RECORD(gauge_octave, octave, sign, counts)
    TT_RECORD(gauge_window, count, minimum, maximum)
    TT_RECORD(gauge, sequence, name, next, octave_count, last, minimum, maximum, last_wall_ns, count, zeros,
        window_shift, octaves, windows)
    {NULL, NULL, NULL, 0, 0, 0}
};

typedef struct {
    const char *name;
    uint64_t value;
} tt_constant;

#define C(name) {#name, TT_##name}
static const tt_constant tt_constants[] = {
    C(MAGIC), C(FORMAT), C(LINE), C(HEADER_BYTES), C(OCTAVES), C(SUB_BUCKETS), C(WINDOWS), C(WINDOW_NS),
    C(FIRST_TICKS), C(SHARES), C(HEADER_PRIVATE), C(HEADER_RECORDING), C(HEADER_WAITED), C(NODE_WAIT), C(NODE_NS),
    C(NODE_ROOT), C(NODE_LOOP), C(NODE_PHASED), C(NODE_MANY_SITES), C(NODE_DEVICE), C(NODE_TIMED),
    C(NODE_ON_DEVICE), C(NODE_REMOTE), C(NODE_DEVICE_KNOWN), C(NODE_NO_LIBRARY), C(NODE_NO_DEVICE),
    C(NODE_NO_DEVICE_CLOCK), C(NODE_ONLY_HOST), C(NODE_IN_GRAPH),
    {NULL, 0}
};
#undef C

/* A checksum (FNV-1a) of the descriptions: builds with different record layouts have different checksums. */
static inline uint32_t tt_layout_sum(void)
{
    uint32_t sum = 2166136261u;
    for (const tt_field *field = tt_fields; field->record; field++) {
        const uint32_t sizes[] = {field->record_bytes, field->offset, field->bytes};
        for (const char *letter = field->field; *letter; letter++) sum = (sum ^ (unsigned char)*letter) * 16777619u;
        for (unsigned size = 0; size < 3; size++) sum = (sum ^ sizes[size]) * 16777619u;
    }
    return sum;
}

/* Copies parts of a record once, for a reader; 1: its sequence number was even, and the same before and after. */
static inline int tt_copy_once(const uint8_t *source, uint8_t *target, ssize_t sequence_at, const ssize_t *starts,
                               const ssize_t *sizes, ssize_t count)
{
    const uint32_t *sequence = (const uint32_t *)(source + sequence_at);
    uint32_t before = __atomic_load_n(sequence, __ATOMIC_ACQUIRE);
    for (ssize_t part = 0; part < count; part++) memcpy(target + starts[part], source + starts[part], (size_t)sizes[part]);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return !(before & 1) && __atomic_load_n(sequence, __ATOMIC_RELAXED) == before;
}

#endif
