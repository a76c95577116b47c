"""How surprising two samples would be, were they of the same thing: Welch's test, on logarithms.

The rank interval decides whether one entry differs. A comparison has many entries, though, and at 95% each, one in
twenty differs by chance; ranks of a few runs cannot say that something is surprising enough to stand out among a
hundred. A t statistic can, and is used for nothing else (Welch, "The generalization of Student's problem when several
different population variances are involved", 1947; Holm, "A simple sequentially rejective multiple test procedure",
1979).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

_SMALLEST = 1e-300


def surprise(base: Sequence[float], new: Sequence[float]) -> float:
    """The two-sided p-value of Welch's test; 1 where a sample has fewer than two values.

    Args:
        base: Positive values.
        new: Positive values.
    """
    if min(len(base), len(new)) < 2:
        return 1.0
    samples = [np.log(np.asarray(values, dtype=np.float64)) for values in (base, new)]
    means = [float(sample.mean()) for sample in samples]
    errors = [float(sample.var(ddof=1)) / len(sample) for sample in samples]
    if sum(errors) <= 0:
        return 1.0 if means[0] == means[1] else _SMALLEST
    freedom = sum(errors) ** 2 / sum(
        error**2 / (len(sample) - 1) for error, sample in zip(errors, samples, strict=True)
    )
    return student_tails((means[1] - means[0]) / math.sqrt(sum(errors)), freedom)


def surprise_of_pairs(base: Sequence[float], new: Sequence[float]) -> float:
    """The two-sided p-value of Student's test on pairs; 1 where there are fewer than two.

    Args:
        base: Positive values.
        new: As many.
    """
    if len(base) < 2:
        return 1.0
    steps = np.log(np.asarray(new, dtype=np.float64)) - np.log(np.asarray(base, dtype=np.float64))
    error = float(steps.std(ddof=1)) / math.sqrt(len(steps))
    if error <= 0:
        return 1.0 if not steps.any() else _SMALLEST
    return student_tails(float(steps.mean()) / error, len(steps) - 1)


def stand_out(surprises: Sequence[float], level: float) -> list[bool]:
    """Which of several tests reject, such that any of them does so wrongly with probability `level` at most (Holm).

    Args:
        surprises: p-values, in any order.
        level: The error rate of all of them together.
    """
    order = sorted(range(len(surprises)), key=surprises.__getitem__)
    rejects = [False] * len(surprises)
    for rank, at in enumerate(order):
        if surprises[at] > level / (len(surprises) - rank):
            break
        rejects[at] = True
    return rejects


def student_tails(t: float, freedom: float) -> float:
    """The probability that Student's t is at least as far from 0 as `t`.

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
    upper, lower, fraction = 1.0, 1.0 - (a + b) * x / (a + 1), 1.0
    lower = 1 / (lower or _SMALLEST)
    fraction = lower
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
