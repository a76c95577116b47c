/* What a tick adds to its loop: its budget, its jitter, the worst of them and why, and when the warm-up is over. */
#include "hot.h"

#include <math.h>
#include <sys/resource.h>

#define TT_CAUSES_FROM_NS 100000u /* shorter ticks are not worth the system call that tells their causes */

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

static inline void tt_causes_add(tt_causes *sums, const tt_worst_tick *causes)
{
    sums->gc_ticks += causes->gc_ticks; /* known of every tick: of only those of which the rest is, it would be too much */
    if (!causes->causes_known) return;
    sums->ticks++;
    sums->voluntary_switches += causes->voluntary_switches;
    sums->involuntary_switches += causes->involuntary_switches;
    sums->minor_faults += causes->minor_faults;
    sums->major_faults += causes->major_faults;
}

void tt_octaves_clear(tt_recorder *recorder, const tt_ref *octaves)
{
    for (unsigned at = 0; at < TT_OCTAVES; at++)
        if (octaves[at]) memset(tt_at(recorder, octaves[at]), 0, sizeof(tt_octave));
}

/* The steady phase begins again; the first ticks stay the first. */
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

/* What happened to this thread before a tick is no cause of it: read where ticks are long enough to tell. */
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

/* -- the first ticks: 64 for readers of the run; 256 in 64 bins of 1, 2 or 4, for the end of the warm-up ---------- */

static unsigned tt_bin_width(uint64_t tick)
{
    return tick < TT_BINS ? 1 : tick < 2 * TT_BINS ? 2 : 4;
}

static void tt_bins_fold(uint64_t *bins)
{
    for (unsigned at = 0; at < TT_BINS / 2; at++) bins[at] = bins[2 * at] + bins[2 * at + 1];
}

static void tt_bin_add(uint64_t *bins, uint64_t tick, unsigned width, uint64_t amount)
{
    uint64_t *bin = &bins[tick / width];
    *bin = tick % width ? *bin + amount : amount;
}

static void tt_book_first(tt_recorder *recorder, tt_loop *loop, tt_loop_sums *sums, uint64_t duration, uint64_t waited)
{
    uint64_t tick = loop->ticks;
    if (tick >= TT_WARMUP_MOST) return;
    if (!tick && recorder->clock != TT_CLOCK_VIRTUAL) loop->first_wall_ns = tt_clock_ns(CLOCK_REALTIME);
    if (loop->first_count < TT_FIRST_TICKS) loop->first[loop->first_count++] = duration;
    unsigned width = tt_bin_width(tick);
    if (tick && tt_bin_width(tick - 1) != width) {
        tt_bins_fold(sums->bins);
        tt_bins_fold(sums->bins_waited);
    }
    tt_bin_add(sums->bins, tick, width, duration);
    tt_bin_add(sums->bins_waited, tick, width, waited);
}

/* -- the warm-up, found from a loop's own first ticks ---------------------------------------------------------------
 *
 * A warm-up has ended where the ticks not yet set aside are d slow ones and then k others that are unlike them. All of
 * them are set aside, for a statistic can be moved as a whole and single ticks cannot be taken out of it; so k is to be
 * small: from a seventh of all ticks before it on, which leaves out at most a quarter too many. Where the two parts meet
 * is where their means explain most of the scatter (the least squares of one change point: Hawkins, Fitting multiple
 * change-point models to data, Computational Statistics & Data Analysis 37(3), 2001).
 *
 * So few ticks decide only if they say so plainly. Their mean must lie below the slow ones', by Student's t at 0.02% (and
 * more ticks where neighbours are alike: by the first autocorrelation of what is left), and by half of it divided by k, a
 * tenth at least; three in four of both parts on their own side; and of what was set aside before one in ten at most as
 * short, for what was there before is no end of anything.
 *
 * Ticks that get longer are a warm-up too where there is nothing to learn from yet; but a loop that does more now and then
 * begins the same way. There k is as many as d, and 8. And single ticks: compiling and tuning for one shape after another
 * takes three or more by a whole tick, or one of the first four by ten, and none in the second half of the ticks so far.
 * More is set aside only where at least as many ticks have followed as were set aside before. */

#define TT_WARMUP_LEAST_SHARE 0.1 /* of a tick: a smaller gain is not worth it */
#define TT_WARMUP_FEW 6u          /* fewer ticks tell hardly how much ticks scatter */
#define TT_WARMUP_SINGLE 3u       /* single ticks that are no accident */
#define TT_WARMUP_FIRST 4u        /* of which one alone is an accident where it takes ... */
#define TT_WARMUP_FAR 10          /* ... so many ticks more */
#define TT_WARMUP_LONGER 8u       /* longer ticks that are no accident */

