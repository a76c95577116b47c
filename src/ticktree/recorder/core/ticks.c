/* What a tick adds to its loop: missed budgets, jitter, the worst ticks and their causes, and the end of the
 * warm-up. */
#include "hot.h"

#include <math.h>
#include <sys/resource.h>

#define TT_CAUSES_MIN_NS 100000u /* shorter ticks are not worth the system call that reads their causes */

static inline tt_loop_sums *tt_sums_of(const tt_recorder *recorder, const tt_loop *loop)
{
    return tt_at(recorder, loop->sums);
}

/* Counts a duration in a histogram; without memory, the histogram lacks it. */
static inline void tt_histogram_add(tt_recorder *recorder, tt_ref *octaves, uint64_t ticks)
{
    unsigned octave, sub;
    tt_bucket_of(tt_ticks_to_ns(recorder, ticks), &octave, &sub);
    uint64_t *counts = tt_octave_counts(recorder, &octaves[octave]);
    if (TT_LIKELY(counts != NULL)) counts[sub]++;
    else tt_lose(recorder, TT_LOSS_MEMORY);
}

static inline void tt_causes_add(tt_causes *sums, const tt_worst_tick *causes)
{
    sums->gc_ticks += causes->gc_ticks; /* known of every tick, so it is the sum over all ticks */
    if (!causes->causes_known) return;
    sums->ticks++;
    sums->voluntary_switches += causes->voluntary_switches;
    sums->involuntary_switches += causes->involuntary_switches;
    sums->minor_faults += causes->minor_faults;
    sums->major_faults += causes->major_faults;
}

void tt_octaves_clear(tt_recorder *recorder, const tt_ref *octaves)
{
    for (unsigned i = 0; i < TT_OCTAVES; i++)
        if (octaves[i]) memset(tt_at(recorder, octaves[i]), 0, sizeof(tt_octave));
}

/* Restarts the steady phase; the record of the first ticks stays. */
static void tt_sums_clear(tt_recorder *recorder, tt_loop_sums *sums)
{
    sums->ticks = sums->waited = sums->missed = sums->missed_sum = 0;
    sums->causes = sums->missed_causes = (tt_causes){0};
    tt_octaves_clear(recorder, sums->late_octaves);
    tt_octaves_clear(recorder, sums->jitter_octaves);
    tt_missed_rows *table = tt_at_or_null(recorder, sums->missed_rows);
    for (; table; table = tt_at_or_null(recorder, table->next))
        for (unsigned i = 0; i < TT_MISSED_ROWS; i++) table->rows[i].sum = 0;
}

static void tt_breakdown_add(tt_worst_tick *worst, tt_ref node, uint64_t sum)
{
    if (worst->row_count < TT_WORST_ROWS) {
        worst->rows[worst->row_count++] = (tt_worst_row){node, 0, sum};
        return;
    }
    tt_worst_row *smallest = worst->rows;
    for (unsigned i = 1; i < TT_WORST_ROWS; i++)
        if (worst->rows[i].sum < smallest->sum) smallest = &worst->rows[i];
    if (sum > smallest->sum) *smallest = (tt_worst_row){node, 0, sum};
}

/* The node after `node` among those below `top` in this thread's tree, without recursion: trees may be thousands
 * deep. */
static tt_node *tt_next_descendant(tt_recorder *recorder, tt_node *node, const tt_node *top)
{
    if (node->first_child) return tt_node_at(recorder, node->first_child);
    while (node != top && !node->sibling) node = tt_node_at(recorder, node->parent);
    return node == top ? NULL : tt_node_at(recorder, node->sibling);
}

