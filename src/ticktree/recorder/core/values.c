/* Values measured by the program: durations (record), work, gauges. */
#include "hot.h"

#include <math.h>

/* Between the node's tt_write_begin and tt_write_end. */
static inline void tt_work_add(tt_node *node, const tt_amounts *amounts)
{
    node->work_bytes += amounts->bytes;
    node->work_flops += amounts->flops;
    node->work_items += amounts->items;
}

/* Records a duration in nanoseconds and the work done in it: a call below `parent` (NULL: the stack's own parent) that
 * does not cover it. Returns its node; 0: there is none. */
tt_ref tt_record_under(tt_stack *stack, tt_frame *parent, tt_section *section, uint64_t ns, const tt_amounts *amounts)
{
    tt_recorder *recorder = section->recorder;
    tt_ref ref = tt_node_under(stack, section, parent);
    tt_node *node = ref ? tt_node_at(recorder, ref) : NULL;
    if (node) {
        tt_write_begin(&node->sequence);
        node->own += (int64_t)ns;
        node->concurrent += (int64_t)ns;
        tt_work_add(node, amounts);
        uint64_t now = tt_now(recorder), ticks = tt_ns_to_ticks(recorder, ns); /* as if it had ended now */
        tt_book(recorder, node, ns, ns, now);
        tt_write_end(&node->sequence);
        if (recorder->ring) tt_event_put(recorder, stack->lane, ref, now > ticks ? now - ticks : 0, now);
    } else tt_lose_call(recorder, section);
    return ref;
}

/* The same below the open section. */
void tt_record(tt_section *section, uint64_t ns, const tt_amounts *amounts)
{
    tt_recorder *recorder = section->recorder;
    tt_here here;
    if (!tt_arrive(recorder, &here)) return;
    tt_frame *parent = tt_frame_around(recorder, here.stack, here.pyframe);
    tt_ref ref = tt_record_under(here.stack, parent, section, ns, amounts);
    if (ref) tt_site_check(section, ref, here.pyframe);
    tt_stack_rest(here.stack);
}

/* Work done in the innermost open call of `section`, on this stack. */
void tt_work(tt_section *section, const tt_amounts *amounts)
{
    tt_recorder *recorder = section->recorder;
    tt_here here;
    if (!tt_arrive(recorder, &here)) return;
    tt_frame *frame = tt_frame_of(recorder, here.stack, section, here.pyframe);
    if (frame && frame->node) {
        tt_node *node = tt_node_at(recorder, frame->node);
        tt_write_begin(&node->sequence);
        tt_work_add(node, amounts);
        tt_write_end(&node->sequence);
    } else if (!frame) tt_lose(recorder, TT_LOSS_UNMATCHED);
    tt_stack_rest(here.stack);
}

/* The counts of a gauge's octave, created on first use. */
static uint64_t *tt_gauge_octave_counts(tt_recorder *recorder, tt_gauge *gauge, int octave, int sign)
{
    tt_gauge_octave *entry = gauge->octaves, *end = entry + gauge->octave_count;
    while (entry < end && (entry->octave != octave || entry->sign != sign)) entry++;
    if (entry < end) return ((tt_octave *)tt_at(recorder, entry->counts))->counts;
    void *counts = gauge->octave_count < TT_GAUGE_OCTAVES ? tt_allocate(recorder, sizeof(tt_octave)) : NULL;
    if (!counts) return NULL;
    *entry = (tt_gauge_octave){(int16_t)octave, (int16_t)sign, tt_ref_of(recorder, counts)};
    gauge->octave_count++;
    return counts;
}

/* Counts a value in the same buckets as durations: frexp's mantissa, as 64 bits, is the value shifted left. */
static void tt_gauge_count(tt_recorder *recorder, tt_gauge *gauge, double value)
{
    int exponent;
    double mantissa = frexp(fabs(value), &exponent);
    unsigned sub = tt_sub_bucket((uint64_t)ldexp(mantissa, 64));
    uint64_t *counts = tt_gauge_octave_counts(recorder, gauge, exponent - 1, value < 0 ? -1 : 1);
    if (counts) counts[sub]++;
    else tt_lose(recorder, TT_LOSS_GAUGE_BUCKETS);
}

static tt_gauge_window tt_gauge_windows_merge(tt_gauge_window a, tt_gauge_window b)
{
    if (!a.count || !b.count) return a.count ? a : b;
    return (tt_gauge_window){a.count + b.count, fmin(a.minimum, b.minimum), fmax(a.maximum, b.maximum)};
}

static void tt_gauge_window_put(tt_recorder *recorder, tt_gauge *gauge, double value)
{
    uint64_t now = tt_now(recorder);
    if (now >= recorder->window_end) tt_window_advance(recorder, now);
    for (; gauge->window_shift < recorder->window_shift; gauge->window_shift++) {
        tt_gauge_window *windows = gauge->windows;
        for (unsigned i = 0; i < TT_WINDOWS / 2; i++)
            windows[i] = tt_gauge_windows_merge(windows[2 * i], windows[2 * i + 1]);
        memset(&windows[TT_WINDOWS / 2], 0, TT_WINDOWS / 2 * sizeof *windows);
    }
    tt_gauge_window *window = &gauge->windows[recorder->window_index];
    *window = tt_gauge_windows_merge(*window, (tt_gauge_window){1, value, value});
}

tt_gauge *tt_gauge_make(tt_recorder *recorder, uint32_t name_id)
{
    tt_ref name = name_id == TT_NAMELESS ? 0 : tt_name_ref(recorder, name_id);
    tt_gauge *gauge = name ? tt_allocate(recorder, sizeof *gauge) : NULL;
    if (!gauge) return NULL;
    gauge->name = name;
    gauge->minimum = INFINITY;
    gauge->maximum = -INFINITY;
    gauge->window_shift = recorder->window_shift;
    TT_PREPEND(recorder, &recorder->header->gauges, gauge);
    return gauge;
}

void tt_gauge_set(tt_recorder *recorder, tt_gauge *gauge, double value)
{
    tt_write_begin(&gauge->sequence);
    gauge->last = value;
    gauge->last_wall_ns = tt_now_ns(recorder, CLOCK_REALTIME);
    gauge->count++;
    if (value < gauge->minimum) gauge->minimum = value;
    if (value > gauge->maximum) gauge->maximum = value;
    if (value == 0) gauge->zeros++;
    else tt_gauge_count(recorder, gauge, value);
    tt_gauge_window_put(recorder, gauge, value);
    tt_write_end(&gauge->sequence);
}
