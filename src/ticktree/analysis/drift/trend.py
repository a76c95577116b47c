"""Trend: whether values rise or fall all along, and how steeply.

The slope is Theil's and Sen's (Sen, "Estimates of the regression coefficient based on Kendall's tau", Journal of the
American Statistical Association 63, 1968): the median of the slopes between all pairs. Whether there is one at all is
told by the Mann-Kendall test (Mann, "Nonparametric tests against trend", Econometrica 13, 1945), its variance
corrected for ties, and for autocorrelation as Hamed and Rao do ("A modified Mann-Kendall trend test for autocorrelated
data", Journal of Hydrology 204, 1998).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from ticktree.analysis.drift.noise import DEVIATIONS, autocorrelation_time, centred, correlation, ranks_of

# In a hundred series without a trend one is seen.
LEVEL = 0.01
# So many independent values the statistic needs to be close to normal; a slow wave of noise has fewer.
FEWEST_INDEPENDENT = 12
# Where there are fewer, the rise must be so many times what such noise makes of itself: there are trends so clear that
# all that is left beside them is their bend.
CLEAR_ERRORS = 10.0
# A correlation of ranks counts beyond the 95% limits of white noise.
_LIMIT = 1.96


class Trend(NamedTuple):
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


def trend(values: Sequence[float]) -> Trend:
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
    return Trend(
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
