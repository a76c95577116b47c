"""Drift within a run: whether a loop's time had a trend over the run, a step to another level, or neither.

The first parts are statistics of values in the order of time: noise, trend, step. The last part applies them to ticks.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import median
from typing import Literal, NamedTuple, TypeAlias

from ticktree.profile import Node, Windows

# The ratio of a normal distribution's standard deviation to its median deviation.
MAD_SCALE = 1.4826


def ranks_of(values: Sequence[float]) -> list[float]:
    """Return the rank of each value, from 1; equal values have the mean of their ranks."""
    ranks = [0.0] * len(values)
    smaller = 0
    for _, group in groupby(sorted(range(len(values)), key=values.__getitem__), key=values.__getitem__):
        equal = list(group)
        for index in equal:
            ranks[index] = smaller + (len(equal) + 1) / 2
        smaller += len(equal)
    return ranks


def autocorrelation_time(values: Sequence[float]) -> float:
    """Return how many successive values carry as much information as one independent value; 1 if all are independent.

    The integrated autocorrelation time, by Geyer's initial positive sequence ("Practical Markov chain Monte Carlo",
    Statistical Science 7(4), 1992). The values must be without the trend or step that is being tested.
    """
    deviations = subtract_mean(values)
    variance = lagged_product(deviations, 0)
    if variance <= 0:
        return 1.0
    time = -1.0
    for lag in range(0, len(deviations) - 1, 2):
        pair = sum(lagged_product(deviations, distance) for distance in (lag, lag + 1)) / variance
        if pair <= 0:  # the rest is noise
            break
        time += 2 * pair
    return max(1.0, time)


def subtract_mean(values: Sequence[float]) -> list[float]:
    """Return the values minus their mean."""
    mean = sum(values) / len(values)
    return [value - mean for value in values]


def lagged_product(deviations: Sequence[float], lag: int) -> float:
    """Return the sum of the products of values around 0 that are `lag` apart; for lag 0, of their squares."""
    return sum(a * b for a, b in zip(deviations, deviations[lag:], strict=False))


# Trend: whether values rise or fall throughout, and how steeply.
#
# The slope is Theil and Sen's (Sen, "Estimates of the regression coefficient based on Kendall's tau", Journal of the
# American Statistical Association 63, 1968): the median of the slopes between all pairs. The Mann-Kendall test (Mann,
# "Nonparametric tests against trend", Econometrica 13, 1945) detects whether there is one, its variance corrected for
# ties, and for autocorrelation as by Hamed and Rao ("A modified Mann-Kendall trend test for autocorrelated data",
# Journal of Hydrology 204, 1998).

# One in a hundred series without a trend seems to have one.
LEVEL = 0.01
# With fewer independent values the statistic is not close to normal; a slow wave of noise has fewer.
MIN_INDEPENDENT = 12
# With fewer, the rise must be this many standard errors: in a very clear trend, the only residual is its curvature.
CLEAR_ERRORS = 10.0
# A correlation of ranks counts if it is beyond the 95% limits of white noise.
_LIMIT = 1.96


class LinearTrend(NamedTuple):
    """A line through values over time.

    Attributes:
        slope: per value.
        middle: the line's height at the middle value.
        p_value: how often chance alone gives a trend as clear as this one, in either direction.
        independent: how many independent values would carry as much information.
        errors: the total rise in standard errors.
    """

    slope: float
    middle: float
    p_value: float
    independent: float
    errors: float

    @property
    def is_significant(self) -> bool:
        """Whether there is a trend at all."""
        if self.independent < MIN_INDEPENDENT:
            return self.errors >= CLEAR_ERRORS
        return self.p_value < LEVEL


def trend(values: Sequence[float]) -> LinearTrend:
    """Return the trend of ten values or more."""
    count = len(values)
    slope = sen_slope(list(enumerate(values)))
    residuals = [value - slope * index for index, value in enumerate(values)]
    line = median(residuals)
    correction = _correction(residuals)
    pairs = ((value, later) for index, value in enumerate(values) for later in values[index + 1 :])
    score = sum((later > value) - (later < value) for value, later in pairs)
    ties = sum(tied * (tied - 1) * (2 * tied + 5) for tied in Counter(values).values())
    variance = (count * (count - 1) * (2 * count + 5) - ties) / 18 * correction
    # The continuity correction: the score moves one step towards 0.
    z = 0.0 if variance <= 0 else max(0, abs(score) - 1) / math.sqrt(variance)
    # The error of a regression's rise over all its values; 12 / n is that for evenly spaced ones.
    deviation = MAD_SCALE * median(abs(value - line) for value in residuals)
    error = deviation * math.sqrt(12 * correction / count)
    rise = abs(slope) * (count - 1)
    return LinearTrend(
        slope,
        line + slope * (count - 1) / 2,
        math.erfc(z / math.sqrt(2)),
        count / correction,
        rise / error if error else (math.inf if rise else 0.0),
    )


def sen_slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the median of the slopes between all pairs of points (x, y), given in the order of x."""
    return median(
        (later - earlier) / (end - begin)
        for index, (begin, earlier) in enumerate(points)
        for end, later in points[index + 1 :]
        if end > begin
    )


