"""Unworthy: sections that people would suspect, and that are not worth their work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ticktree.analysis.loops import LoopView, Saving, SectionView
from ticktree.profile import path as paths

# Even if it took no time at all, the loop would be less than so much faster.
TINY_SHARE = 0.05
# What takes less than this of a tick nobody suspects.
LEAST_SHARE = 0.001
# What instruments/gc calls a pause of the garbage collector.
GC_PAUSE = "gc pause"
# What projects rewrite first, because it is their own code and looks slow: the copies, the drawing, the log.
SUSPECTS = frozenset({"data", "preprocessing", "rendering", "logging"})
MOST = 3


@dataclass(frozen=True, slots=True)
class Unworthy:
    """A section, with all below it, whose ceiling is tiny.

    Attributes:
        view: the loop it is in, or the run.
        section: the section.
        share: what part of the tick it and all below it take.
        saving: how fast the loop could be without it.
    """

    view: LoopView
    section: SectionView
    share: float
    saving: Saving


def not_worth_doing(view: LoopView) -> list[Unworthy]:
    """Return at most three sections without which a loop would hardly be faster.

    Those are sections that take, with all below them, at least 0.1% of the tick and of which the ceiling is under 5%.
    The usual suspects go first: data, preprocessing, rendering, logging. Then all others; the longest first. What is
    in one of them is left out, and what waits or runs beside the loop.
    """
    found: list[Unworthy] = []
    for section in sorted(
        _candidates(view), key=lambda section: (section.category not in SUSPECTS, -section.total_ns)
    ):
        if len(found) < MOST and not any(
            paths.is_below(section.path, one.section.path) or paths.is_below(one.section.path, section.path)
            for one in found
        ):
            found.append(
                Unworthy(view, section, section.total_ns / view.tick_ns, view.saving(section.total_ns))
            )
    return found


def _candidates(view: LoopView) -> Iterator[SectionView]:
    for section in view.sections[1:]:
        share = section.total_ns / view.tick_ns
        without = view.saving(section.total_ns).speedup
        # Pauses are everywhere: what is little in each place is summed by the rule garbage-collection.
        is_pause = section.node.name == GC_PAUSE
        is_tiny = without is not None and without < 1 + TINY_SHARE
        if (
            is_tiny
            and not is_pause
            and share >= LEAST_SHARE
            and not section.is_wait
            and not section.is_parallel
        ):
            yield section
