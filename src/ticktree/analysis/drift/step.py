"""Step: a stretch of a run in which a loop's level is another than before and after it, or than before it.

The stretch is looked for as in circular binary segmentation (Olshen, Venkatraman, Lucito and Wigler, "Circular binary
segmentation for the analysis of array-based DNA copy number data", Biostatistics 5(4), 2004): of all stretches the one
that differs most from the rest, which may lie in the middle or reach to an end. It is told by ranks, as in Pettitt's
test ("A non-parametric approach to the change-point problem", Applied Statistics 28(2), 1979), so that a burst of slow
ticks counts as one high rank and not as a level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from ticktree.analysis.drift.noise import DEVIATIONS, autocorrelation_time, ranks_of

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


class Step(NamedTuple):
    """The stretch that differs most from the rest.

    Attributes:
        first: where it begins.
        end: where it has ended.
        surprise: how far its mean rank is from the rest's, in standard deviations.
    """

    first: int
    end: int
    surprise: float


def most_different(values: Sequence[float]) -> Step:
    """Return the stretch of a fifth of all values at least without which the others are most alike.

    Its surprise is that of the most surprising stretch, by ranks, and its place where the least absolute differences
    from the two medians are left: ranks lean towards the middle. One that reaches the beginning is given by the rest,
    so that what comes later is what has changed.

    Args:
        values: in the order of time, from `FEWEST` to `MOST`.
    """
    surprise = _surprise(values)
    places = _places(len(values))
    left = {place: sum(map(abs, without(values, Step(*place, surprise)))) for place in places}
    first, end = min(places, key=left.__getitem__)
    return Step(end, len(values), surprise) if first == 0 else Step(first, end, surprise)


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


def is_real(values: Sequence[float], step: Step) -> bool:
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


def parts(values: Sequence[float], step: Step) -> tuple[list[float], list[float]]:
    """Return the values in the step's stretch, and the others."""
    inside = list(values[step.first : step.end])
    return inside, [*values[: step.first], *values[step.end :]]


def without(values: Sequence[float], step: Step) -> list[float]:
    """Return the values less the median of their part: the step's, or the rest's."""
    level, rest = map(median, parts(values, step))
    return [value - (level if step.first <= place < step.end else rest) for place, value in enumerate(values)]