def _correction(residuals: Sequence[float]) -> float:
    """Return the factor by which autocorrelation increases the variance, from the ranks of the residuals.

    In Hamed and Rao, negative correlations can also decrease it; here they cannot.
    """
    count = len(residuals)
    ranks = ranks_of(residuals)
    deviations = subtract_mean(ranks)
    variance = lagged_product(deviations, 0)
    if variance <= 0:
        return 1.0
    extra = 0.0
    for lag in range(1, count - 3):
        share = lagged_product(deviations, lag) / variance
        if abs(share) > _LIMIT / math.sqrt(count):
            extra += (count - lag) * (count - lag - 1) * (count - lag - 2) * share
    # Correlations that are not significant individually may be significant together.
    return max(1 + 2 * extra / (count * (count - 1) * (count - 2)), autocorrelation_time(ranks))


# Step: a segment of a run in which a loop's level differs from the level before it, and after it if the segment ends.
#
# The search is circular binary segmentation (Olshen, Venkatraman, Lucito and Wigler, "Circular binary segmentation for
# the analysis of array-based DNA copy number data", Biostatistics 5(4), 2004): of all segments, in the middle or
# reaching an end, it takes the one that differs most from the rest. The test uses ranks, as Pettitt's does ("A
# non-parametric approach to the change-point problem", Applied Statistics 28(2), 1979), so that a burst of slow ticks
# counts as one high rank and not as a level.

# Fewer values cannot be significant in any order.
MIN_VALUES = 16
MAX_VALUES = 32
# A segment shorter than one part in this many of a run is a burst of slow ticks, not a level.
MIN_SHARE = 5
# By number of values, the value that the statistic exceeds in 0.5% of all orders, estimated from 40,000 random orders
# each; tests/analysis/test_drift_step.py repeats the estimate with fewer.
CRITICAL = dict(
    enumerate(
        (
            *(3.254, 3.317, 3.376, 3.421, 3.402, 3.45, 3.489, 3.541, 3.548),
            *(3.567, 3.611, 3.64, 3.644, 3.677, 3.7, 3.683, 3.737),
        ),
        MIN_VALUES,
    )
)
# The minimum step, in standard errors corrected for autocorrelation. Chosen with benchmarks/steadiness.py.
MIN_ERRORS = 8.0
# The minimum duration of each level, in autocorrelation times: over a shorter time, a slow wave of noise looks like a
# level. If a level is shorter, the step must be larger in proportion.
MIN_TIMES = 8.0
# The minimum share of a level's values on its side of the midpoint between the levels; successive bursts are no level.
ALIKE_SHARE = 0.8
# The ratio of the error of a median to that of a mean, for a normal distribution.
_MEDIAN_ERROR = 1.2533


class LevelStep(NamedTuple):
    """The segment that differs most from the rest.

    Attributes:
        first: index of its first value.
        end: index after its last value.
        statistic: how far its mean rank is from the rest's, in standard deviations.
    """

    first: int
    end: int
    statistic: float


