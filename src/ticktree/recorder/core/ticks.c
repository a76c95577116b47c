/* What a tick adds to its loop: its budget, its jitter, the worst of them and why, and when the warm-up is over. */
#include "hot.h"

#include <math.h>
#include <sys/resource.h>

#define TT_CAUSES_FROM_NS 100000u /* shorter ticks are not worth the system call that tells their causes */

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

tt_loop *tt_loop_of(tt_recorder *recorder, tt_ref node_ref)
{
    tt_node *node = tt_node_at(recorder, node_ref);
    if (node->ticks) return tt_at(recorder, node->ticks);
    tt_loop_sums *sums = tt_allocate(recorder, sizeof *sums);
    tt_loop *loop = sums ? tt_allocate(recorder, sizeof *loop) : NULL;
    if (!loop) return NULL;
    loop->node = node_ref;
    loop->sums = tt_ref_of(recorder, sums);
    loop->next = recorder->header->loops;
    tt_link(recorder, &recorder->header->loops, loop);
    node->flags |= TT_NODE_LOOP;
    node->ticks = tt_ref_of(recorder, loop);
    return loop;
}

void tt_loop_ask(tt_recorder *recorder, tt_loop *loop, double hz, uint64_t warmup)
{
    if (hz > 0 && loop->hz == 0) {
        loop->hz = hz;
        loop->budget_ticks = tt_ns_to_ticks(recorder, (uint64_t)(1e9 / hz + 0.5));
    } else if (hz > 0 && loop->hz != hz) {
        loop->other_hz = hz;
        loop->budget_ticks = 0;
    }
    if (warmup == TT_WARMUP_FOUND) return;
    tt_loop_sums *sums = tt_sums_of(recorder, loop);
    sums->flags |= TT_SUMS_BY_HAND;
    if (warmup > loop->warmup_asked && !(sums->flags & TT_SUMS_WARM)) loop->warmup_asked = warmup;
}

static void tt_breakdown_add(tt_worst_tick *worst, tt_ref node, uint64_t sum)
{
    if (worst->row_count < TT_WORST_ROWS) {
        worst->rows[worst->row_count++] = (tt_worst_row){node, 0, sum};
        return;
    }
    tt_worst_row *least = worst->rows;
    for (unsigned at = 1; at < TT_WORST_ROWS; at++)
        if (worst->rows[at].sum < least->sum) least = &worst->rows[at];
    if (sum > least->sum) *least = (tt_worst_row){node, 0, sum};
}

/* Visits the nodes below `top` in this thread's tree, without recursion: trees may be thousands deep. */
static tt_node *tt_next_below(tt_recorder *recorder, tt_node *node, tt_ref top)
{
    if (node->first_child) return tt_node_at(recorder, node->first_child);
    while (tt_ref_of(recorder, node) != top && !node->sibling) node = tt_node_at(recorder, node->parent);
    return tt_ref_of(recorder, node) == top ? NULL : tt_node_at(recorder, node->sibling);
}

static void tt_breakdown(tt_recorder *recorder, tt_worst_tick *worst, tt_node *top, uint64_t epoch)
{
    tt_ref top_ref = tt_ref_of(recorder, top);
    for (tt_node *node = tt_next_below(recorder, top, top_ref); node; node = tt_next_below(recorder, node, top_ref))
        if (node->tick_epoch == epoch) tt_breakdown_add(worst, tt_ref_of(recorder, node), node->tick_sum);
}

static tt_worst_tick *tt_worst_place(tt_loop *loop, uint64_t duration)
{
    if (loop->worst_count < TT_WORST_TICKS) return &loop->worst[loop->worst_count++];
    tt_worst_tick *least = loop->worst;
    for (unsigned at = 1; at < TT_WORST_TICKS; at++) {
        tt_worst_tick *worst = &loop->worst[at];
        if (worst->duration < least->duration || (worst->duration == least->duration && worst->tick > least->tick))
            least = worst;
    }
    return duration > least->duration ? least : NULL;
}