typedef struct {
    const double *x;
    unsigned from, count, width; /* the first that was not set aside; how many; of so many ticks each */
    double tick;                 /* what one takes */
} tt_bins;

typedef struct {
    unsigned size;
    double mean;
} tt_part;

/* Student's t, 99.95% on one side, within 3% from 3 degrees of freedom on. */
static double tt_student(double freedom)
{
    return 3.5 * (1 + 2.76 / freedom + 10 / (freedom * freedom));
}

/* The best place for a change. The second part's size is 0 where there is no room for one. */
static void tt_split(const tt_bins *bins, tt_part *first, tt_part *second)
{
    const double *x = bins->x + bins->from;
    unsigned n = bins->count - bins->from;
    double total = 0, sum = 0, most = 0;
    for (unsigned at = 0; at < n; at++) total += x[at];
    for (unsigned d = 1; d < n; d++) {
        unsigned k = n - d;
        sum += x[d - 1];
        if (k * bins->width < ((bins->from + d) * bins->width + 6) / 7) return;
        double apart = sum / d - (total - sum) / k, explained = apart * apart * d * k / n;
        if (explained <= most) continue;
        most = explained;
        *first = (tt_part){d, sum / d};
        *second = (tt_part){k, (total - sum) / k};
    }
}

/* The standard error of the difference of the two parts' means. */
static double tt_error(const double *x, const tt_part *first, const tt_part *second)
{
    unsigned n = first->size + second->size;
    double squares = 0, products = 0, last = 0;
    for (unsigned at = 0; at < n; at++) {
        double off = x[at] - (at < first->size ? first->mean : second->mean);
        squares += off * off;
        products += off * last;
        last = off;
    }
    double alike = squares > 0 ? fmin(fmax(products / squares, 0), 0.95) : 0;
    double parts = 1.0 / first->size + 1.0 / second->size;
    return sqrt(squares / (n - 2) * parts * (1 + alike) / (1 - alike));
}

static unsigned tt_above(const double *x, unsigned n, double bound)
{
    unsigned above = 0;
    for (unsigned at = 0; at < n; at++) above += x[at] > bound;
    return above;
}

static int tt_warmup_ended(const tt_bins *bins)
{
    tt_part first = {0, 0}, second = {0, 0};
    if (bins->count < bins->from + 3) return 0;
    tt_split(bins, &first, &second);
    unsigned d = first.size, k = second.size;
    if (!k || d + k < 3) return 0;
    const double *x = bins->x + bins->from;
    double apart = first.mean - second.mean;
    if (apart < 0 && (bins->width > 1 || k < d || k < TT_WARMUP_LONGER)) return 0;
    double shorter = fmin(first.mean, second.mean);
    double margin = fmax(TT_WARMUP_LEAST_SHARE * bins->tick, 0.5 / k * shorter);
    if (d == 1 || d + k < TT_WARMUP_FEW) margin = fmax(margin, second.mean);
    if (fabs(apart) <= margin || fabs(apart) <= tt_student(d + k - 2) * tt_error(x, &first, &second)) return 0;
    if (apart < 0)
        return 4 * tt_above(x, d, second.mean - margin) <= d && 4 * tt_above(x + d, k, first.mean + margin) >= 3 * k;
    unsigned as_short = bins->from - tt_above(bins->x, bins->from, second.mean + margin);
    return 4 * tt_above(x, d, second.mean + margin) >= 3 * d && 10 * as_short <= bins->from &&
           4 * tt_above(x + d, k, first.mean - margin / 2) <= k;
}

static int tt_singles_ended(const tt_bins *bins)
{
    unsigned half = bins->count / 2, rest = bins->count - half, far = 0, last = 0, compiled = 0;
    double mean = 0;
    if (bins->width > 1 || rest < 4) return 0;
    for (unsigned at = half; at < bins->count; at++) mean += bins->x[at] / rest;
    double bound = mean + bins->tick;
    for (unsigned at = 0; at < half; at++)
        if (bins->x[at] > bound) {
            far++;
            last = at + 1;
            compiled |= at < TT_WARMUP_FIRST && bins->x[at] > mean + TT_WARMUP_FAR * bins->tick;
        }
    return (compiled || far >= TT_WARMUP_SINGLE) && last > bins->from && !tt_above(bins->x + half, rest, bound);
}

