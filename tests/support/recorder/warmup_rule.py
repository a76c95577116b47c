"""The rule that finds the end of warm-up, in Python: written from its definition, not from the recorder's code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

MOST = 256
BINS = 64
LOOKS = [
    n for n in range(4, MOST + 1) if n % max(1, 2 ** (n.bit_length() - 5)) == 0 and (n < 256 or n == MOST)
]


class CloseCallError(Exception):
    """Which way it goes depends on how the last digit is rounded."""


def over(left: float, right: float) -> bool:
    """Whether `left` is more; not where they are nearly the same and not 0."""
    if left != right and math.isclose(left, right, rel_tol=1e-9):
        raise CloseCallError
    return left > right


def part(ticks: Sequence[float], bound: float) -> float:
    """The part of the ticks that are over the bound."""
    return sum(over(tick, bound) for tick in ticks) / len(ticks)


def split(bins: Sequence[float], aside: int, width: int) -> int:
    """How many bins the first of two parts has, where their means explain most of the scatter; 0: no room for two."""
    after = bins[aside:]
    gains = {0: 0.0}
    for d in range(1, len(after)):
        k = len(after) - d
        if k * width >= math.floor(((aside + d) * width + 6) / 7):
            gains[d] = (fmean(after[:d]) - fmean(after[d:])) ** 2 * d * k / len(after)
    best = max(gains.values())
    if sum(best * (1 - 1e-9) <= gain for gain in gains.values()) > 1 and best:
        raise CloseCallError
    return max(gains, key=gains.__getitem__) if best > 1e-12 * fmean(bins) ** 2 else 0


def student(freedom: float) -> float:
    """99.95% of Student's t on one side, nearly."""
    return 3.5 * (1 + 2.76 / freedom + 10 / freedom**2)


def error(first: Sequence[float], second: Sequence[float]) -> float:
    """The standard error of the difference of the means, neighbours being as alike as they are."""
    off = [x - fmean(first) for x in first] + [x - fmean(second) for x in second]
    squares = math.fsum(x * x for x in off)
    if not squares:
        return 0.0
    alike = min(0.95, max(0.0, math.fsum(a * b for a, b in pairwise(off)) / squares))
    variance = squares / (len(off) - 2)
    return math.sqrt(variance * (1 / len(first) + 1 / len(second)) * (1 + alike) / (1 - alike))


def ended(bins: Sequence[float], aside: int, width: int, tick: float) -> bool:
    """Whether the bins after those set aside begin with a warm-up that has ended; `tick`: what a bin takes."""
    if len(bins) < aside + 3:
        return False
    d = split(bins, aside, width)
    first, second = bins[aside : aside + d], bins[aside + d :]
    if not d:
        return False
    k, before, after = len(second), fmean(first), fmean(second)
    gets_longer = after > before
    if gets_longer and (width > 1 or k < d or k < 8):
        return False
    margin = max(0.1 * tick, 0.5 / k * min(before, after))
    if d == 1 or d + k < 6:
        margin = max(margin, after)
    apart = abs(before - after)
    if not over(apart, margin) or not over(apart, student(d + k - 2) * error(first, second)):
        return False
    if gets_longer:
        return part(first, after - margin) <= 0.25 and part(second, before + margin) >= 0.75
    was_there = 1 - part(bins[:aside], after + margin) if aside else 0
    return (
        part(first, after + margin) >= 0.75
        and part(second, before - margin / 2) <= 0.25
        and round(was_there * aside) * 10 <= aside
    )


def singles(bins: Sequence[float], aside: int, width: int, tick: float) -> bool:
    """Whether there were far longer ticks, the last not yet set aside, and none in the second half.

    Three or more by a tick, or one of the first four by ten.
    """
    half = len(bins) // 2
    later = bins[half:]
    if width > 1 or len(later) < 4:
        return False
    bound = fmean(later) + tick
    far = [index for index, x in enumerate(bins[:half]) if over(x, bound)]
    has_compilation = any(over(bins[index], fmean(later) + 10 * tick) for index in far if index < 4)
    return (has_compilation or len(far) >= 3) and far[-1] >= aside and not any(over(x, bound) for x in later)


def set_aside(durations: Sequence[int], waited: Sequence[int] | None = None) -> int:
    """How many ticks are set aside: at each look all until then, where they are warm-up and another tick follows."""
    aside = 0
    for n in LOOKS:
        if n >= len(durations):
            break
        if n < 2 * aside:
            continue
        width = 1 if n <= BINS else 2 if n <= 2 * BINS else 4
        series = [durations[:n]]
        if waited and any(waited[:n]):
            series.append([d - w for d, w in zip(durations[:n], waited[:n])])
        binned_series = [
            [sum(ticks[start : start + width]) for start in range(0, n, width)] for ticks in series
        ]
        tick = fmean(binned_series[0][len(binned_series[0]) // 2 :])
        past = math.ceil(aside / width)
        if any(rule(bins, past, width, tick) for bins in binned_series for rule in (ended, singles)):
            aside = n
    return aside