#if defined(RUSAGE_THREAD)
static void tt_boundary_note(tt_loop *loop, const struct rusage *usage)
{
    loop->boundary_voluntary = (uint32_t)usage->ru_nvcsw;
    loop->boundary_involuntary = (uint32_t)usage->ru_nivcsw;
    loop->boundary_minor = (uint32_t)usage->ru_minflt;
    loop->boundary_major = (uint32_t)usage->ru_majflt;
    loop->boundary_known = 1;
}
#endif

/* What happened to this thread before a tick is no cause of it: asked for where ticks are long enough to tell. */
void tt_loop_look(tt_recorder *recorder, tt_loop *loop)
{
    loop->boundary_gc_ticks = recorder->header->gc_ticks;
    loop->boundary_known = 0;
#if defined(RUSAGE_THREAD)
    struct rusage usage;
    if (tt_ticks_to_ns(recorder, loop->previous_plus_one) <= TT_CAUSES_FROM_NS) return;
    if (!getrusage(RUSAGE_THREAD, &usage)) tt_boundary_note(loop, &usage);
#endif
}

/* What the operating system and the collector did to this thread since the last boundary. */
static void tt_take_causes(tt_recorder *recorder, tt_loop *loop, tt_worst_tick *causes, uint64_t ns)
{
    *causes = (tt_worst_tick){0};
    causes->gc_ticks = recorder->header->gc_ticks - loop->boundary_gc_ticks;
    loop->boundary_gc_ticks = recorder->header->gc_ticks;
    uint32_t known = loop->boundary_known;
    loop->boundary_known = 0;
#if defined(RUSAGE_THREAD)
    struct rusage usage;
    if (ns < TT_CAUSES_FROM_NS || getrusage(RUSAGE_THREAD, &usage)) return;
    causes->causes_known = known;
    causes->voluntary_switches = (uint32_t)usage.ru_nvcsw - loop->boundary_voluntary;
    causes->involuntary_switches = (uint32_t)usage.ru_nivcsw - loop->boundary_involuntary;
    causes->minor_faults = (uint32_t)usage.ru_minflt - loop->boundary_minor;
    causes->major_faults = (uint32_t)usage.ru_majflt - loop->boundary_major;
    tt_boundary_note(loop, &usage);
#else
    (void)known;
    (void)ns;
#endif
}

static void tt_keep_if_worst(tt_recorder *recorder, tt_loop *loop, tt_frame *tick, tt_node *node, uint64_t duration,
                             const tt_worst_tick *causes)
{
    tt_worst_tick *worst = tt_worst_place(loop, duration);
    if (!worst) return;
    *worst = *causes;
    worst->duration = duration;
    worst->tick = loop->ticks;
    worst->start = tick->start;
    worst->row_count = 0;
    tt_breakdown(recorder, worst, node, tick->serial);
}

/* Where the time of a missed tick went. A tick that finds no memory for it is not counted among those known. */
static void tt_book_missed(tt_recorder *recorder, tt_loop_sums *sums, const tt_frame *tick, tt_node *top,
                           uint64_t duration, const tt_worst_tick *causes)
{
    tt_ref top_ref = tt_ref_of(recorder, top);
    tt_causes_add(&sums->missed_causes, causes);
    for (tt_node *node = tt_next_below(recorder, top, top_ref); node; node = tt_next_below(recorder, node, top_ref)) {
        if (node->tick_epoch != tick->serial) continue;
        uint64_t *sum = tt_missed_sum(recorder, &sums->missed_rows, tt_ref_of(recorder, node));
        if (!sum) {
            tt_lose(recorder, TT_LOSS_MEMORY);
            return;
        }
        *sum += node->tick_sum;
    }
    sums->missed_sum += duration;
    sums->missed++;
}

