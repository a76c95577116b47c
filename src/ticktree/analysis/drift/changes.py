"""Change: which of the two a loop's time did, if any: rise or fall all along, or go to another level for a while."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal, TypeAlias

from ticktree.analysis.drift import step as steps
from ticktree.analysis.drift.step import Step, is_real, most_different, without
from ticktree.analysis.drift.trend import Trend, trend
from ticktree.analysis.drift.windows import Stretch, joined, steady_stretches
from ticktree.profile import Node

# A smaller change is there in most runs, and nobody would do anything about it.
LEAST_CHANGE = 0.05

Kind: TypeAlias = Literal["trend", "step"]


@dataclass(frozen=True, slots=True)
class Change:
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


def change_of(node: Node) -> Change | None:
    """Return how the time of a loop's node changed; None where it did not, or where nobody can tell.

    Args:
        node: of a loop of one run, on one thread.
    """
    stretches = steady_stretches(node)
    if len(stretches) < steps.FEWEST or any(each.total_ns <= 0 for each in stretches):
        return None
    stretches = joined(stretches, min(steps.MOST, len(stretches)))
    logs = [math.log(each.mean_ns) for each in stretches]
    step, line = most_different(logs), trend(logs)
    if _size(without(logs, step)) < _size(_beside(logs, line)):
        change = _stepped(stretches, step) if is_real(logs, step) else None
    else:
        change = _trending(stretches, line) if line.is_real else None
    return change if change is not None and _matters(change) else None


def _stepped(stretches: Sequence[Stretch], step: Step) -> Change:
    before, after = tuple(stretches[: step.first]), tuple(stretches[step.first : step.end])
    rest = tuple(stretches[step.end :])
    return Change("step", before, after, _middle_ns((*before, *rest)), _middle_ns(after), not rest, rest)


def _trending(stretches: Sequence[Stretch], line: Trend) -> Change:
    half = line.slope * (len(stretches) - 1) / 2
    third = len(stretches) // 3
    return Change(
        "trend",
        tuple(stretches[:third]),
        tuple(stretches[-third:]),
        math.exp(line.middle - half),
        math.exp(line.middle + half),
    )


def _matters(change: Change) -> bool:
    """Whether the slower level is so much above the faster one."""
    return abs(math.log(change.after_ns / change.before_ns)) >= math.log1p(LEAST_CHANGE)


def _middle_ns(stretches: Sequence[Stretch]) -> float:
    """What a tick took in the median stretch: a burst of slow ticks does not count more than any other."""
    return median(each.mean_ns for each in stretches)


def _beside(values: Sequence[float], line: Trend) -> list[float]:
    start = line.middle - line.slope * (len(values) - 1) / 2
    return [value - start - line.slope * place for place, value in enumerate(values)]


def _size(rest: Sequence[float]) -> float:
    return sum(map(abs, rest))
