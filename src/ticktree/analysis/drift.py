"""Drift within a run: whether a loop's time had a trend over the run, or a step to another level, or neither.

First the statistics of values in the order of time: their noise, a trend, a step; then those of a loop's ticks.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Literal, NamedTuple, TypeAlias

from ticktree.profile import Node, Windows

# The ratio of a normal distribution's standard deviation to its median deviation.
DEVIATIONS = 1.4826


def ranks_of(values: Sequence[float]) -> list[float]:
    """Return the rank of each value, from 1; equal values have the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end + 1 < len(order) and values[order[end + 1]] == values[order[at]]:
            end += 1
        for place in order[at : end + 1]:
            ranks[place] = (at + end) / 2 + 1
        at = end + 1
    return ranks


def autocorrelation_time(values: Sequence[float]) -> float:
    """Return how many successive values carry no more information than one; 1 if they are independent.

    The integrated autocorrelation time, by Geyer's initial positive sequence ("Practical Markov chain Monte Carlo",
    Statistical Science 7(4), 1992). The values must be without the trend or step that is being tested.
    """
    around = centred(values)
    variance = correlation(around, 0)
    if variance <= 0:
        return 1.0
    time = -1.0
    for lag in range(0, len(around) - 1, 2):
        pair = sum(correlation(around, distance) for distance in (lag, lag + 1)) / variance
        if pair <= 0:  # the rest is noise
            break
        time += 2 * pair
    return max(1.0, time)


def centred(values: Sequence[float]) -> list[float]:
    """Return the values less their mean."""
    middle = sum(values) / len(values)
    return [value - middle for value in values]


def correlation(around: Sequence[float], lag: int) -> float:
    """Return the sum of the products of values around 0 that are `lag` apart; for lag 0, of their squares."""
    return sum(a * b for a, b in zip(around, around[lag:], strict=False))


# Trend: whether values rise or fall throughout, and how steeply.
#
# The slope is Theil's and Sen's (Sen, "Estimates of the regression coefficient based on Kendall's tau", Journal of the
# American Statistical Association 63, 1968): the median of the slopes between all pairs. The Mann-Kendall test (Mann,
# "Nonparametric tests against trend", Econometrica 13, 1945) detects whether there is one, its variance corrected for
# ties, and for autocorrelation as by Hamed and Rao ("A modified Mann-Kendall trend test for autocorrelated data",
# Journal of Hydrology 204, 1998).

# One in a hundred series without a trend seems to have one.
LEVEL = 0.01
# With fewer independent values the statistic is not close to normal; a slow wave of noise has fewer.
FEWEST_INDEPENDENT = 12
# With fewer, the rise must be this many standard errors: some trends are so clear that the only residual is their
# curvature.
CLEAR_ERRORS = 10.0
# A correlation of ranks counts beyond the 95% limits of white noise.
_LIMIT = 1.96


class LinearTrend(NamedTuple):
    """A line through values over time.

    Attributes:
        slope: per value.
        middle: the line's height at the middle value.
        p: how often chance alone gives a trend as clear as this one, in either direction.
        independent: how many independent values would carry as much information.
        errors: the whole rise in standard errors.
    """

    slope: float
    middle: float
    p: float
    independent: float
    errors: float

    @property
    def is_real(self) -> bool:
        """Whether there is a trend at all."""
        if self.independent < FEWEST_INDEPENDENT:
            return self.errors >= CLEAR_ERRORS
        return self.p < LEVEL


def trend(values: Sequence[float]) -> LinearTrend:
    """Return the trend of ten values or more."""
    count = len(values)
    slope = sen_slope(values)
    rest = [value - slope * place for place, value in enumerate(values)]
    line = median(rest)
    correction = _correction(rest)
    pairs = ((value, later) for place, value in enumerate(values) for later in values[place + 1 :])
    score = sum((later > value) - (later < value) for value, later in pairs)
    ties = sum(tied * (tied - 1) * (2 * tied + 5) for tied in Counter(values).values())
    variance = (count * (count - 1) * (2 * count + 5) - ties) / 18 * correction
    # The continuity correction: the score moves one step towards 0.
    z = 0.0 if variance <= 0 else max(0, abs(score) - 1) / math.sqrt(variance)
    # The error of a regression's rise over all its values; 12 / n is that for evenly spaced ones.
    deviation = DEVIATIONS * median(abs(value - line) for value in rest)
    error = deviation * math.sqrt(12 * correction / count)
    rise = abs(slope) * (count - 1)
    return LinearTrend(
        slope,
        line + slope * (count - 1) / 2,
        math.erfc(z / math.sqrt(2)),
        count / correction,
        rise / error if error else (math.inf if rise else 0.0),
    )


