"""Change: which of the two a loop's time did, if any: rise or fall all along, or go to another level for a while."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Literal, NamedTuple, TypeAlias

from ticktree.analysis.drift.statistics import (
    FEWEST,
    MOST,
    LevelStep,
    LinearTrend,
    is_real,
    most_different,
    trend,
    without,
)
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
        # The last window of the warm-up holds steady calls as well; which ones is not known.
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


# A smaller change is there in most runs, and no one would act on it.
LEAST_CHANGE = 0.05

Kind: TypeAlias = Literal["trend", "step"]


@dataclass(frozen=True, slots=True)
class LoopChange:
    """How a loop's time changed in a run.

    Attributes:
        kind: all along, or from one moment on.
        before: the ticks before it changed; of a trend, the first third.
        after: the ticks from then on until it was as before, if it ever was; of a trend, the last third.
        before_ns: what a tick took at first; of a trend, at its line's beginning.
        after_ns: what a tick took then; of a trend, at its line's end.
        lasts: whether it stayed so until the run's end.
        rest: the ticks after a change that did not last.
    """

    kind: Kind
    before: tuple[Stretch, ...]
    after: tuple[Stretch, ...]
    before_ns: float
    after_ns: float
    lasts: bool = True
    rest: tuple[Stretch, ...] = ()

    @property
    def change(self) -> float:
        """How much longer a tick took, as a part of what it took before; negative where it became faster."""
        return self.after_ns / self.before_ns - 1


def change_of(node: Node) -> LoopChange | None:
    """Return how the time of a loop's node changed; None where it did not, or where it cannot be told.

    Args:
        node: of a loop of one run, on one thread.
    """
    stretches = steady_stretches(node)
    if len(stretches) < FEWEST or any(each.total_ns <= 0 for each in stretches):
        return None
    stretches = joined(stretches, min(MOST, len(stretches)))
    logs = [math.log(each.mean_ns) for each in stretches]
    step, line = most_different(logs), trend(logs)
    if _size(without(logs, step)) < _size(_beside(logs, line)):
        change = _stepped(stretches, step) if is_real(logs, step) else None
    else:
        change = _trending(stretches, line) if line.is_real else None
    return change if change is not None and _matters(change) else None


def _stepped(stretches: Sequence[Stretch], step: LevelStep) -> LoopChange:
    before, after = tuple(stretches[: step.first]), tuple(stretches[step.first : step.end])
    rest = tuple(stretches[step.end :])
    return LoopChange("step", before, after, _middle_ns((*before, *rest)), _middle_ns(after), not rest, rest)


def _trending(stretches: Sequence[Stretch], line: LinearTrend) -> LoopChange:
    half = line.slope * (len(stretches) - 1) / 2
    third = len(stretches) // 3
    return LoopChange(
        "trend",
        tuple(stretches[:third]),
        tuple(stretches[-third:]),
        math.exp(line.middle - half),
        math.exp(line.middle + half),
    )


def _matters(change: LoopChange) -> bool:
    """Whether the slower level is so much above the faster one."""
    return abs(math.log(change.after_ns / change.before_ns)) >= math.log1p(LEAST_CHANGE)


def _middle_ns(stretches: Sequence[Stretch]) -> float:
    """What a tick took in the median stretch: a burst of slow ticks does not count more than any other."""
    return median(each.mean_ns for each in stretches)


def _beside(values: Sequence[float], line: LinearTrend) -> list[float]:
    start = line.middle - line.slope * (len(values) - 1) / 2
    return [value - start - line.slope * place for place, value in enumerate(values)]


def _size(rest: Sequence[float]) -> float:
    return sum(map(abs, rest))