/* Whether the tick was missed. */
static int tt_book_budget(tt_recorder *recorder, tt_loop *loop, tt_loop_sums *sums, uint64_t work)
{
    if (!loop->budget_ticks) return 0;
    if (work <= loop->budget_ticks) {
        loop->miss_run = 0;
        return 0;
    }
    uint64_t late = work - loop->budget_ticks;
    loop->missed++;
    loop->late_sum += late;
    if (late > loop->late_maximum) loop->late_maximum = late;
    if (++loop->miss_run > loop->longest_miss_run) loop->longest_miss_run = loop->miss_run;
    tt_count_in(recorder, sums->late_octaves, late);
    return 1;
}

static void tt_book_jitter(tt_recorder *recorder, tt_loop *loop, tt_loop_sums *sums, uint64_t duration)
{
    uint64_t last = loop->previous_plus_one;
    loop->previous_plus_one = duration + 1;
    if (!last--) return;
    uint64_t step = duration > last ? duration - last : last - duration;
    loop->jitter_count++;
    loop->jitter_sum += step;
    tt_count_in(recorder, sums->jitter_octaves, step);
}

static void tt_book_first(tt_recorder *recorder, tt_loop *loop, uint64_t duration, uint64_t waited)
{
    if (loop->first_count >= TT_FIRST_TICKS) return;
    if (!loop->first_count && recorder->clock != TT_CLOCK_VIRTUAL) loop->first_wall_ns = tt_clock_ns(CLOCK_REALTIME);
    tt_sums_of(recorder, loop)->first_waited[loop->first_count] = waited;
    loop->first[loop->first_count++] = duration;
}

/* -- the warm-up, found from a loop's own first ticks ---------------------------------------------------------------
 *
 * Where it ends is told by MSER (White, An effective truncation heuristic for bias reduction in simulation output,
 * Simulation 69(6), 1997): of all ways to leave out the first d of n ticks, the one after which the mean of the rest is
 * known best, which is where sum((x - mean)^2) / (n - d)^2 is least, with d at most n / 2.
 *
 * Of ticks that merely scatter MSER leaves out some nearly always. So what it leaves out must also be unlike the rest:
 * outside the interval in which one more tick like those of the second half would lie with 99% (a prediction interval
 * of normal values: Hahn and Meeker, Statistical Intervals, 1991), and by 5% of a tick at least; by a whole tick where
 * two or three others are all there is to compare with. That half of the ticks left out are; or three of them by a whole
 * tick, and none since: compiling and tuning for one shape after another takes single ticks, and so many of them are no
 * accident.
 */

#define TT_WARMUP_LEAST_SHARE 0.05 /* of a tick: nobody looks for less */
#define TT_WARMUP_FEW 4u           /* fewer ticks tell hardly how much ticks scatter */
#define TT_WARMUP_SINGLE 3u        /* single ticks that are no accident */

/* After how many ticks it is looked for, a bit each: 4, 6, 8, 12, 16, 24, 32, 48, 64. */
#define TT_WARMUP_LOOKS (1ull << 3 | 1ull << 5 | 1ull << 7 | 1ull << 11 | 1ull << 15 | 1ull << 23 | 1ull << 31 | \
                         1ull << 47 | 1ull << 63)

/* Student's t, 99% on both sides together, of the second halves of so many ticks. */
static double tt_student(unsigned half)
{
    static const struct {
        unsigned half;
        double t;
    } known[] = {{2, 63.657}, {3, 9.925}, {4, 5.841}, {6, 4.032}, {8, 3.499}, {12, 3.106}, {16, 2.947}, {24, 2.807}};
    for (unsigned at = 0; at < sizeof known / sizeof *known; at++)
        if (half <= known[at].half) return known[at].t;
    return 2.744; /* 32 */
}

/* How many of the first ticks to leave out; the fewest of several ways that are as good. Sums of squares are updated
 * (Welford), so that equal ticks have none, whatever their size. */
static unsigned tt_mser(const double *x, unsigned n)
{
    double mean = 0, squares = 0, least = INFINITY;
    unsigned found = 0;
    for (unsigned kept = 1; kept <= n; kept++) {
        unsigned d = n - kept;
        double off = x[d] - mean;
        mean += off / kept;
        squares += off * (x[d] - mean);
        double error = squares / ((double)kept * kept);
        if (d <= n / 2 && error <= least) {
            least = error;
            found = d;
        }
    }
    return found;
}

