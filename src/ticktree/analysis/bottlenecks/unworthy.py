"""Unworthy: sections that people would suspect, and that are not worth their work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ticktree.analysis.bottlenecks.bottleneck import Ceiling, ceiling
from ticktree.analysis.bottlenecks.steps import Frame, Step
from ticktree.profile import path as paths

# Even if it took no time at all, the loop would be less than so much faster.
TINY_SHARE = 0.05
# What takes less than this of a tick nobody suspects.
LEAST_SHARE = 0.001
# What projects rewrite first, because it is their own code and looks slow: the copies, the drawing, the log.
SUSPECTS = frozenset({"data", "preprocessing", "rendering", "logging"})
MOST = 3


@dataclass(frozen=True, slots=True)
class Unworthy:
    """A section, with all below it, whose ceiling is tiny.

    Attributes:
        frame: the loop it is in, or the run.
        step: the section.
        share: what part of the tick it and all below it take.
        ceiling: how fast the loop could be without it.
    """

    frame: Frame
    step: Step
    share: float
    ceiling: Ceiling


def not_worth_doing(frame: Frame) -> list[Unworthy]:
    """Return at most three sections without which a loop would hardly be faster.

    Those are sections that take, with all below them, at least 0.1% of the tick and of which the ceiling is under 5%.
    The usual suspects go first: data, preprocessing, rendering, logging. Then all others; the longest first. What is
    in one of them is left out, and what waits or runs beside the loop.
    """
    found: list[Unworthy] = []
    for step in sorted(_candidates(frame), key=lambda step: (step.category not in SUSPECTS, -step.total_ns)):
        if len(found) < MOST and not any(
            paths.is_below(step.path, one.step.path) or paths.is_below(one.step.path, step.path)
            for one in found
        ):
            found.append(Unworthy(frame, step, step.total_ns / frame.tick_ns, ceiling(frame, step.total_ns)))
    return found


def _candidates(frame: Frame) -> Iterator[Step]:
    for step in frame.steps[1:]:
        share = step.total_ns / frame.tick_ns
        without = ceiling(frame, step.total_ns).speedup
        is_tiny = without is not None and without < 1 + TINY_SHARE
        if is_tiny and share >= LEAST_SHARE and not step.is_wait and not step.is_parallel:
            yield step