def sen_slope(values: Sequence[float]) -> float:
    """Return the median of the slopes between all pairs of values."""
    return median(
        (later - value) / (distance + 1)
        for place, value in enumerate(values)
        for distance, later in enumerate(values[place + 1 :])
    )


def _correction(rest: Sequence[float]) -> float:
    """Return the factor by which autocorrelation increases the variance, from the ranks of the residuals.

    In Hamed and Rao, negative correlations can also decrease it; here they cannot.
    """
    count = len(rest)
    ranks = ranks_of(rest)
    around = centred(ranks)
    variance = correlation(around, 0)
    if variance <= 0:
        return 1.0
    extra = 0.0
    for lag in range(1, count - 3):
        part = correlation(around, lag) / variance
        if abs(part) > _LIMIT / math.sqrt(count):
            extra += (count - lag) * (count - lag - 1) * (count - lag - 2) * part
    # Correlations that are not significant one by one may be so together.
    return max(1 + 2 * extra / (count * (count - 1) * (count - 2)), autocorrelation_time(ranks))


# Step: a stretch of a run in which a loop's level differs from that before it, and after it if the stretch ends.
#
# The search is circular binary segmentation (Olshen, Venkatraman, Lucito and Wigler, "Circular binary segmentation for
# the analysis of array-based DNA copy number data", Biostatistics 5(4), 2004): of all stretches, in the middle or
# reaching an end, it takes the one that differs most from the rest. The test uses ranks, as Pettitt's does ("A
# non-parametric approach to the change-point problem", Applied Statistics 28(2), 1979), so that a burst of slow ticks
# counts as one high rank and not as a level.

# Fewer values cannot be significant in any order.
FEWEST = 16
MOST = 32
# One part in this many of a run: a shorter stretch is a burst of slow ticks, not a level.
LEAST_SHARE = 5
# By number of values, what the statistic exceeds in 0.5% of all orders, estimated from 40,000 random orders each;
# tests/analysis/test_drift_step.py repeats that with fewer.
CRITICAL = dict(
    enumerate(
        (
            *(3.254, 3.317, 3.376, 3.421, 3.402, 3.45, 3.489, 3.541, 3.548),
            *(3.567, 3.611, 3.64, 3.644, 3.677, 3.7, 3.683, 3.737),
        ),
        FEWEST,
    )
)
# The least step, in standard errors corrected for autocorrelation. Chosen with benchmarks/steadiness.py.
LEAST_ERRORS = 8.0
# The least duration of each level, in autocorrelation times: within less, a slow wave of noise looks like a level. If
# one is shorter, the step must be larger in proportion.
LEAST_TIMES = 8.0
# The least share of a level's values on its side of the midpoint between both levels; successive bursts are no level.
ALIKE_SHARE = 0.8
# The ratio of the error of a median to that of a mean, for a normal distribution.
_MEDIAN_ERROR = 1.2533


class LevelStep(NamedTuple):
    """The stretch that differs most from the rest.

    Attributes:
        first: index of its first value.
        end: index after its last value.
        statistic: how far its mean rank is from the rest's, in standard deviations.
    """

    first: int
    end: int
    statistic: float


def most_different(values: Sequence[float]) -> LevelStep:
    """Return the stretch of at least a fifth of all values that differs most from the others.

    Its statistic is the largest of all stretches, by ranks; its position minimizes the absolute differences from the
    two medians, because ranks are biased towards the middle. If it reaches the beginning, the result is the rest
    instead, so that the later part is the one that changed.
    """
    statistic = _statistic(values)
    places = _places(len(values))
    residuals = {place: sum(map(abs, without(values, LevelStep(*place, statistic)))) for place in places}
    first, end = min(places, key=residuals.__getitem__)
    return LevelStep(end, len(values), statistic) if first == 0 else LevelStep(first, end, statistic)


