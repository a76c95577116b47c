"""Change: whether a loop's time had a trend over the run, or a step to another level, or neither."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
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

# A trend so sure counts also where a step would leave less unexplained but may be chance. At `LEVEL` that would report
# a drift of up to 7% of steady loops instead of 1.7%, at this level of 2.0% (benchmarks/steadiness.py --trials 600).
SURE_LEVEL = 0.0001


class Stretch(NamedTuple):
    """Successive ticks.

    Attributes:
        first: index of the loop's window in which it begins.
        last: index of the window in which it ends.
        ticks: how many.
        total_ns: their duration.
    """

    first: int
    last: int
    ticks: int
    total_ns: int

    @property
    def mean_ns(self) -> float:
        """The mean duration of a tick."""
        return self.total_ns / self.ticks


def steady_stretches(node: Node) -> list[Stretch]:
    """Return the windows of a node in which calls ended, without those in which calls of the warm-up did.

    The node must be of one run: one merged from several has no single course over time.
    """
    windows = node.windows
    warmup = node.warmup.count if node.warmup else 0
    stretches = []
    passed = 0
    for index in sorted(windows.counts):
        passed += windows.counts[index]
        # The last window of the warm-up may contain steady calls too; which ones is not known.
        if passed - windows.counts[index] >= warmup:
            stretches.append(Stretch(index, index, windows.counts[index], windows.totals.get(index, 0)))
    return stretches


def joined(stretches: Sequence[Stretch], parts: int) -> list[Stretch]:
    """Return `parts` parts of about equally many stretches, in their order."""
    edges = [round(part * len(stretches) / parts) for part in range(parts + 1)]
    together = [stretches[begin:end] for begin, end in pairwise(edges)]
    return [
        Stretch(
            each[0].first, each[-1].last, sum(one.ticks for one in each), sum(one.total_ns for one in each)
        )
        for each in together
    ]


def in_windows(windows: Windows, width_ns: int, first: int, last: int) -> int:
    """Return the nanoseconds of the calls in windows of `width_ns`, or narrower, from `first` to `last`."""
    totals: Mapping[int, int] = windows.coarsened(width_ns).totals
    return sum(ns for index, ns in totals.items() if first <= index <= last)


# Most runs have a smaller change, on which no user would act.
LEAST_CHANGE = 0.05

Kind: TypeAlias = Literal["trend", "step"]


@dataclass(frozen=True, slots=True)
class LoopChange:
    """How a loop's time changed in a run.

    Attributes:
        kind: over the whole run, or at one moment.
        before: the ticks before a step; of a trend, the first third.
        after: the ticks from a step until the loop returned to its level, if it did; of a trend, the last third.
        before_ns: duration of a tick before a step; of a trend, at the beginning of its line.
        after_ns: duration of a tick after a step; of a trend, at the end of its line.
        lasts: whether the change lasted until the run's end.
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
        """How much longer a tick took, as a part of its duration before; negative if it became faster."""
        return self.after_ns / self.before_ns - 1


def change_of(node: Node) -> LoopChange | None:
    """Return how the time of a loop's node changed; None if it did not, or if that is uncertain.

    The loop must be of one run, on one thread.
    """
    stretches = steady_stretches(node)
    if len(stretches) < FEWEST or any(stretch.total_ns <= 0 for stretch in stretches):
        return None
    stretches = joined(stretches, min(MOST, len(stretches)))
    logs = [math.log(stretch.mean_ns) for stretch in stretches]
    step = most_different(logs)
    line, times, time_of = _straighter(logs, [stretch.mean_ns for stretch in stretches])
    start = line.middle - line.slope * (len(times) - 1) / 2
    from_line = (time - start - line.slope * place for place, time in enumerate(times))
    is_step = sum(map(abs, without(times, step))) < sum(map(abs, from_line))
    if is_step and is_real(logs, step):
        change = _step_change(stretches, step)
    elif line.is_real and (line.p < SURE_LEVEL or not is_step):
        change = _trend_change(stretches, line, time_of)
    else:
        return None
    # The slower level must be `LEAST_CHANGE` above the faster one.
    matters = abs(math.log(change.after_ns / change.before_ns)) >= math.log1p(LEAST_CHANGE)
    return change if matters else None


def _straighter(
    logs: Sequence[float], means_ns: Sequence[float]
) -> tuple[LinearTrend, Sequence[float], Callable[[float], float]]:
    """Return the clearer trend of ticks: by the same factor, or by the same time, in each part of the run.

    What grows with a buffer takes the same time more per item; in logarithms that is a curve, and no line fits it.
    With the trend come the values that it fits, and the function from one of these to nanoseconds.
    """
    by_factor, by_time = trend(logs), trend(means_ns)
    if by_time.errors > by_factor.errors and by_time.middle > abs(by_time.slope) * (len(means_ns) - 1) / 2:
        return by_time, means_ns, float
    return by_factor, logs, math.exp


def _step_change(stretches: Sequence[Stretch], step: LevelStep) -> LoopChange:
    before, after = tuple(stretches[: step.first]), tuple(stretches[step.first : step.end])
    rest = tuple(stretches[step.end :])
    return LoopChange("step", before, after, _middle_ns((*before, *rest)), _middle_ns(after), not rest, rest)


def _trend_change(
    stretches: Sequence[Stretch], line: LinearTrend, time_of: Callable[[float], float]
) -> LoopChange:
    half = line.slope * (len(stretches) - 1) / 2
    third = len(stretches) // 3
    return LoopChange(
        "trend",
        tuple(stretches[:third]),
        tuple(stretches[-third:]),
        time_of(line.middle - half),
        time_of(line.middle + half),
    )


def _middle_ns(stretches: Sequence[Stretch]) -> float:
    """Return the duration of a tick in the median stretch, on which a burst of slow ticks has little effect."""
    return median(stretch.mean_ns for stretch in stretches)
