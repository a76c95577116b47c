"""Welch's test of two samples, on logarithms, and Holm's correction for many tests.

The rank interval decides whether one entry differs. A comparison has many entries, though, and at 95% each, one in
twenty differs by chance; the p-values of ranks of a few runs cannot be small enough to be significant among a hundred.
Those of a t statistic can (Welch, "The generalization of Student's problem when several different population variances
are involved", 1947; Holm, "A simple sequentially rejective multiple test procedure", 1979). For one run per side the
interval is Student's as well: ranks of its blocks contain nothing of the variation between runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_SMALLEST = 1e-300

# One run per side does not show how much two runs of one program differ. Two estimates, measured on 320 runs of a
# numpy loop of 0.3 and 1.6 s on a shared machine of two cores (comparisons of two runs of the same program with a
# verdict "slower" or "faster": 16.4% with the blocks alone, 10.4% with half of both, 5.6% with one variance and 3%,
# 4.5% with these):
# - while other programs start and end, runs differ as much as blocks do, because such noise is about as large over
#   any length of time; the factor two allows for noise that grows with the time between the runs.
_BLOCK_VARIANCES = 2.0
# - another start and another placement in memory change a run's mean, on a quiet machine too (Mytkowicz et al.,
#   "Producing wrong data without doing anything obviously wrong!", 2009, report up to 8% between two environments).
_START_DEVIATION = 0.03


class Contrast(NamedTuple):
    """The difference of two samples.

    Attributes:
        difference: of the means of their logarithms, from base to new.
        error: its standard error; 0 if all values of each sample are equal.
        freedom: its degrees of freedom; 0 if a sample has fewer than two values.
    """

    difference: float
    error: float
    freedom: float

    @property
    def p_value(self) -> float:
        """The two-sided p-value; 1 if unknown."""
        if not self.freedom:
            return 1.0
        if self.error <= 0:
            return _SMALLEST if self.difference else 1.0
        return student_tails(self.difference / self.error, self.freedom)

    def reach(self, confidence: float) -> float:
        """Return half the width of the interval that contains the true difference with this confidence."""
        low, high = 0.0, 1.0
        while student_tails(high, self.freedom) > 1 - confidence:
            high *= 2
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (
                (middle, high) if student_tails(middle, self.freedom) > 1 - confidence else (low, middle)
            )
        return high * self.error


def contrast_of_runs(base: Sequence[float], new: Sequence[float]) -> Contrast:
    """Return the difference of two single runs, given the means of their blocks."""
    return contrast(base, new, _BLOCK_VARIANCES, 2 * _START_DEVIATION**2)


def contrast_of_pairs(base: Sequence[float], new: Sequence[float]) -> Contrast:
    """Return the difference of two samples of positive values whose n-th were measured as a pair."""
    steps = logs(new) - logs(base)
    if len(steps) < 2:
        return Contrast(float(steps.mean()), 0.0, 0.0)
    return Contrast(float(steps.mean()), float(steps.std(ddof=1)) / math.sqrt(len(steps)), len(steps) - 1)


def contrast(
    base: Sequence[float], new: Sequence[float], variances: float = 0.0, constant: float = 0.0
) -> Contrast:
    """Return the difference of two independent samples of positive values.

    `variances` of a value and the `constant` are added to the variance of the difference.
    """
    samples = [logs(values) for values in (base, new)]
    difference = float(samples[1].mean() - samples[0].mean())
    if min(map(len, samples)) < 2:
        return Contrast(difference, 0.0, 0.0)
    errors = [float(sample.var(ddof=1)) * (variances + 1 / len(sample)) for sample in samples]
    total = sum(errors) + constant
    terms = sum(error**2 / (len(sample) - 1) for error, sample in zip(errors, samples, strict=True))
    # The constant has no estimation error, but must not give more degrees of freedom than the values have.
    limit = sum(map(len, samples)) - 2
    return Contrast(difference, math.sqrt(total), min(total**2 / terms, limit) if terms else limit)


def logs(values: Sequence[float]) -> npt.NDArray[np.float64]:
    """Return the logarithms of a sample.

    Raises:
        ValueError: It is empty or holds a value that is not positive.
    """
    array = np.asarray(values, dtype=np.float64)
    if not array.size or not (array > 0).all():
        raise ValueError("a sample is empty or holds a value that is not positive")
    return np.log(array)


def holm(p_values: Sequence[float], level: float) -> list[bool]:
    """Return which of several tests reject; any false rejection has a probability of at most `level` (Holm)."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    rejects = [False] * len(p_values)
    for rank, index in enumerate(order):
        if p_values[index] > level / (len(p_values) - rank):
            break
        rejects[index] = True
    return rejects


def student_tails(t: float, freedom: float) -> float:
    """Return the probability that Student's t is at least as far from 0 as `t`.

    The regularised incomplete beta function I_x(freedom/2, 1/2) at x = freedom / (freedom + t^2), by its continued
    fraction (Abramowitz and Stegun, 26.5.8).
    """
    x = freedom / (freedom + t * t)
    if x >= 1:
        return 1.0
    a, b = freedom / 2, 0.5
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_fraction(1 - x, b, a)
    return max(_SMALLEST, _beta_fraction(x, a, b))


def _beta_fraction(x: float, a: float, b: float) -> float:
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    upper = 1.0
    fraction = lower = 1 / ((1.0 - (a + b) * x / (a + 1)) or _SMALLEST)
    for m in range(1, 300):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = fraction
        for term in (even, odd):
            lower = 1 / ((1 + term * lower) or _SMALLEST)
            upper = (1 + term / upper) or _SMALLEST
            fraction *= upper * lower
        if abs(fraction - before) < 1e-12 * abs(fraction):
            break
    return math.exp(log_front) * fraction / a
