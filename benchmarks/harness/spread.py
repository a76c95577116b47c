"""The median of a sample of repeats, and its confidence interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of a number of repeats, with the bounds of the middle half and of the median itself.

    Medians and order statistics only: on a shared machine the upper tail belongs to the neighbours, and a
    mean or a standard deviation would report them.
    """

    median: float
    low: float  # a quarter of the repeats lie below
    high: float  # a quarter of the repeats lie above
    sure_low: float  # the true median lies between these two with 95% confidence, whatever the distribution
    sure_high: float
    repeats: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Boils repeats down.

        Raises:
            ValueError: there are no repeats.
        """
        if not values:
            raise ValueError("no repeats: nothing was measured")
        sorted_values = sorted(values)
        count = len(sorted_values)
        # Binomial bounds on the rank of the median, approximated; a short sample gets its extremes.
        reach = 1.96 * math.sqrt(count) / 2
        return cls(
            median=quantile(sorted_values, 0.5),
            low=quantile(sorted_values, 0.25),
            high=quantile(sorted_values, 0.75),
            sure_low=sorted_values[max(0, math.floor(count / 2 - reach))],
            sure_high=sorted_values[min(count - 1, math.ceil(count / 2 + reach) - 1)],
            repeats=count,
        )


def quantile(sorted_values: Sequence[float], q: float) -> float:
    """The q-quantile of sorted values, interpolated between neighbours."""
    position = q * (len(sorted_values) - 1)
    below = math.floor(position)
    above = min(below + 1, len(sorted_values) - 1)
    return sorted_values[below] + (sorted_values[above] - sorted_values[below]) * (position - below)


def nearest_rank(sorted_values: Sequence[float], q: float) -> float:
    """The smallest of the sorted values that at least a share q of them do not exceed.

    For tails: interpolating between the two worst samples would print a latency that did not occur.
    """
    return sorted_values[max(0, math.ceil(q * len(sorted_values)) - 1)]
