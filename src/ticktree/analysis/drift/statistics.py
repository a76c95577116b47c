"""Statistics of values in the order of time: their noise, a trend, a step."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

# The standard deviation of what is normal, by its median deviation.
DEVIATIONS = 1.4826


def ranks_of(values: Sequence[float]) -> list[float]:
    """Return the rank of each value, from 1; equal values share the mean of theirs."""
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
    """Return how many values in a row tell no more than one would; 1 where they are independent.

    The integrated autocorrelation time, by Geyer's initial positive sequence ("Practical Markov chain Monte Carlo",
    Statistical Science 7(4), 1992).

    Args:
        values: in the order of time, without the trend or the step that is asked about.
    """
    around = centred(values)
    variance = correlation(around, 0)
    if variance <= 0:
        return 1.0
    time = -1.0
    for lag in range(0, len(around) - 1, 2):
        pair = sum(correlation(around, each) for each in (lag, lag + 1)) / variance
        if pair <= 0:  # from here on there is noise only
            break
        time += 2 * pair
    return max(1.0, time)


def centred(values: Sequence[float]) -> list[float]:
    """Return the values less their mean."""
    middle = sum(values) / len(values)
    return [value - middle for value in values]


def correlation(around: Sequence[float], lag: int) -> float:
    """Return the sum of the products of values around 0 that are `lag` apart; of none, their squares."""
    return sum(a * b for a, b in zip(around, around[lag:], strict=False))


# Trend: whether values rise or fall all along, and how steeply.
#
# The slope is Theil's and Sen's (Sen, "Estimates of the regression coefficient based on Kendall's tau", Journal of the
# American Statistical Association 63, 1968): the median of the slopes between all pairs. Whether there is one at all
# is detected by the Mann-Kendall test (Mann, "Nonparametric tests against trend", Econometrica 13, 1945), its variance
# corrected for ties, and for autocorrelation as Hamed and Rao do ("A modified Mann-Kendall trend test for
# autocorrelated data", Journal of Hydrology 204, 1998).

# Trend: whether values rise or fall all along, and how steeply.
#
# The slope is Theil's and Sen's (Sen, "Estimates of the regression coefficient based on Kendall's tau", Journal of the
# American Statistical Association 63, 1968): the median of the slopes between all pairs. Whether there is one at all
# is detected by the Mann-Kendall test (Mann, "Nonparametric tests against trend", Econometrica 13, 1945), its variance
# corrected for ties, and for autocorrelation as Hamed and Rao do ("A modified Mann-Kendall trend test for
# autocorrelated data", Journal of Hydrology 204, 1998).

# One in a hundred series without a trend seems to have one.
LEVEL = 0.01
# So many independent values the statistic needs to be close to normal; a slow wave of noise has fewer.
FEWEST_INDEPENDENT = 12
# Where there are fewer, the rise must be so many times what such noise makes of itself: there are trends so clear that
# all that is left next to them is their bend.
CLEAR_ERRORS = 10.0
# A correlation of ranks counts beyond the 95% limits of white noise.
_LIMIT = 1.96


class LinearTrend(NamedTuple):
    """How values go over time.

    Attributes:
        slope: from one value to the next.
        middle: the line's height over the middle of all.
        p: how often chance alone gives a trend as clear as this one, in either direction.
        independent: how many independent values would tell as much.
        errors: how many standard errors the whole rise is.
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
    score = sum(_sign(later - value) for place, value in enumerate(values) for later in values[place + 1 :])
    ties = sum(each * (each - 1) * (2 * each + 5) for each in Counter(values).values())
    variance = (count * (count - 1) * (2 * count + 5) - ties) / 18 * correction
    # A whole step of the score towards 0, as it is not continuous.
    z = 0.0 if variance <= 0 else max(0, abs(score) - 1) / math.sqrt(variance)
    # The error of a regression's rise over all of its values, 12 / n being that of evenly spaced ones.
    deviation = DEVIATIONS * median(abs(each - line) for each in rest)
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
    """Return by how much autocorrelation makes the variance larger, told from the ranks of what is no trend.

    Hamed and Rao also let negative correlations make it smaller; here that is not believed.
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
    # Where few correlations are significant each for itself, together they may be.
    return max(1 + 2 * extra / (count * (count - 1) * (count - 2)), autocorrelation_time(ranks))


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


# Step: a stretch of a run in which a loop's level is another than before and after it, or than before it.
#
# The stretch is looked for as in circular binary segmentation (Olshen, Venkatraman, Lucito and Wigler, "Circular
# binary segmentation for the analysis of array-based DNA copy number data", Biostatistics 5(4), 2004): of all
# stretches the one that differs most from the rest, which may lie in the middle or reach to an end. The test is by
# ranks, as in Pettitt's test ("A non-parametric approach to the change-point problem", Applied Statistics 28(2),
# 1979), so that a burst of slow ticks counts as one high rank and not as a level.

# Step: a stretch of a run in which a loop's level is another than before and after it, or than before it.
#
# The stretch is looked for as in circular binary segmentation (Olshen, Venkatraman, Lucito and Wigler, "Circular
# binary segmentation for the analysis of array-based DNA copy number data", Biostatistics 5(4), 2004): of all
# stretches the one that differs most from the rest, which may lie in the middle or reach to an end. The test is by
# ranks, as in Pettitt's test ("A non-parametric approach to the change-point problem", Applied Statistics 28(2),
# 1979), so that a burst of slow ticks counts as one high rank and not as a level.

# Fewer values cannot be that surprising in any order.
FEWEST = 16
MOST = 32
# What lasts for less of a run is a burst of slow ticks and no level.
LEAST_SHARE = 5
# What the statistic exceeds in half a percent of all orders of so many values, told from 40,000 random orders each;
# tests/analysis/drift/test_step.py does it again with fewer.
CRITICAL: dict[int, float] = {
    16: 3.254,
    17: 3.317,
    18: 3.376,
    19: 3.421,
    20: 3.402,
    21: 3.45,
    22: 3.489,
    23: 3.541,
    24: 3.548,
    25: 3.567,
    26: 3.611,
    27: 3.64,
    28: 3.644,
    29: 3.677,
    30: 3.7,
    31: 3.683,
    32: 3.737,
}
# The step must also be so many standard errors, which know of autocorrelation. Chosen by benchmarks/steadiness.py.
LEAST_ERRORS = 8.0
# So many autocorrelation times each level must last: in less a slow wave of noise looks like a level. Where one lasts
# for less, the step must be so much larger.
LEAST_TIMES = 8.0
# So many of a level's values are on its side of the middle between both; bursts that follow each other are no level.
ALIKE_SHARE = 0.8
# The error of a median of what is normal, by that of a mean.
_MEDIAN_ERROR = 1.2533


class LevelStep(NamedTuple):
    """The stretch that differs most from the rest.

    Attributes:
        first: where it begins.
        end: where it has ended.
        surprise: how far its mean rank is from the rest's, in standard deviations.
    """

    first: int
    end: int
    surprise: float


def most_different(values: Sequence[float]) -> LevelStep:
    """Return the stretch of a fifth of all values at least without which the others are most alike.

    Its surprise is that of the most surprising stretch, by ranks, and its place where the least absolute differences
    from the two medians are left: ranks lean towards the middle. One that reaches the beginning is given by the rest,
    so that what comes later is what has changed.

    Args:
        values: in the order of time, from `FEWEST` to `MOST`.
    """
    surprise = _surprise(values)
    places = _places(len(values))
    left = {place: sum(map(abs, without(values, LevelStep(*place, surprise)))) for place in places}
    first, end = min(places, key=left.__getitem__)
    return LevelStep(end, len(values), surprise) if first == 0 else LevelStep(first, end, surprise)


def _surprise(values: Sequence[float]) -> float:
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
    """Return where all stretches begin and end that, as the rest, have a fifth of so many values at least."""
    least = count // LEAST_SHARE
    return [
        (first, end)
        for first in range(count - least + 1)
        for end in range(first + least, min(count, first + count - least) + 1)
    ]


def is_real(values: Sequence[float], step: LevelStep) -> bool:
    """Tell whether a step is there: surprising in any order, beyond its error, and all through its stretch.

    Args:
        values: in the order of time.
        step: what was found in them.
    """
    if step.surprise <= CRITICAL[len(values)]:
        return False
    inside, outside = parts(values, step)
    change = median(inside) - median(outside)
    rest = without(values, step)
    deviation = DEVIATIONS * median(map(abs, rest))
    memory = autocorrelation_time(ranks_of(rest))
    error = _MEDIAN_ERROR * deviation * math.sqrt(memory * (1 / len(inside) + 1 / len(outside)))
    short = max(1.0, LEAST_TIMES * memory / min(len(inside), len(outside)))
    if abs(change) <= LEAST_ERRORS * short * error:
        return False
    middle = median(outside) + change / 2
    return sum((value - middle) * change > 0 for value in inside) >= ALIKE_SHARE * len(inside)


def parts(values: Sequence[float], step: LevelStep) -> tuple[list[float], list[float]]:
    """Return the values in the step's stretch, and the others."""
    inside = list(values[step.first : step.end])
    return inside, [*values[: step.first], *values[step.end :]]


def without(values: Sequence[float], step: LevelStep) -> list[float]:
    """Return the values less the median of their part: the step's, or the rest's."""
    level, rest = map(median, parts(values, step))
    return [value - (level if step.first <= place < step.end else rest) for place, value in enumerate(values)]