def most_different_segment(values: Sequence[float]) -> LevelStep:
    """Return the segment of at least a fifth of all values that differs most from the others.

    Its statistic is the largest of all segments, by ranks; its position minimizes the absolute differences from the
    two medians, because ranks are biased towards the middle. If it reaches the beginning, the result is the rest
    instead, so that the later part is the one that changed.
    """
    statistic = _statistic(values)
    candidates = _segment_bounds(len(values))
    residuals = {
        bounds: sum(map(abs, subtract_levels(values, LevelStep(*bounds, statistic)))) for bounds in candidates
    }
    first, end = min(candidates, key=residuals.__getitem__)
    return LevelStep(end, len(values), statistic) if first == 0 else LevelStep(first, end, statistic)


def _statistic(values: Sequence[float]) -> float:
    """Return how far the mean rank of the most different segment is from the rest's, in standard deviations."""
    count = len(values)
    variance = count * (count + 1) / 12
    sums = [0.0]
    for rank in ranks_of(values):
        sums.append(sums[-1] + rank - (count + 1) / 2)
    return max(
        abs(sums[end] - sums[first]) / math.sqrt(variance * (end - first) * (count - end + first) / count)
        for first, end in _segment_bounds(count)
    )


def _segment_bounds(count: int) -> list[tuple[int, int]]:
    """Return the bounds of all segments of `count` values that have at least a fifth of them, as does the rest."""
    shortest = count // MIN_SHARE
    return [
        (first, end)
        for first in range(count - shortest + 1)
        for end in range(first + shortest, min(count, first + count - shortest) + 1)
    ]


def is_significant(values: Sequence[float], step: LevelStep) -> bool:
    """Return whether the most different segment is a step: significant, larger than its error, and throughout."""
    if step.statistic <= CRITICAL[len(values)]:
        return False
    inside, outside = split_at(values, step)
    change = median(inside) - median(outside)
    residuals = subtract_levels(values, step)
    deviation = MAD_SCALE * median(map(abs, residuals))
    time = autocorrelation_time(ranks_of(residuals))
    error = _MEDIAN_ERROR * deviation * math.sqrt(time * (1 / len(inside) + 1 / len(outside)))
    short = max(1.0, MIN_TIMES * time / min(len(inside), len(outside)))
    if abs(change) <= MIN_ERRORS * short * error:
        return False
    midpoint = median(outside) + change / 2
    return sum((value - midpoint) * change > 0 for value in inside) >= ALIKE_SHARE * len(inside)


def split_at(values: Sequence[float], step: LevelStep) -> tuple[list[float], list[float]]:
    """Return the values within the step's segment, and the others."""
    inside = list(values[step.first : step.end])
    return inside, [*values[: step.first], *values[step.end :]]


def subtract_levels(values: Sequence[float], step: LevelStep) -> list[float]:
    """Return the values minus the median of their part: the step's, or the rest's."""
    level, rest = map(median, split_at(values, step))
    return [value - (level if step.first <= i < step.end else rest) for i, value in enumerate(values)]


# Changes of a loop: whether its ticks have a trend or a step.

# A trend this significant also counts where a step would leave a smaller residual but may be chance. At `LEVEL`, up to
# 7% of steady loops would be reported as drifting instead of 1.7%; at this level 2.0% are (benchmarks/steadiness.py
# --trials 600).
SURE_LEVEL = 0.0001


class Segment(NamedTuple):
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


def steady_segments(node: Node) -> list[Segment]:
    """Return the windows of a node in which calls ended, without those in which calls of the warm-up did.

    The node must be of one run: one merged from several has no single course over time.
    """
    windows = node.windows
    warmup = node.warmup.count if node.warmup else 0
    segments = []
    passed = 0
    for index in sorted(windows.counts):
        passed += windows.counts[index]
        # The last window of the warm-up may contain steady calls too; which ones is not known.
        if passed - windows.counts[index] >= warmup:
            segments.append(Segment(index, index, windows.counts[index], windows.totals.get(index, 0)))
    return segments


def join_segments(segments: Sequence[Segment], parts: int) -> list[Segment]:
    """Return the segments joined to `parts` longer ones, in order, each of about equally many."""
    edges = [round(part * len(segments) / parts) for part in range(parts + 1)]
    groups = [segments[begin:end] for begin, end in pairwise(edges)]
    return [
        Segment(group[0].first, group[-1].last, sum(s.ticks for s in group), sum(s.total_ns for s in group))
        for group in groups
    ]