def _statistic(values: Sequence[float]) -> float:
    """Return how far the mean rank of the most different stretch is from the rest's, in standard deviations."""
    count = len(values)
    variance = count * (count + 1) / 12
    sums = [0.0]
    for rank in ranks_of(values):
        sums.append(sums[-1] + rank - (count + 1) / 2)
    return max(
        abs(sums[end] - sums[first]) / math.sqrt(variance * (end - first) * (count - end + first) / count)
        for first, end in _places(count)
    )


def _places(count: int) -> list[tuple[int, int]]:
    """Return where all stretches begin and end that have at least a fifth of `count` values, as does the rest."""
    least = count // LEAST_SHARE
    return [
        (first, end)
        for first in range(count - least + 1)
        for end in range(first + least, min(count, first + count - least) + 1)
    ]


def is_real(values: Sequence[float], step: LevelStep) -> bool:
    """Return whether the most different stretch is a step: significant, larger than its error, and all along."""
    if step.statistic <= CRITICAL[len(values)]:
        return False
    inside, outside = parts(values, step)
    change = median(inside) - median(outside)
    rest = without(values, step)
    deviation = DEVIATIONS * median(map(abs, rest))
    time = autocorrelation_time(ranks_of(rest))
    error = _MEDIAN_ERROR * deviation * math.sqrt(time * (1 / len(inside) + 1 / len(outside)))
    short = max(1.0, LEAST_TIMES * time / min(len(inside), len(outside)))
    if abs(change) <= LEAST_ERRORS * short * error:
        return False
    middle = median(outside) + change / 2
    return sum((value - middle) * change > 0 for value in inside) >= ALIKE_SHARE * len(inside)


def parts(values: Sequence[float], step: LevelStep) -> tuple[list[float], list[float]]:
    """Return the values within the step's stretch, and the others."""
    inside = list(values[step.first : step.end])
    return inside, [*values[: step.first], *values[step.end :]]


def without(values: Sequence[float], step: LevelStep) -> list[float]:
    """Return the values less the median of their part: the step's, or the rest's."""
    level, rest = map(median, parts(values, step))
    return [value - (level if step.first <= place < step.end else rest) for place, value in enumerate(values)]


# Changes of a loop: which of the two its ticks have, if any.

# A trend so sure counts also where a step would leave less unexplained but may be chance. At `LEVEL` that would report
# a drift of up to 7% of steady loops instead of 1.7%, at this level of 2.0% (benchmarks/steadiness.py --trials 600).
SURE_LEVEL = 0.0001


class Stretch(NamedTuple):
    """Successive ticks.

    Attributes:
        first: index of the loop's window in which it begins.
        last: index of the window in which it ends.
        ticks: how many.
        total_ns: their duration.
    """

    first: int
    last: int
    ticks: int
    total_ns: int

    @property
    def mean_ns(self) -> float:
        """The mean duration of a tick."""
        return self.total_ns / self.ticks


def steady_stretches(node: Node) -> list[Stretch]:
    """Return the windows of a node in which calls ended, without those in which calls of the warm-up did.

    The node must be of one run: one merged from several has no single course over time.
    """
    windows = node.windows
    warmup = node.warmup.count if node.warmup else 0
    stretches = []
    passed = 0
    for index in sorted(windows.counts):
        passed += windows.counts[index]
        # The last window of the warm-up may contain steady calls too; which ones is not known.
        if passed - windows.counts[index] >= warmup:
            stretches.append(Stretch(index, index, windows.counts[index], windows.totals.get(index, 0)))
    return stretches


def joined(stretches: Sequence[Stretch], parts: int) -> list[Stretch]:
    """Return `parts` parts of about equally many stretches, in their order."""
    edges = [round(part * len(stretches) / parts) for part in range(parts + 1)]
    together = [stretches[begin:end] for begin, end in pairwise(edges)]
    return [
        Stretch(
            each[0].first, each[-1].last, sum(one.ticks for one in each), sum(one.total_ns for one in each)
        )
        for each in together
    ]


