"""The rule by which the end of warm-up is found, in Python: written from its definition, not from the recorder's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

LOOKS = (4, 6, 8, 12, 16, 24, 32, 48, 64)
# 99% of Student's t, both sides together, as in the tables; by degrees of freedom.
STUDENT = {1: 63.657, 2: 9.925, 3: 5.841, 5: 4.032, 7: 3.499, 11: 3.106, 15: 2.947, 23: 2.807, 31: 2.744}


class CloseCallError(Exception):
    """Which way it goes depends on how the last digit is rounded."""


def mser(ticks: Sequence[float]) -> int:
    """White's truncation: the fewest first ticks after which the mean of the rest is known best."""

    def error(d: int) -> float:
        rest = ticks[d:]
        mean = fmean(rest)
        return math.fsum((x - mean) ** 2 for x in rest) / len(rest) ** 2

    errors = [error(d) for d in range(len(ticks) // 2 + 1)]
    least = min(errors)
    if sum(0 < each <= least * (1 + 1e-9) for each in errors) > 1:
        raise CloseCallError
    return errors.index(least)


def unlike(ticks: Sequence[float], first: int, tick: float) -> int:
    """How many of the `first` ticks are a warm-up, being unlike the second half, of ticks that take `tick`."""
    half = ticks[len(ticks) // 2 :]
    mean = fmean(half)
    margin = STUDENT[len(half) - 1] * stdev(half) * math.sqrt(1 + 1 / len(half))
    margin = max(margin, 0.05 * tick if len(half) >= 4 else tick)
    bounds = [mean - margin, mean + margin, mean + max(margin, tick)]
    if any(x and math.isclose(x, bound, rel_tol=1e-9) for x in ticks for bound in bounds):
        raise CloseCallError
    above = sum(x > mean + margin for x in ticks[:first])
    below = sum(x < mean - margin for x in ticks[:first])
    if 2 * max(above, below) >= first:
        return first
    far = bounds[-1]
    single = [at for at, x in enumerate(ticks[:first]) if x > far]
    return single[-1] + 1 if len(single) >= 3 and max(half) <= far else 0


def warm(ticks: Sequence[float], tick: float) -> int:
    """How many of these ticks are warm-up."""
    first = mser(ticks)
    return unlike(ticks, first, tick) if first else 0


def set_aside(durations: Sequence[int], waited: Sequence[int] | None = None) -> int:
    """How many ticks are set aside: at each look all until then, where more are warm-up than were set aside."""
    aside = 0
    for n in LOOKS:
        if n <= len(durations):
            tick = fmean(durations[n // 2 : n])
            found = warm(durations[:n], tick)
            if waited and any(waited[:n]):
                found = max(found, warm([d - w for d, w in zip(durations[:n], waited[:n])], tick))
            aside = n if found > aside else aside
    return aside
