"""Levels: from a trend's values to heights, for everything that draws them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median, quantiles

from ticktree.analysis.history import Trend

# A value this many times further out than the middle of all is wide is drawn at the edge: one run that met somebody
# else on the machine must not press all others flat.
_FAR = 3.0
_MARGIN = 0.06
# Of fewer values none is an outlier.
_ENOUGH = 8


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear axis.

    Attributes:
        low: in ns, at its lower end.
        high: in ns, at its upper end; more than `low`.
    """

    low: float
    high: float

    def part(self, ns: float) -> float:
        """Return how far up a value is, from 0 to 1; the edges for what lies beyond."""
        return min(max((ns - self.low) / (self.high - self.low), 0.0), 1.0)

    def is_beyond(self, ns: float) -> bool:
        """Whether a value does not fit."""
        return not self.low <= ns <= self.high


def scale_of(trend: Trend) -> Scale:
    """Return an axis on which every level of a trend and its values, but for far outliers, have room."""
    values = trend.values
    low, high = min(values), max(values)
    if len(values) >= _ENOUGH:
        eighths = quantiles(values, n=8, method="inclusive")
        levels = [middle for _, _, middle in trend.stretches]
        reach = _FAR * (eighths[-1] - eighths[0])
        if reach > 0:
            low = max(low, min(eighths[0] - reach, *levels))
            high = min(high, max(eighths[-1] + reach, *levels))
    margin = _MARGIN * (high - low) or 0.1 * high or 1.0
    return Scale(max(0.0, low - margin), high + margin)


def buckets(values: Sequence[float], most: int) -> list[float]:
    """Return at most so many values: medians of neighbours where there are more."""
    if len(values) <= most:
        return list(values)
    ends = [math.floor(len(values) * at / most) for at in range(most + 1)]
    return [median(values[begin:end]) for begin, end in pairwise(ends)]
