"""Blocks: one run's calls as a few values that may be taken for independent.

Neighbouring ticks resemble each other: a test that takes them for independent finds a difference between two runs of
the same program in most trials. So the unit is not the tick but a stretch of the run long enough to forget how the
one before it went (batch means). How long that is, is estimated from the run itself: the integrated autocorrelation
time by Geyer's initial positive sequence ("Practical Markov chain Monte Carlo", 1992).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ticktree.profile import Node
from ticktree.profile.windows import Windows

# Fewer leave an interval without ends: two samples of four are the smallest with a 95% one.
FEWEST = 5
# So many that an interval is as narrow as the data allow, so few that a block is long.
_MOST = 16
# A block as long as this many autocorrelation times keeps little memory of the one before.
_LENGTH_IN_TIMES = 3.0


class Stretch(NamedTuple):
    """Calls that ended one after another.

    Attributes:
        calls: how many.
        total_ns: what they took.
    """

    calls: int
    total_ns: int


def block_means(node: Node) -> list[float]:
    """Mean durations, in ns, of stretches of a node's steady calls; too few to compare where the run was too short.

    Args:
        node: Of one run. What was merged from several has no one course over time.
    """
    stretches = _steady(node.windows, node.warmup.count if node.warmup else 0)
    if len(stretches) < FEWEST:
        return [stretch.total_ns / stretch.calls for stretch in stretches]
    means = np.array([stretch.total_ns / stretch.calls for stretch in stretches])
    length = max(1, round(_LENGTH_IN_TIMES * autocorrelation_time(means)))
    blocks = min(_MOST, len(stretches) // length)
    return [] if blocks < FEWEST else _merged(stretches, blocks)


def autocorrelation_time(values: Sequence[float] | npt.NDArray[np.float64]) -> float:
    """How many values in a row tell no more than one would; 1 where they are independent.

    Args:
        values: Equally spaced in time, at least two.
    """
    centred = np.asarray(values, dtype=np.float64) - np.mean(values)
    variance = float(centred @ centred)
    if variance <= 0:
        return 1.0
    correlations = [
        float(centred[: len(centred) - lag] @ centred[lag:]) / variance for lag in range(len(centred))
    ]
    time = -1.0
    for even, odd in zip(correlations[0::2], correlations[1::2], strict=False):
        if even + odd <= 0:  # from here on there is noise only
            break
        time += 2 * (even + odd)
    return max(1.0, time)


def _steady(windows: Windows, warmup_calls: int) -> list[Stretch]:
    """The windows with calls, but for those in which the first `warmup_calls` ended."""
    stretches = []
    passed = 0
    for index in sorted(windows.counts):
        passed += windows.counts[index]
        # The last window of the warm-up holds steady calls as well; which, nobody knows.
        if passed > warmup_calls and passed - windows.counts[index] >= warmup_calls:
            stretches.append(Stretch(windows.counts[index], windows.totals.get(index, 0)))
    return stretches


def _merged(stretches: list[Stretch], blocks: int) -> list[float]:
    """Mean durations of so many blocks of about equally many stretches."""
    edges = np.linspace(0, len(stretches), blocks + 1).round().astype(int)
    means = []
    for begin, end in pairwise(edges):
        block = stretches[begin:end]
        means.append(sum(stretch.total_ns for stretch in block) / sum(stretch.calls for stretch in block))
    return means
