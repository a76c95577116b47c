"""Power and looks: the shift that a number of pairs can detect, and when a benchmark may stop early."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from ticktree.analysis.comparison.shift import CONFIDENCE
from ticktree.analysis.comparison.welch import Contrast

# Power: the smallest shift that pairs with the observed noise can detect, and how many pairs a shift of 5% needs.
#
# By the usual formula for Student's test on pairs: 90% of trials detect a shift whose distance from 0, in standard
# errors, is the sum of the critical value and the 90% quantile. The rank interval needs 1 / 0.955 as many pairs (its
# efficiency for normal noise: Hodges and Lehmann, "The efficiency of some nonparametric competitors of the t-test",
# 1956).

# The shift of `pairs_needed`: the one that users ask about first.
SHIFT = 0.05

_POWER_QUANTILE = NormalDist().inv_cdf(0.9)
_EFFICIENCY = 0.955
_MAX_PAIRS = 1_000_000


class Power(NamedTuple):
    """The shift that pairs could have detected.

    Attributes:
        shift: the smallest that nine of ten comparisons like this one detect.
        pairs_needed: how many would detect `SHIFT`; None if more than a million.
    """

    shift: float
    pairs_needed: int | None


def power_of_pairs(base: Sequence[float], new: Sequence[float], level: float) -> Power | None:
    """Return the shift that the pairs could have detected; None if there are too few to estimate their noise.

    The n-th positive values of both are a pair, and `level` is the error rate for one section alone.
    """
    if len(base) < 3:
        return None
    noise = float((np.log(new) - np.log(base)).std(ddof=1))
    return Power(math.expm1(_min_detectable(noise, len(base), level)), _pairs_needed(noise, level))


def _min_detectable(noise: float, pairs: int, level: float) -> float:
    error = noise / math.sqrt(_EFFICIENCY * pairs)
    return Contrast(0.0, error, pairs - 1).reach(1 - level) + _POWER_QUANTILE * error


def _pairs_needed(noise: float, level: float) -> int | None:
    target = math.log1p(SHIFT)
    low, high = 2, 3
    while _min_detectable(noise, high, level) > target:
        low, high = high, 2 * high
        if high > _MAX_PAIRS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _min_detectable(noise, middle, level) > target else (low, middle)
    return high


# Looks: at which numbers of pairs a benchmark may stop early, and with which confidence.
#
# A benchmark that tests after every pair and stops at the first verdict eventually gets one, whatever is true. So the
# looks are fixed beforehand, and the allowed error is divided equally among them (Bonferroni: a little stricter than
# Pocock, "Group sequential methods in the design and analysis of clinical trials", 1977, and exact for any number of
# looks).

_MAX_LOOKS = 3


def looks(pairs: int) -> dict[int, float]:
    """Return the numbers of pairs, up to `pairs`, at which to look, and the confidence that intervals need there."""
    min_pairs = _min_pairs(_MAX_LOOKS)
    if pairs < min_pairs:
        return {pairs: CONFIDENCE}
    numbers = sorted({max(min_pairs, pairs // 2), max(min_pairs, 3 * pairs // 4), pairs})
    return {number: 1 - (1 - CONFIDENCE) / len(numbers) for number in numbers}


def _min_pairs(number_of_looks: int) -> int:
    """Return the fewest pairs that give a verdict if all of them agree, which has a probability of 2 in 2^n."""
    pairs = 1
    while 2.0 ** (1 - pairs) > (1 - CONFIDENCE) / number_of_looks:
        pairs += 1
    return pairs
