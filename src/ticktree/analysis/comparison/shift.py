"""Shift: by how much one sample is larger than another, with an interval, for any distribution.

The estimate is Hodges and Lehmann's ("Estimates of location based on rank tests", 1963): the median of all
differences between the two samples. Its interval ends at those of the ordered differences at which the rank test of
Mann and Whitney (for pairs: Wilcoxon) would reject. Logarithms make the shift a ratio, the same whichever sample is
the base, and ranks limit the influence of an outlier to that of any other value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ticktree.analysis.comparison.welch import Contrast, logs

# How often an interval contains the true shift.
CONFIDENCE = 0.95

# With more values, the normal approximation of a rank sum is correct to four digits, and exact counting is slow.
_MAX_EXACT = 50


class Shift(NamedTuple):
    """A ratio less one: 0.05 is five percent more.

    Attributes:
        estimate: of the shift.
        low: lower end of its interval; -1 where the samples are too small for one.
        high: upper end; infinite where the samples are too small.
    """

    estimate: float
    low: float
    high: float


def between(base: Sequence[float], new: Sequence[float], confidence: float = CONFIDENCE) -> Shift:
    """Return the shift from `base` to `new`, two independent samples of positive values.

    Raises:
        ValueError: A sample is empty or holds a value that is not positive.
    """
    differences = np.sort(np.subtract.outer(logs(new), logs(base)), axis=None)
    return _shift_at(differences, _mann_whitney_cut(len(base), len(new), confidence))


def within_pairs(base: Sequence[float], new: Sequence[float], confidence: float = CONFIDENCE) -> Shift:
    """Return the shift from `base` to `new`, where the n-th values of both were measured as a pair.

    Raises:
        ValueError: The samples are empty, differ in length, or hold a value that is not positive.
    """
    if len(base) != len(new):
        raise ValueError(f"{len(base)} values cannot be paired with {len(new)}")
    steps = logs(new) - logs(base)
    first, second = np.triu_indices(len(steps))
    walsh = np.sort((steps[first] + steps[second]) / 2)
    return _shift_at(walsh, _wilcoxon_cut(len(steps), confidence))


def contrast_shift(contrast: Contrast, confidence: float = CONFIDENCE) -> Shift:
    """Return the shift of a difference of logarithms with a known error, by Student's t."""
    reach = contrast.reach(confidence)
    return Shift(*(math.expm1(contrast.difference + offset) for offset in (0.0, -reach, reach)))


def _shift_at(ordered: npt.NDArray[np.float64], cut: int) -> Shift:
    """Return the median, and the `cut`-th values from both ends, which the rank test does not reject; none for 0."""
    estimate = math.expm1(float(np.median(ordered)))
    if not cut:
        return Shift(estimate, -1.0, math.inf)
    return Shift(estimate, math.expm1(float(ordered[cut - 1])), math.expm1(float(ordered[-cut])))


def _mann_whitney_cut(base: int, new: int, confidence: float) -> int:
    """Return the largest k such that the k-1 smallest and largest differences can be left out."""
    if max(base, new) > _MAX_EXACT:
        return _normal_cut(base * new / 2, base * new * (base + new + 1) / 12, confidence)
    return _exact_cut(_mann_whitney_counts(base, new), confidence)


def _wilcoxon_cut(pairs: int, confidence: float) -> int:
    if pairs > _MAX_EXACT:
        return _normal_cut(pairs * (pairs + 1) / 4, pairs * (pairs + 1) * (2 * pairs + 1) / 24, confidence)
    return _exact_cut(_wilcoxon_counts(pairs), confidence)


def _normal_cut(mean: float, variance: float, confidence: float) -> int:
    return max(0, math.floor(mean - NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(variance)))


def _exact_cut(counts: tuple[int, ...], confidence: float) -> int:
    """Return how many of the smallest values of a rank statistic are together within (1 - confidence) / 2."""
    allowed = (1 - confidence) / 2 * sum(counts)
    cut = below = 0
    while below + counts[cut] <= allowed:
        below += counts[cut]
        cut += 1
    return cut


@lru_cache(maxsize=256)
def _mann_whitney_counts(base: int, new: int) -> tuple[int, ...]:
    """Return, by u, how many orders of base + new values have u pairs with the new value before that of the base.

    The coefficients of the Gaussian binomial: the product of (1 - q^(new + i)) / (1 - q^i) for i = 1 .. base.
    """
    counts = [1] + [0] * (base * new)
    for i in range(1, base + 1):
        for u in range(len(counts) - 1, new + i - 1, -1):
            counts[u] -= counts[u - new - i]
        for u in range(i, len(counts)):
            counts[u] += counts[u - i]
    return tuple(counts)


@lru_cache(maxsize=64)
def _wilcoxon_counts(pairs: int) -> tuple[int, ...]:
    """Return how many subsets of 1 .. pairs have each sum."""
    counts = [1]
    for rank in range(1, pairs + 1):
        counts = [
            (counts[total] if total < len(counts) else 0) + (counts[total - rank] if total >= rank else 0)
            for total in range(len(counts) + rank)
        ]
    return tuple(counts)