def in_windows(windows: Windows, width_ns: int, first: int, last: int) -> int:
    """Return the nanoseconds of the calls in windows of `width_ns`, or narrower, from `first` to `last`."""
    totals: Mapping[int, int] = windows.coarsened(width_ns).totals
    return sum(ns for index, ns in totals.items() if first <= index <= last)


# Most runs have a smaller change, on which no user would act.
LEAST_CHANGE = 0.05

Kind: TypeAlias = Literal["trend", "step"]


@dataclass(frozen=True, slots=True)
class LoopChange:
    """How a loop's time changed in a run.

    Attributes:
        kind: over the whole run, or at one moment.
        before: the ticks before a step; of a trend, the first third.
        after: the ticks from a step until the loop returned to its level, if it did; of a trend, the last third.
        before_ns: duration of a tick before a step; of a trend, at the beginning of its line.
        after_ns: duration of a tick after a step; of a trend, at the end of its line.
        lasts: whether the change lasted until the run's end.
        rest: the ticks after a change that did not last.
    """

    kind: Kind
    before: tuple[Stretch, ...]
    after: tuple[Stretch, ...]
    before_ns: float
    after_ns: float
    lasts: bool = True
    rest: tuple[Stretch, ...] = ()

    @property
    def change(self) -> float:
        """How much longer a tick took, as a part of its duration before; negative if it became faster."""
        return self.after_ns / self.before_ns - 1


def change_of(node: Node) -> LoopChange | None:
    """Return how the time of a loop's node changed; None if it did not, or if that is uncertain.

    The loop must be of one run, on one thread.
    """
    stretches = steady_stretches(node)
    if len(stretches) < FEWEST or any(stretch.total_ns <= 0 for stretch in stretches):
        return None
    stretches = joined(stretches, min(MOST, len(stretches)))
    logs = [math.log(stretch.mean_ns) for stretch in stretches]
    step = most_different(logs)
    line, times, time_of = _straighter(logs, [stretch.mean_ns for stretch in stretches])
    start = line.middle - line.slope * (len(times) - 1) / 2
    from_line = (time - start - line.slope * place for place, time in enumerate(times))
    is_step = sum(map(abs, without(times, step))) < sum(map(abs, from_line))
    if is_step and is_real(logs, step):
        change = _step_change(stretches, step)
    elif line.is_real and (line.p < SURE_LEVEL or not is_step):
        change = _trend_change(stretches, line, time_of)
    else:
        return None
    # The slower level must be `LEAST_CHANGE` above the faster one.
    matters = abs(math.log(change.after_ns / change.before_ns)) >= math.log1p(LEAST_CHANGE)
    return change if matters else None


def _straighter(
    logs: Sequence[float], means_ns: Sequence[float]
) -> tuple[LinearTrend, Sequence[float], Callable[[float], float]]:
    """Return the clearer trend of ticks: by the same factor, or by the same time, in each part of the run.

    What grows with a buffer takes the same time more per item; in logarithms that is a curve, and no line fits it.
    With the trend come the values that it fits, and the function from one of these to nanoseconds.
    """
    by_factor, by_time = trend(logs), trend(means_ns)
    if by_time.errors > by_factor.errors and by_time.middle > abs(by_time.slope) * (len(means_ns) - 1) / 2:
        return by_time, means_ns, float
    return by_factor, logs, math.exp


def _step_change(stretches: Sequence[Stretch], step: LevelStep) -> LoopChange:
    before, after = tuple(stretches[: step.first]), tuple(stretches[step.first : step.end])
    rest = tuple(stretches[step.end :])
    return LoopChange("step", before, after, _middle_ns((*before, *rest)), _middle_ns(after), not rest, rest)


def _trend_change(
    stretches: Sequence[Stretch], line: LinearTrend, time_of: Callable[[float], float]
) -> LoopChange:
    half = line.slope * (len(stretches) - 1) / 2
    third = len(stretches) // 3
    return LoopChange(
        "trend",
        tuple(stretches[:third]),
        tuple(stretches[-third:]),
        time_of(line.middle - half),
        time_of(line.middle + half),
    )


def _middle_ns(stretches: Sequence[Stretch]) -> float:
    """Return the duration of a tick in the median stretch, on which a burst of slow ticks has little effect."""
    return median(stretch.mean_ns for stretch in stretches)
