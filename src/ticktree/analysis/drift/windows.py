"""Stretches: a loop's steady ticks in the order of time, as a few dozen values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ticktree.profile import Node, Windows


class Stretch(NamedTuple):
    """Ticks that ended one after another.

    Attributes:
        first: the window in which it begins, by the loop's own windows.
        last: the window in which it ends.
        ticks: how many.
        total_ns: what they took.
    """

    first: int
    last: int
    ticks: int
    total_ns: int

    @property
    def mean_ns(self) -> float:
        """What one took."""
        return self.total_ns / self.ticks


def steady_stretches(node: Node) -> list[Stretch]:
    """Return the windows of a node in which calls ended, but for those in which calls of the warm-up did.

    Args:
        node: of one run: what was merged from several has no one course over time.
    """
    windows = node.windows
    warmup = node.warmup.count if node.warmup else 0
    stretches = []
    passed = 0
    for index in sorted(windows.counts):
        passed += windows.counts[index]
        # The last window of the warm-up holds steady calls as well; which, nobody knows.
        if passed - windows.counts[index] >= warmup:
            stretches.append(Stretch(index, index, windows.counts[index], windows.totals.get(index, 0)))
    return stretches


def joined(stretches: Sequence[Stretch], parts: int) -> list[Stretch]:
    """Return so many parts of about equally many stretches, in their order."""
    edges = [round(part * len(stretches) / parts) for part in range(parts + 1)]
    return [_sum(stretches[begin:end]) for begin, end in pairwise(edges)]


def _sum(stretches: Sequence[Stretch]) -> Stretch:
    return Stretch(
        stretches[0].first,
        stretches[-1].last,
        sum(each.ticks for each in stretches),
        sum(each.total_ns for each in stretches),
    )


def in_windows(windows: Windows, width_ns: int, first: int, last: int) -> int:
    """Return the nanoseconds of the calls booked from window `first` to `last` of windows of `width_ns`.

    Args:
        windows: of the same width or finer ones.
        width_ns: whose numbers `first` and `last` are.
        first: the first window.
        last: the last, which counts too.
    """
    totals: Mapping[int, int] = windows.coarsened(width_ns).totals
    return sum(ns for index, ns in totals.items() if first <= index <= last)