/* How many of the first d of n ticks are a warm-up, being unlike the second half; `tick` is how long a tick is. Where it
 * is single ticks that are, it ends with the last of them. */
static unsigned tt_unlike(const double *x, unsigned n, unsigned d, double tick)
{
    const double *half = x + n / 2;
    unsigned size = n - n / 2, above = 0, below = 0, far = 0, last = 0;
    double mean = 0, squares = 0;
    for (unsigned at = 0; at < size; at++) {
        double off = half[at] - mean;
        mean += off / (at + 1);
        squares += off * (half[at] - mean);
    }
    double margin = tt_student(size) * sqrt(squares / (size - 1) * (1 + 1.0 / size));
    margin = fmax(margin, size < TT_WARMUP_FEW ? tick : TT_WARMUP_LEAST_SHARE * tick);
    double far_margin = fmax(margin, tick);
    for (unsigned at = 0; at < d; at++) {
        above += x[at] > mean + margin;
        below += x[at] < mean - margin;
        if (x[at] <= mean + far_margin) continue;
        far++;
        last = at + 1;
    }
    if (2 * (above > below ? above : below) >= d) return d;
    for (unsigned at = 0; at < size; at++)
        if (half[at] > mean + far_margin) return 0;
    return far >= TT_WARMUP_SINGLE ? last : 0;
}

static unsigned tt_warm_ticks(const double *x, unsigned n, double tick)
{
    unsigned d = tt_mser(x, n);
    return d ? tt_unlike(x, n, d, tick) : 0;
}

/* How many of the first n ticks are warm-up: by their durations, or by their work. A loop that keeps pace, or waits for
 * a sensor, has ticks of one length however long it takes to work. */
static unsigned tt_warmup_of(const uint64_t *durations, const uint64_t *waited, unsigned n)
{
    double x[TT_FIRST_TICKS], work[TT_FIRST_TICKS], tick = 0;
    int waits = 0;
    for (unsigned at = 0; at < n; at++) {
        x[at] = (double)durations[at];
        work[at] = (double)(durations[at] - (waited[at] < durations[at] ? waited[at] : durations[at]));
        waits |= waited[at] != 0;
        if (at >= n / 2) tick += x[at] / (n - n / 2);
    }
    unsigned by_duration = tt_warm_ticks(x, n, tick), by_work = waits ? tt_warm_ticks(work, n, tick) : 0;
    return by_duration > by_work ? by_duration : by_work;
}

/* -- the end of a tick ----------------------------------------------------------------------------------------------- */

static void tt_node_set_aside(tt_recorder *recorder, tt_node *node)
{
    tt_write_begin(&node->sequence);
    tt_stats *warm = &node->warmup;
    warm->count += node->stats.count;
    warm->sum += node->stats.sum;
    if (node->stats.minimum < warm->minimum) warm->minimum = node->stats.minimum;
    if (node->stats.maximum > warm->maximum) warm->maximum = node->stats.maximum;
    tt_stats_clear(&node->stats);
    for (unsigned octave = 0; octave < TT_OCTAVES; octave++) {
        tt_ref from = node->octaves[octave], to = node->warmup_octaves[octave];
        if (!from) continue;
        if (to) {
            uint64_t *counts = ((tt_octave *)tt_at(recorder, from))->counts;
            for (unsigned at = 0; at < TT_SUB_BUCKETS; at++) {
                ((tt_octave *)tt_at(recorder, to))->counts[at] += counts[at];
                counts[at] = 0;
            }
        } else {
            node->warmup_octaves[octave] = from;
            node->octaves[octave] = 0;
        }
    }
    node->flags |= TT_NODE_PHASED;
    tt_write_end(&node->sequence);
}