def time_in_windows(windows: Windows, width_ns: int, first: int, last: int) -> int:
    """Return the total time of the calls in windows of `width_ns`, or narrower, from `first` to `last`."""
    totals: Mapping[int, int] = windows.coarsened(width_ns).totals
    return sum(ns for index, ns in totals.items() if first <= index <= last)


# Most runs have a smaller change, on which no user would act.
MIN_CHANGE = 0.05

Kind: TypeAlias = Literal["trend", "step"]


@dataclass(frozen=True, slots=True)
class LoopChange:
    """How a loop's time changed in a run.

    Attributes:
        kind: a trend over the run, or a step at one moment.
        before: the ticks before a step; for a trend, the first third.
        after: the ticks from a step until the loop returned to its level, if it did; for a trend, the last third.
        before_ns: duration of a tick before a step; for a trend, at the beginning of its line.
        after_ns: duration of a tick after a step; for a trend, at the end of its line.
        lasts: whether the change lasted until the run's end.
        rest: the ticks after a change that did not last.
    """

    kind: Kind
    before: tuple[Segment, ...]
    after: tuple[Segment, ...]
    before_ns: float
    after_ns: float
    lasts: bool = True
    rest: tuple[Segment, ...] = ()

    @property
    def change(self) -> float:
        """How much longer a tick became, as a share of its duration before; negative if it became faster."""
        return self.after_ns / self.before_ns - 1


def loop_change(node: Node) -> LoopChange | None:
    """Return how the time of a loop's node changed; None if it did not, or if that is uncertain.

    The loop must be of one run, on one thread.
    """
    segments = steady_segments(node)
    if len(segments) < MIN_VALUES or any(segment.total_ns <= 0 for segment in segments):
        return None
    segments = join_segments(segments, min(MAX_VALUES, len(segments)))
    logs = [math.log(segment.mean_ns) for segment in segments]
    step = most_different_segment(logs)
    line, times, time_of = _clearer_trend(logs, [segment.mean_ns for segment in segments])
    start = line.middle - line.slope * (len(times) - 1) / 2
    line_residuals = (time - start - line.slope * index for index, time in enumerate(times))
    is_step = sum(map(abs, subtract_levels(times, step))) < sum(map(abs, line_residuals))
    if is_step and is_significant(logs, step):
        change = _step_change(segments, step)
    elif line.is_significant and (line.p_value < SURE_LEVEL or not is_step):
        change = _trend_change(segments, line, time_of)
    else:
        return None
    # The slower level must be `MIN_CHANGE` above the faster one.
    matters = abs(math.log(change.after_ns / change.before_ns)) >= math.log1p(MIN_CHANGE)
    return change if matters else None


def _clearer_trend(
    logs: Sequence[float], means_ns: Sequence[float]
) -> tuple[LinearTrend, Sequence[float], Callable[[float], float]]:
    """Return the clearer trend of ticks: by the same factor, or by the same time, in each part of the run.

    The time of a section that grows with a buffer is linear in the number of items; its logarithm is a curve that no
    line fits. The result includes the fitted values, and the function from such a value to nanoseconds.
    """
    by_factor, by_time = trend(logs), trend(means_ns)
    if by_time.errors > by_factor.errors and by_time.middle > abs(by_time.slope) * (len(means_ns) - 1) / 2:
        return by_time, means_ns, float
    return by_factor, logs, math.exp


def _step_change(segments: Sequence[Segment], step: LevelStep) -> LoopChange:
    before, after = tuple(segments[: step.first]), tuple(segments[step.first : step.end])
    remainder = tuple(segments[step.end :])
    return LoopChange(
        "step",
        before,
        after,
        _median_tick_ns((*before, *remainder)),
        _median_tick_ns(after),
        not remainder,
        remainder,
    )


def _trend_change(
    segments: Sequence[Segment], line: LinearTrend, time_of: Callable[[float], float]
) -> LoopChange:
    half = line.slope * (len(segments) - 1) / 2
    third = len(segments) // 3
    return LoopChange(
        "trend",
        tuple(segments[:third]),
        tuple(segments[-third:]),
        time_of(line.middle - half),
        time_of(line.middle + half),
    )


def _median_tick_ns(segments: Sequence[Segment]) -> float:
    """Return the duration of a tick in the median segment, on which a burst of slow ticks has little effect."""
    return median(segment.mean_ns for segment in segments)