static tt_worst_tick *tt_worst_slot(tt_loop *loop, uint64_t duration)
{
    if (loop->worst_count < TT_WORST_TICKS) return &loop->worst[loop->worst_count++];
    tt_worst_tick *mildest = loop->worst;
    for (unsigned i = 1; i < TT_WORST_TICKS; i++) {
        tt_worst_tick *worst = &loop->worst[i];
        if (worst->duration < mildest->duration || (worst->duration == mildest->duration && worst->tick > mildest->tick))
            mildest = worst;
    }
    return duration > mildest->duration ? mildest : NULL;
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

/* Reads the thread's counts where a tick begins, as events before it are not its causes; only if ticks are long
 * enough. */
void tt_loop_look(tt_recorder *recorder, tt_loop *loop)
{
    loop->boundary_gc_ticks = recorder->header->gc_ticks;
    loop->boundary_known = 0;
#if defined(RUSAGE_THREAD)
    struct rusage usage;
    if (tt_ticks_to_ns(recorder, loop->previous_plus_one) <= TT_CAUSES_MIN_NS) return;
    if (!getrusage(RUSAGE_THREAD, &usage)) tt_boundary_note(loop, &usage);
#endif
}

/* Reads what the operating system and the garbage collector did to this thread since the last boundary. */
static void tt_read_causes(tt_recorder *recorder, tt_loop *loop, tt_worst_tick *causes, uint64_t ns)
{
    *causes = (tt_worst_tick){0};
    causes->gc_ticks = recorder->header->gc_ticks - loop->boundary_gc_ticks;
    loop->boundary_gc_ticks = recorder->header->gc_ticks;
    uint32_t was_known = loop->boundary_known;
    loop->boundary_known = 0;
#if defined(RUSAGE_THREAD)
    struct rusage usage;
    if (ns < TT_CAUSES_MIN_NS || getrusage(RUSAGE_THREAD, &usage)) return;
    causes->causes_known = was_known;
    causes->voluntary_switches = (uint32_t)usage.ru_nvcsw - loop->boundary_voluntary;
    causes->involuntary_switches = (uint32_t)usage.ru_nivcsw - loop->boundary_involuntary;
    causes->minor_faults = (uint32_t)usage.ru_minflt - loop->boundary_minor;
    causes->major_faults = (uint32_t)usage.ru_majflt - loop->boundary_major;
    tt_boundary_note(loop, &usage);
#else
    (void)was_known;
    (void)ns;
#endif
}

static void tt_keep_if_worst(tt_recorder *recorder, tt_loop *loop, tt_frame *tick, tt_node *top, uint64_t duration,
                             const tt_worst_tick *causes)
{
    tt_worst_tick *worst = tt_worst_slot(loop, duration);
    if (!worst) return;
    *worst = *causes;
    worst->duration = duration;
    worst->tick = loop->ticks;
    worst->start = tick->start;
    worst->row_count = 0;
    for (tt_node *node = tt_next_descendant(recorder, top, top); node; node = tt_next_descendant(recorder, node, top))
        if (node->tick_epoch == tick->serial) tt_breakdown_add(worst, tt_ref_of(recorder, node), node->tick_sum);
}

/* Records where the time of a missed tick went. Without memory, the tick is not counted. */
static void tt_book_missed(tt_recorder *recorder, tt_loop_sums *sums, const tt_frame *tick, tt_node *top,
                           uint64_t duration, const tt_worst_tick *causes)
{
    tt_causes_add(&sums->missed_causes, causes);
    for (tt_node *node = tt_next_descendant(recorder, top, top); node; node = tt_next_descendant(recorder, node, top)) {
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
    tt_histogram_add(recorder, sums->late_octaves, late);
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
    tt_histogram_add(recorder, sums->jitter_octaves, step);
}

/* -- the first ticks: 64 for readers of the run; 256 in 64 bins of 1, 2 or 4, to find the end of the warm-up ------- */

static unsigned tt_bin_width(uint64_t tick)
{
    return tick < TT_BINS ? 1 : tick < 2 * TT_BINS ? 2 : 4;
}

static void tt_bins_fold(uint64_t *bins)
{
    for (unsigned i = 0; i < TT_BINS / 2; i++) bins[i] = bins[2 * i] + bins[2 * i + 1];
}

static void tt_bin_add(uint64_t *bins, uint64_t tick, unsigned width, uint64_t amount)
{
    uint64_t *bin = &bins[tick / width];
    *bin = tick % width ? *bin + amount : amount;
}

static void tt_book_first(tt_recorder *recorder, tt_loop *loop, tt_loop_sums *sums, uint64_t duration, uint64_t waited)
{
    uint64_t tick = loop->ticks;
    if (tick >= TT_WARMUP_MAX) return;
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

/* -- the warm-up, detected from a loop's own first ticks -------------------------------------------------------------
 *
 * A warm-up has ended if the ticks not yet set aside are d slow ones followed by k different ones. All of them are set
 * aside, because a statistic can be moved only as a whole, without separating single ticks; so k should be small: at
 * least a seventh of all ticks before it, which sets aside at most a quarter too many. The two parts meet where their
 * means explain most of the variance (the least squares of one change point: Hawkins, Fitting multiple change-point
 * models to data, Computational Statistics & Data Analysis 37(3), 2001).
 *
 * So few ticks decide only with clear evidence. Their mean must lie below that of the slow ones, by Student's t at
 * 0.02% (and with more ticks where neighbours are alike: by the first autocorrelation of the residuals), and by half of
 * it divided by k, a tenth at least; three in four of both parts must be on their own side; and at most one in ten of
 * the ticks set aside before may be as short, because a state that occurred before is not the end of a warm-up.
 *
 * Ticks that get longer are a warm-up too, if there is nothing to learn from yet; but a loop that does more now and
 * then begins the same way. For them, k must be at least d, and 8. So are single ticks: compiling and tuning for one
 * shape after another makes three or more ticks longer by a whole tick, or one of the first four by ten, and none in
 * the second half of the ticks so far. More is set aside only after at least as many ticks as were set aside before. */

#define TT_WARMUP_MIN_GAIN 0.1      /* of a tick: a smaller gain is not worth it */
#define TT_WARMUP_SMALL_SAMPLE 6u   /* fewer ticks hardly show how much ticks vary */
#define TT_WARMUP_MIN_SPIKES 3u     /* fewer single long ticks may be chance */
#define TT_WARMUP_FIRST_TICKS 4u    /* one of these alone is enough if it takes ... */
#define TT_WARMUP_COMPILE_TICKS 10  /* ... so many ticks more */
#define TT_WARMUP_MIN_LONGER 8u     /* fewer longer ticks may be chance */

typedef struct {
    const double *x;
    unsigned from, count, width; /* the first bin not set aside; the number of bins; ticks per bin */
    double tick_length;
} tt_bins;

typedef struct {
    unsigned size;
    double mean;
} tt_part;

/* Student's t, 99.95% on one side: within 3% from 3 degrees of freedom upwards. */
static double tt_student(double freedom)
{
    return 3.5 * (1 + 2.76 / freedom + 10 / (freedom * freedom));
}

/* Finds the best change point. The second part's size is 0 if there is no room for one. */
static void tt_split(const tt_bins *bins, tt_part *first, tt_part *second)
{
    const double *x = bins->x + bins->from;
    unsigned n = bins->count - bins->from;
    double total = 0, sum = 0, max_explained = 0;
    for (unsigned i = 0; i < n; i++) total += x[i];
    for (unsigned d = 1; d < n; d++) {
        unsigned k = n - d;
        sum += x[d - 1];
        if (k * bins->width < ((bins->from + d) * bins->width + 6) / 7) return;
        double difference = sum / d - (total - sum) / k, explained = difference * difference * d * k / n;
        if (explained <= max_explained) continue;
        max_explained = explained;
        *first = (tt_part){d, sum / d};
        *second = (tt_part){k, (total - sum) / k};
    }
}

/* The standard error of the difference of the two parts' means. */
static double tt_standard_error(const double *x, const tt_part *first, const tt_part *second)
{
    unsigned n = first->size + second->size;
    double squares = 0, products = 0, last = 0;
    for (unsigned i = 0; i < n; i++) {
        double residual = x[i] - (i < first->size ? first->mean : second->mean);
        squares += residual * residual;
        products += residual * last;
        last = residual;
    }
    double autocorrelation = squares > 0 ? fmin(fmax(products / squares, 0), 0.95) : 0;
    double parts = 1.0 / first->size + 1.0 / second->size;
    return sqrt(squares / (n - 2) * parts * (1 + autocorrelation) / (1 - autocorrelation));
}

static unsigned tt_count_above(const double *x, unsigned n, double bound)
{
    unsigned count = 0;
    for (unsigned i = 0; i < n; i++) count += x[i] > bound;
    return count;
}

static int tt_warmup_ended(const tt_bins *bins)
{
    tt_part first = {0, 0}, second = {0, 0};
    if (bins->count < bins->from + 3) return 0;
    tt_split(bins, &first, &second);
    unsigned d = first.size, k = second.size;
    if (!k || d + k < 3) return 0;
    const double *x = bins->x + bins->from;
    double difference = first.mean - second.mean;
    if (difference < 0 && (bins->width > 1 || k < d || k < TT_WARMUP_MIN_LONGER)) return 0;
    double shorter = fmin(first.mean, second.mean);
    double margin = fmax(TT_WARMUP_MIN_GAIN * bins->tick_length, 0.5 / k * shorter);
    if (d == 1 || d + k < TT_WARMUP_SMALL_SAMPLE) margin = fmax(margin, second.mean);
    double significant = tt_student(d + k - 2) * tt_standard_error(x, &first, &second);
    if (fabs(difference) <= margin || fabs(difference) <= significant) return 0;
    if (difference < 0)
        return 4 * tt_count_above(x, d, second.mean - margin) <= d &&
               4 * tt_count_above(x + d, k, first.mean + margin) >= 3 * k;
    unsigned short_count = bins->from - tt_count_above(bins->x, bins->from, second.mean + margin);
    return 4 * tt_count_above(x, d, second.mean + margin) >= 3 * d && 10 * short_count <= bins->from &&
           4 * tt_count_above(x + d, k, first.mean - margin / 2) <= k;
}

static int tt_spikes_ended(const tt_bins *bins)
{
    unsigned half = bins->count / 2, half_count = bins->count - half, spikes = 0, last_spike = 0, has_compiled = 0;
    double mean = 0;
    if (bins->width > 1 || half_count < 4) return 0;
    for (unsigned i = half; i < bins->count; i++) mean += bins->x[i] / half_count;
    double bound = mean + bins->tick_length;
    for (unsigned i = 0; i < half; i++)
        if (bins->x[i] > bound) {
            spikes++;
            last_spike = i + 1;
            has_compiled |= i < TT_WARMUP_FIRST_TICKS && bins->x[i] > mean + TT_WARMUP_COMPILE_TICKS * bins->tick_length;
        }
    return (has_compiled || spikes >= TT_WARMUP_MIN_SPIKES) && last_spike > bins->from &&
           !tt_count_above(bins->x + half, half_count, bound);
}

static int tt_is_check_due(uint64_t n)
{
    unsigned step = n < 32 ? 1 : n < 64 ? 2 : n < 128 ? 4 : 8;
    return n >= 4 && n <= TT_WARMUP_MAX && n % step == 0;
}

/* Whether all n ticks so far are warm-up: by their durations, or by their busy time. A loop that keeps pace, or waits
 * for a sensor, has ticks of one length however long it is busy. */
static int tt_is_warmup(const tt_loop_sums *sums, uint64_t ticks, uint64_t warmup_ticks)
{
    if (!tt_is_check_due(ticks) || ticks < 2 * warmup_ticks) return 0;
    unsigned n = (unsigned)ticks, width = tt_bin_width(ticks - 1), count = n / width;
    double durations[TT_BINS], work[TT_BINS], tick_length = 0;
    int has_waits = 0;
    for (unsigned i = 0; i < count; i++) {
        uint64_t duration = sums->bins[i], waited = sums->bins_waited[i];
        durations[i] = (double)duration;
        work[i] = (double)(duration - (waited < duration ? waited : duration));
        has_waits |= waited != 0;
        if (i >= count / 2) tick_length += durations[i] / (count - count / 2);
    }
    tt_bins bins = {durations, ((unsigned)warmup_ticks + width - 1) / width, count, width, tick_length};
    if (tt_warmup_ended(&bins) || tt_spikes_ended(&bins)) return 1;
    bins.x = work;
    return has_waits && (tt_warmup_ended(&bins) || tt_spikes_ended(&bins));
}

/* -- the end of a tick --------------------------------------------------------------------------------------------- */

static void tt_node_set_aside(tt_recorder *recorder, tt_node *node)
{
    tt_write_begin(&node->sequence);
    tt_stats *warmup = &node->warmup;
    warmup->count += node->stats.count;
    warmup->sum += node->stats.sum;
    if (node->stats.minimum < warmup->minimum) warmup->minimum = node->stats.minimum;
    if (node->stats.maximum > warmup->maximum) warmup->maximum = node->stats.maximum;
    tt_stats_clear(&node->stats);
    for (unsigned octave = 0; octave < TT_OCTAVES; octave++) {
        tt_ref from = node->octaves[octave], to = node->warmup_octaves[octave];
        if (!from) continue;
        if (to) {
            uint64_t *counts = ((tt_octave *)tt_at(recorder, from))->counts;
            for (unsigned i = 0; i < TT_SUB_BUCKETS; i++) {
                ((tt_octave *)tt_at(recorder, to))->counts[i] += counts[i];
                counts[i] = 0;
            }
        } else {
            node->warmup_octaves[octave] = from;
            node->octaves[octave] = 0;
        }
    }
    node->flags |= TT_NODE_PHASED;
    tt_write_end(&node->sequence);
}

/* Restarts the steady phase in a loop's record. */
static void tt_loop_set_aside(tt_recorder *recorder, tt_loop *loop)
{
    loop->warmup_ticks = loop->ticks;
    loop->missed = loop->miss_run = loop->longest_miss_run = 0;
    loop->late_sum = loop->late_maximum = 0;
    loop->jitter_count = loop->jitter_sum = loop->previous_plus_one = 0;
    loop->worst_count = 0;
    tt_sums_clear(recorder, tt_sums_of(recorder, loop));
}

/* Called once the next tick has begun: a loop that ends with its warm-up would have no tick left. The steady phase
 * starts from zero, also in inner loops. */
void tt_warmup_end_if_due(tt_recorder *recorder, tt_loop *loop)
{
    tt_loop_sums *sums = tt_sums_of(recorder, loop);
    if (!(sums->flags & TT_SUMS_DUE)) return;
    sums->flags &= ~(uint32_t)TT_SUMS_DUE;
    const tt_node *top = tt_node_at(recorder, loop->node);
    for (tt_node *node = tt_node_at(recorder, loop->node); node; node = tt_next_descendant(recorder, node, top)) {
        tt_node_set_aside(recorder, node);
        if (!node->ticks) continue;
        tt_loop *inner = tt_at(recorder, node->ticks);
        tt_write_begin(&inner->sequence);
        tt_loop_set_aside(recorder, inner);
        tt_write_end(&inner->sequence);
    }
}

/* Whether a loop around this one is past its warm-up: setting this one's ticks aside would lose them from its steady
 * ticks. */
static int tt_is_inside_steady_loop(const tt_recorder *recorder, const tt_node *node)
{
    while (!(node->flags & TT_NODE_ROOT)) {
        node = tt_node_at(recorder, node->parent);
        if (node->ticks && ((const tt_loop *)tt_at(recorder, node->ticks))->warmup_ticks) return 1;
    }
    return 0;
}

static void tt_warmup_check(const tt_recorder *recorder, const tt_node *node, tt_loop *loop, tt_loop_sums *sums)
{
    if (sums->flags & TT_SUMS_DECLARED)
        sums->flags |= loop->ticks == loop->warmup_target ? TT_SUMS_DUE | TT_SUMS_WARM : 0;
    else if (tt_is_warmup(sums, loop->ticks, loop->warmup_ticks) && !tt_is_inside_steady_loop(recorder, node))
        sums->flags |= TT_SUMS_DUE;
}

static uint64_t tt_waited_ticks(const tt_frame *tick, uint64_t duration)
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
    tt_read_causes(recorder, loop, &causes, tt_ticks_to_ns(recorder, duration));
    if (ending == TT_OPEN) {
        loop->incomplete++;
        loop->previous_plus_one = 0;
    } else {
        tt_loop_sums *sums = tt_sums_of(recorder, loop);
        uint64_t waited = tt_waited_ticks(tick, duration);
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
        tt_warmup_check(recorder, node, loop, sums);
    }
    tt_write_end(&loop->sequence);
}

/* Discards all that was recorded of a loop. */
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