/* What a loop's record holds of the steady phase begins anew. */
static void tt_loop_set_aside(tt_recorder *recorder, tt_loop *loop)
{
    loop->warmup_ticks = loop->ticks;
    loop->missed = loop->miss_run = loop->longest_miss_run = 0;
    loop->late_sum = loop->late_maximum = 0;
    loop->jitter_count = loop->jitter_sum = loop->previous_plus_one = 0;
    loop->worst_count = 0;
    tt_sums_clear(recorder, tt_sums_of(recorder, loop));
}

/* At a tick boundary: what was counted so far was warm-up; the steady phase starts from nothing, that of the loops
 * inside too. The caller holds the loop's sequence odd. */
static void tt_warmup_end(tt_recorder *recorder, tt_loop *loop)
{
    tt_node *top = tt_node_at(recorder, loop->node);
    for (tt_node *node = top; node; node = tt_next_below(recorder, node, loop->node)) {
        tt_node_set_aside(recorder, node);
        if (!node->ticks || node == top) continue;
        tt_loop *inner = tt_at(recorder, node->ticks);
        tt_write_begin(&inner->sequence);
        tt_loop_set_aside(recorder, inner);
        tt_write_end(&inner->sequence);
    }
    tt_loop_set_aside(recorder, loop);
}

static void tt_warmup_look(tt_recorder *recorder, tt_loop *loop)
{
    tt_loop_sums *sums = tt_sums_of(recorder, loop);
    if (sums->flags & TT_SUMS_BY_HAND) {
        if (loop->ticks != loop->warmup_asked) return;
        sums->flags |= TT_SUMS_WARM;
        tt_warmup_end(recorder, loop);
    } else if (loop->ticks <= TT_FIRST_TICKS && TT_WARMUP_LOOKS >> (loop->ticks - 1) & 1) {
        if (tt_warmup_of(loop->first, sums->first_waited, (unsigned)loop->ticks) > loop->warmup_ticks)
            tt_warmup_end(recorder, loop);
    }
}

static uint64_t tt_waited(const tt_frame *tick, uint64_t duration)
{
    uint64_t open = tick->waits_open ? tick->start + duration - tick->wait_start : 0;
    return tick->waited + open < duration ? tick->waited + open : duration;
}

void tt_tick_end(tt_recorder *recorder, tt_frame *tick, tt_node *node, uint64_t duration, enum tt_ending ending)
{
    tt_loop *loop = node->ticks ? tt_at(recorder, node->ticks) : NULL;
    if (!loop || ending == TT_VOID) return;
    tt_write_begin(&loop->sequence);
    tt_worst_tick causes;
    tt_take_causes(recorder, loop, &causes, tt_ticks_to_ns(recorder, duration));
    if (ending == TT_OPEN) {
        loop->incomplete++;
        loop->previous_plus_one = 0;
    } else {
        tt_loop_sums *sums = tt_sums_of(recorder, loop);
        uint64_t waited = tt_waited(tick, duration);
        loop->busy += duration;
        tt_book_first(recorder, loop, duration, waited);
        if (tt_book_budget(recorder, loop, sums, duration - waited))
            tt_book_missed(recorder, sums, tick, node, duration, &causes);
        tt_book_jitter(recorder, loop, sums, duration);
        tt_keep_if_worst(recorder, loop, tick, node, duration, &causes);
        tt_causes_add(&sums->causes, &causes);
        sums->waited += waited;
        sums->ticks++;
        loop->ticks++;
        tt_warmup_look(recorder, loop);
    }
    tt_write_end(&loop->sequence);
}

/* All that was recorded of a loop is forgotten. */
void tt_loop_reset(tt_recorder *recorder, tt_loop *loop)
{
    tt_write_begin(&loop->sequence);
    tt_loop_set_aside(recorder, loop);
    loop->ticks = loop->incomplete = loop->busy = loop->warmup_ticks = 0;
    loop->first_count = loop->boundary_known = 0;
    loop->boundary_gc_ticks = 0;
    tt_sums_of(recorder, loop)->flags &= ~(uint32_t)TT_SUMS_WARM;
    tt_write_end(&loop->sequence);
}
