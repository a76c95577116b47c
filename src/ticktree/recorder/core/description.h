/* What readers know of a memory file: the records of layout.h, field by field, and its constants. */
#ifndef TICKTREE_DESCRIPTION_H
#define TICKTREE_DESCRIPTION_H

#include "layout.h"

/* All that a reader knows of the records: fields that are not here are private to the process. The native module exports
 * it (native/copying.pxi), and run/reading/layout.py makes its types of it. */
typedef struct {
    const char *record, *field, *kind; /* kind: of a number its letter and size, else the name of a record */
    uint32_t record_bytes, offset, bytes; /* bytes: of all items of an array */
} tt_field;

/* The same for a field and for an array of such. */
#define TT_KIND(member)                                                                                            \
    _Generic((member), uint32_t: "u4", uint32_t *: "u4", uint64_t: "u8", uint64_t *: "u8", int64_t: "i8",           \
        int16_t: "i2", double: "f8", char *: "S1", tt_anchor: "anchor", tt_stats: "stats", tt_window *: "window",    \
        tt_share *: "share", tt_worst_row *: "worst_row", tt_worst_tick *: "worst_tick", tt_causes: "causes",        \
        tt_gauge_octave *: "gauge_octave", tt_gauge_window *: "gauge_window")
#define TT_FIELD_OF(record, type, field)                                                                           \
    {#record, #field, TT_KIND(((type *)0)->field), sizeof(type), offsetof(type, field), sizeof(((type *)0)->field)}
#define TT_JOINED(record, field) TT_FIELD_OF(record, tt_##record, field)
#define TT_NAMED(record, field) TT_JOINED(record, field)
#define F(field) TT_NAMED(R, field)
static const tt_field tt_fields[] = {
#define R anchor
    F(ticks), F(monotonic_ns), F(wall_ns),
#undef R
#define R header
    F(magic), F(format), F(layout), F(header_bytes), F(clock_kind), F(flags), F(node_cap), F(used_bytes),
    F(backed_bytes), F(pid), F(process_start), F(boot_id), F(parent_pid), F(parent_start), F(parent_node),
    F(anchor_sequence), F(first), F(last), F(run_began_ns), F(ns_per_tick), F(inner_cost), F(outer_cost),
    F(gc_ticks), F(gc_pauses), F(times_enabled), F(nodes), F(frames), F(trees), F(loops), F(gauges), F(node_count),
    F(losses), F(incarnation), F(parent_incarnation), F(process_name), F(role), F(edges), F(edge_count),
    F(footprints), F(footprint_count), F(ring), F(lanes), F(lane_count),
#undef R
#define R stats
    F(count), F(sum), F(minimum), F(maximum),
#undef R
#define R window
    F(count), F(sum),
#undef R
#define R node
    F(sequence), F(flags), F(own), F(concurrent), F(stats), F(window_shift), F(tree), F(tick_epoch), F(tick_sum),
    F(parent), F(name), F(first_child), F(sibling), F(next), F(loop), F(site_file), F(site_function), F(site_line),
    F(cpu_samples), F(memory_samples), F(ticks), F(cpu_ns), F(cpu_wall), F(memory_change), F(memory_peak),
    F(work_bytes), F(work_flops), F(work_items), F(raised), F(warmup), F(depth), F(marked_own), F(marked_count),
    F(octaves), F(warmup_octaves), F(windows),
#undef R
#define R frame
    F(serial), F(parent_serial), F(start), F(covered), F(cover_start), F(epoch), F(node), F(parent), F(last_child),
    F(active), F(flags), F(next), F(tick), F(lane), F(waited), F(wait_start), F(waits_open), F(wait_tick),
    F(wait_serial),
#undef R
#define R tree
    F(root), F(next), F(spawn_node), F(alive), F(thread_id), F(adoptions), F(thread_name), F(role), F(path),
#undef R
#define R event
    F(start), F(end), F(node), F(lane),
#undef R
#define R ring
    F(begun), F(done), F(forgotten), F(capacity),
#undef R
#define R lane
    F(next), F(number), F(thread_id), F(thread_name),
#undef R
#define R share
    F(start), F(pid), F(incarnation), F(node), F(ns),
#undef R
#define R path
    F(sequence), F(tree), F(mark_ticks), F(mark_ns), F(signals), F(unblocks), F(count), F(shares),
#undef R
#define R edge
    F(sequence), F(node), F(next), F(channel), F(start), F(pid), F(incarnation), F(by_node), F(count), F(waited_ns),
    F(handover_ns),
#undef R
#define R footprint
    F(sequence), F(node), F(next), F(device), F(samples), F(change), F(peak), F(peak_bound), F(growth),
    F(growth_bound),
#undef R
#define R worst_row
    F(node), F(sum),
#undef R
#define R worst_tick
    F(duration), F(tick), F(start), F(gc_ticks), F(voluntary_switches), F(involuntary_switches), F(minor_faults),
    F(major_faults), F(causes_known), F(row_count), F(rows),
#undef R
#define R causes
    F(ticks), F(gc_ticks), F(voluntary_switches), F(involuntary_switches), F(minor_faults), F(major_faults),
#undef R
#define R missed_rows
    F(next), F(rows),
#undef R
#define R loop_sums
    F(flags), F(missed_rows), F(ticks), F(waited), F(missed), F(missed_sum), F(causes), F(missed_causes),
    F(late_octaves), F(jitter_octaves), F(bins), F(bins_waited),
#undef R
#define R loop
    F(sequence), F(node), F(next), F(sums), F(hz), F(other_hz), F(budget_ticks), F(ticks), F(incomplete), F(busy),
    F(warmup_ticks), F(warmup_target), F(missed), F(miss_run), F(longest_miss_run), F(late_sum), F(late_maximum),
    F(jitter_count), F(jitter_sum), F(previous_plus_one), F(first_wall_ns), F(first_count), F(first),
    F(boundary_gc_ticks), F(boundary_known), F(boundary_voluntary), F(boundary_involuntary), F(boundary_minor),
    F(boundary_major), F(worst_count), F(worst),
#undef R
#define R gauge_octave
    F(octave), F(sign), F(counts),
#undef R
#define R gauge_window
    F(count), F(minimum), F(maximum),
#undef R
#define R gauge
    F(sequence), F(name), F(next), F(octave_count), F(last), F(minimum), F(maximum), F(last_wall_ns), F(count),
    F(zeros), F(window_shift), F(octaves), F(windows),
#undef R
    {NULL, NULL, NULL, 0, 0, 0}
};
#undef F

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

/* A checksum (FNV-1a) of all of it: two builds whose records lie differently have different ones. */
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

#endif