static int tt_is_look(uint64_t n)
{
    unsigned step = n < 32 ? 1 : n < 64 ? 2 : n < 128 ? 4 : 8;
    return n >= 4 && n <= TT_WARMUP_MOST && n % step == 0;
}

/* Whether all n ticks so far are warm-up: by their durations, or by their work. A loop that keeps pace, or waits for a
 * sensor, has ticks of one length however long it takes to work. */
static int tt_is_warmup(const tt_loop_sums *sums, uint64_t ticks, uint64_t aside)
{
    if (!tt_is_look(ticks) || ticks < 2 * aside) return 0;
    unsigned n = (unsigned)ticks, width = tt_bin_width(ticks - 1), count = n / width;
    double durations[TT_BINS], work[TT_BINS], tick = 0;
    int waits = 0;
    for (unsigned at = 0; at < count; at++) {
        uint64_t duration = sums->bins[at], waited = sums->bins_waited[at];
        durations[at] = (double)duration;
        work[at] = (double)(duration - (waited < duration ? waited : duration));
        waits |= waited != 0;
        if (at >= count / 2) tick += durations[at] / (count - count / 2);
    }
    tt_bins bins = {durations, ((unsigned)aside + width - 1) / width, count, width, tick};
    if (tt_warmup_ended(&bins) || tt_singles_ended(&bins)) return 1;
    bins.x = work;
    return waits && (tt_warmup_ended(&bins) || tt_singles_ended(&bins));
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

/* What a loop's record holds of the steady phase starts from nothing. */
static void tt_loop_set_aside(tt_recorder *recorder, tt_loop *loop)
{
    loop->warmup_ticks = loop->ticks;
    loop->missed = loop->miss_run = loop->longest_miss_run = 0;
    loop->late_sum = loop->late_maximum = 0;
    loop->jitter_count = loop->jitter_sum = loop->previous_plus_one = 0;
    loop->worst_count = 0;
    tt_sums_clear(recorder, tt_sums_of(recorder, loop));
}

/* Called once the next tick is there: a loop that ends with its warm-up would have no tick left. The steady phase starts
 * from nothing, that of the loops inside too. */
void tt_warmup_end_if_due(tt_recorder *recorder, tt_loop *loop)
{
    tt_loop_sums *sums = tt_sums_of(recorder, loop);
    if (!(sums->flags & TT_SUMS_DUE)) return;
    sums->flags &= ~(uint32_t)TT_SUMS_DUE;
    for (tt_node *node = tt_node_at(recorder, loop->node); node; node = tt_next_below(recorder, node, loop->node)) {
        tt_node_set_aside(recorder, node);
        if (!node->ticks) continue;
        tt_loop *inner = tt_at(recorder, node->ticks);
        tt_write_begin(&inner->sequence);
        tt_loop_set_aside(recorder, inner);
        tt_write_end(&inner->sequence);
    }
}

/* Whether a loop around this one is past its warm-up: what is set aside then would be missing in that one's steady ticks. */
static int tt_is_in_steady(const tt_recorder *recorder, const tt_node *node)
{
    while (!(node->flags & TT_NODE_ROOT)) {
        node = tt_node_at(recorder, node->parent);
        if (node->ticks && ((const tt_loop *)tt_at(recorder, node->ticks))->warmup_ticks) return 1;
    }
    return 0;
}

static void tt_warmup_look(const tt_recorder *recorder, const tt_node *node, tt_loop *loop, tt_loop_sums *sums)
{
    if (sums->flags & TT_SUMS_BY_HAND)
        sums->flags |= loop->ticks == loop->warmup_target ? TT_SUMS_DUE | TT_SUMS_WARM : 0;
    else if (tt_is_warmup(sums, loop->ticks, loop->warmup_ticks) && !tt_is_in_steady(recorder, node))
        sums->flags |= TT_SUMS_DUE;
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
        tt_book_first(recorder, loop, sums, duration, waited);
        if (tt_book_budget(recorder, loop, sums, duration - waited))
            tt_book_missed(recorder, sums, tick, node, duration, &causes);
        tt_book_jitter(recorder, loop, sums, duration);
        tt_keep_if_worst(recorder, loop, tick, node, duration, &causes);
        tt_causes_add(&sums->causes, &causes);
        sums->waited += waited;
        sums->ticks++;
        loop->ticks++;
        tt_warmup_look(recorder, node, loop, sums);
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
    tt_sums_of(recorder, loop)->flags &= ~(uint32_t)(TT_SUMS_WARM | TT_SUMS_DUE);
    tt_write_end(&loop->sequence);
}
