/* When the warm-up of a loop is over: found from its own first ticks.
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
#ifndef TICKTREE_WARMUP_H
#define TICKTREE_WARMUP_H

#include "layout.h"
#include <math.h>

#define TT_WARMUP_FOUND UINT64_MAX /* asked for instead of a number of ticks */
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

#endif
