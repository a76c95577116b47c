/* What the steady ticks of a loop add up to: waits, causes, how late, and where the time of missed ticks went. */
#ifndef TICKTREE_SUMS_H
#define TICKTREE_SUMS_H

#include "histogram.h"
#include "memory.h"

#define TT_MISSED_PROBES 8u

static inline tt_loop_sums *tt_sums_of(const tt_recorder *recorder, const tt_loop *loop)
{
    return tt_at(recorder, loop->sums);
}

/* Counts a duration in a histogram; where there is no memory for it, fewer are counted there than elsewhere. */
static inline void tt_count_in(tt_recorder *recorder, tt_ref *octaves, uint64_t ticks)
{
    unsigned octave, sub;
    tt_bucket_of(tt_ticks_to_ns(recorder, ticks), &octave, &sub);
    uint64_t *counts = tt_octave_counts(recorder, &octaves[octave]);
    if (TT_LIKELY(counts != NULL)) counts[sub]++;
    else tt_lose(recorder, TT_LOSS_MEMORY);
}

/* The sum of a node in missed ticks. The refs of nodes are scattered over a table; what finds no place near its own is
 * in the next one, so that a tick costs the same however many nodes there are. NULL: no memory. */
static uint64_t *tt_missed_sum(tt_recorder *recorder, tt_ref *table_ref, tt_ref node)
{
    unsigned begin = (node * 0x9E3779B1u >> 16) % TT_MISSED_ROWS;
    for (;;) {
        if (!*table_ref) {
            void *made = tt_allocate(recorder, sizeof(tt_missed_rows));
            if (!made) return NULL;
            tt_link(recorder, table_ref, made);
        }
        tt_missed_rows *table = tt_at(recorder, *table_ref);
        for (unsigned probe = 0; probe < TT_MISSED_PROBES; probe++) {
            tt_worst_row *row = &table->rows[(begin + probe) % TT_MISSED_ROWS];
            if (!row->node) row->node = node;
            if (row->node == node) return &row->sum;
        }
        table_ref = &table->next;
    }
}

static inline void tt_causes_add(tt_causes *sums, const tt_worst_tick *causes)
{
    if (!causes->causes_known) return;
    sums->ticks++;
    sums->gc_ticks += causes->gc_ticks;
    sums->voluntary_switches += causes->voluntary_switches;
    sums->involuntary_switches += causes->involuntary_switches;
    sums->minor_faults += causes->minor_faults;
    sums->major_faults += causes->major_faults;
}

static void tt_octaves_clear(tt_recorder *recorder, const tt_ref *octaves)
{
    for (unsigned at = 0; at < TT_OCTAVES; at++)
        if (octaves[at]) memset(tt_at(recorder, octaves[at]), 0, sizeof(tt_octave));
}

/* The steady phase begins anew; the first ticks stay the first. */
static void tt_sums_clear(tt_recorder *recorder, tt_loop_sums *sums)
{
    sums->ticks = sums->waited = sums->missed = sums->missed_sum = 0;
    sums->causes = sums->missed_causes = (tt_causes){0};
    tt_octaves_clear(recorder, sums->late_octaves);
    tt_octaves_clear(recorder, sums->jitter_octaves);
    for (tt_ref ref = sums->missed_rows; ref;) {
        tt_missed_rows *table = tt_at(recorder, ref);
        for (unsigned at = 0; at < TT_MISSED_ROWS; at++) table->rows[at].sum = 0;
        ref = table->next;
    }
}

#endif
