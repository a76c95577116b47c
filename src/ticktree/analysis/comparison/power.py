"""Power and looks: what so many pairs could have found, and at which numbers of pairs one may stop early."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from ticktree.analysis.comparison.shift import CONFIDENCE
from ticktree.analysis.comparison.welch import Contrast

# Power: what so many pairs could have found amid the noise that they showed, and how many a shift of 5% needs.
#
# By the usual formula for Student's test on pairs: a shift is found in 90% of trials if it is as far from 0 as the
# critical value and the 90% quantile together, in standard errors. What the rank interval needs beyond that is 1 /
# 0.955 as many pairs (its efficiency where noise is normal: Hodges and Lehmann, "The efficiency of some nonparametric
# competitors of the t-test", 1956).

# What `pairs_needed` is about: what people ask for first.
SHIFT = 0.05

_FOUND = NormalDist().inv_cdf(0.9)
_EFFICIENCY = 0.955
_MOST_PAIRS = 1_000_000


class Power(NamedTuple):
    """What pairs could have found.

    Attributes:
        shift: the smallest that nine of ten comparisons like this one find.
        pairs_needed: so many would find one of `SHIFT`; None where that is more than a million.
    """

    shift: float
    pairs_needed: int | None


def power_of_pairs(base: Sequence[float], new: Sequence[float], level: float) -> Power | None:
    """Return what such pairs could have found; None where there are too few to know their noise.

    Args:
        base: Positive values.
        new: As many, the n-th measured next to the n-th of base.
        level: How often one section alone may be called different by chance.
    """
    if len(base) < 3:
        return None
    noise = float((np.log(new) - np.log(base)).std(ddof=1))
    return Power(math.expm1(_found_from(noise, len(base), level)), _pairs_needed(noise, level))


def _found_from(noise: float, pairs: int, level: float) -> float:
    error = noise / math.sqrt(_EFFICIENCY * pairs)
    return Contrast(0.0, error, pairs - 1).reach(1 - level) + _FOUND * error


def _pairs_needed(noise: float, level: float) -> int | None:
    wanted = math.log1p(SHIFT)
    low, high = 2, 3
    while _found_from(noise, high, level) > wanted:
        low, high = high, 2 * high
        if high > _MOST_PAIRS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _found_from(noise, middle, level) > wanted else (low, middle)
    return high


# Looks: at which numbers of pairs one may stop early, and how sure one must be there.
#
# Who looks after every pair and stops as soon as there is a verdict finds one in the end, whatever is true. So it is
# settled beforehand when to look, and the error that is allowed is shared out among the looks in equal parts
# (Bonferroni: a little stricter than Pocock, "Group sequential methods in the design and analysis of clinical trials",
# 1977, and exact for any number of looks).

_MOST = 3


def looks(pairs: int) -> dict[int, float]:
    """The numbers of pairs at which to look, and the confidence that an interval needs there.

    Args:
        pairs: At most so many will be run.
    """
    least = _least_pairs(_MOST)
    if pairs < least:
        return {pairs: CONFIDENCE}
    numbers = sorted({max(least, pairs // 2), max(least, 3 * pairs // 4), pairs})
    return {number: 1 - (1 - CONFIDENCE) / len(numbers) for number in numbers}


def _least_pairs(number_of_looks: int) -> int:
    """So many pairs that all of them agreeing is certain enough: a chance of 2 in 2^n."""
    pairs = 1
    while 2.0 ** (1 - pairs) > (1 - CONFIDENCE) / number_of_looks:
        pairs += 1
    return pairs
