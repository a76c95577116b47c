"""Bottlenecks: what each section of a loop costs it, how fast the loop could be without, and what is not worth it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ticktree.analysis.finding import Weights
from ticktree.analysis.loops import LoopView, Saving, SectionView
from ticktree.profile import path as paths

OTHER = "other"
# Even if the section took no time, the loop would be faster by less than this.
TINY_SHARE = 0.05
# Sections with a smaller share of a tick are never suspected.
LEAST_UNWORTHY_SHARE = 0.001
# What instruments/gc calls a pause of the garbage collector.
GC_PAUSE = "gc pause"
# Categories that projects optimize first, because it is their own code and looks slow: copies, drawing, logging.
SUSPECTS = frozenset({"data", "preprocessing", "rendering", "logging"})
MOST = 3


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """A section of a loop, and what the loop would gain if it were faster.

    Attributes:
        section: the section. Its `self_ns` is the most that could be saved in a tick.
        share: its self time as a share of the tick.
        call_ns: self time per call; None if it was not called in the steady phase.
        saving: what the loop would gain; None for concurrent sections, and for the sleep that holds the loop's rate.
        score: 0 to 100, see `_score`; None for sections that do not work on the loop's path.
        memory_bytes: the most memory that a call needed beyond what was allocated at its begin; None if not measured.
            Not the process's peak: that is as large in a section that needs nothing, next to one that needs much.
        device_memory_bytes: the same for a device's memory.
    """

    section: SectionView
    share: float
    call_ns: float | None
    saving: Saving | None
    score: float | None
    memory_bytes: int | None
    device_memory_bytes: int | None

    @property
    def view(self) -> LoopView:
        """The loop, or the run."""
        return self.section.view


def bottlenecks(view: LoopView, weights: Weights) -> list[Bottleneck]:
    """Return the sections of `view`, the one with most self time on the loop's path first, then the concurrent ones.

    None of them contains the cost of ticktree itself.
    """
    measured = [_needs(each) for each in view.sections if _is_work(each)]
    greatest = [
        max((value for value in values if value), default=0.0) for values in zip(*measured, strict=True)
    ]
    found = [
        _bottleneck(section, greatest, weights)
        for section in view.sections
        if section.self_ns > 0 or section.concurrent_ns > 0
    ]
    return sorted(found, key=_order)


def _order(one: Bottleneck) -> tuple[bool, float, float, str]:
    section = one.section
    return section.is_parallel, -section.self_ns, -section.concurrent_ns, section.path


def _bottleneck(section: SectionView, greatest: Sequence[float], weights: Weights) -> Bottleneck:
    view, calls = section.view, section.calls
    on_path = section.self_ns > 0 and not section.is_parallel and not section.is_slack
    self_ns = section.concurrent_ns if section.is_parallel else section.self_ns
    _, memory_bytes, device_memory_bytes = _needs(section)
    return Bottleneck(
        section=section,
        share=self_ns / view.tick_ns,
        call_ns=self_ns / calls if calls else None,
        saving=view.saving(section.self_ns) if on_path else None,
        score=_score(section, greatest, weights) if on_path and not section.is_wait else None,
        memory_bytes=memory_bytes,
        device_memory_bytes=device_memory_bytes,
    )


def _is_work(section: SectionView) -> bool:
    """Return whether `section` works on the loop's path: neither waits nor runs concurrently with it."""
    return section.self_ns > 0 and not section.is_wait and not section.is_parallel


def _needs(section: SectionView) -> tuple[float | None, int | None, int | None]:
    """Return a call's self time, and what it needs of memory and of a device's memory; None if not measured."""
    memory, device_memory = section.node.memory, section.node.device_memory
    return (
        section.self_ns / section.calls if section.calls else None,
        None if memory is None else memory.growth_bytes,
        None if device_memory is None else device_memory.growth_bytes,
    )


def _score(section: SectionView, greatest: Sequence[float], weights: Weights) -> float | None:
    """Return the score of `section`, from 0 to 100; None if nothing with a weight was measured.

    It is 100 times the weighted mean of four fractions: the self time as a share of the tick; and the self time per
    call, and the memory and device memory that a call needs, each as a share of the maximum over all sections that
    work. What was not measured is left out of the mean, not taken as 0.
    """
    parts = [(weights.time, section.self_ns / section.view.tick_ns)]
    others = (weights.call, weights.memory, weights.device_memory)
    for weight, value, most in zip(others, _needs(section), greatest, strict=True):
        if value is not None:
            parts.append((weight, value / most if most > 0 else 0.0))
    together = sum(weight for weight, _ in parts)
    return 100 * sum(weight * part for weight, part in parts) / together if together else None


@dataclass(frozen=True, slots=True)
class CategoryShare:
    """The share of a tick that one category of sections takes, on the loop's path.

    Attributes:
        name: of the category; "other" for sections that have none.
        ns: self time of all its sections in a mean steady tick, or in the run.
        share: `ns` divided by that tick, or by the run.
        sections: number of sections with self time.
    """

    name: str
    ns: float
    share: float
    sections: int


def category_shares(view: LoopView) -> list[CategoryShare]:
    """Return the categories in which time is spent, the largest first.

    They and the cost of ticktree itself sum to the tick: each section's self time counts once.
    """
    together: dict[str, list[float]] = defaultdict(list)
    for section in view.sections:
        if section.self_ns > 0:
            together[section.category or OTHER].append(section.self_ns)
    found = [CategoryShare(name, sum(ns), sum(ns) / view.tick_ns, len(ns)) for name, ns in together.items()]
    return sorted(found, key=lambda one: (one.name == OTHER, -one.ns, one.name))


@dataclass(frozen=True, slots=True)
class Unworthy:
    """A section whose ceiling is tiny, with all below it.

    Attributes:
        section: the section.
        share: of the tick.
        saving: how fast the loop could be without it.
    """

    section: SectionView
    share: float
    saving: Saving


def not_worth_doing(view: LoopView) -> list[Unworthy]:
    """Return at most three sections without which a loop would hardly be faster.

    Such a section takes, with all below it, at least 0.1% of the tick, and its ceiling is under 5%. The usual suspects
    come first (data, preprocessing, rendering, logging), then all others, each the longest first. A section below one
    that was chosen is left out, and so are waits and what runs concurrently with the loop.
    """
    chosen: list[SectionView] = []
    likely = filter(_is_unworthy, view.sections[1:])
    for section in sorted(likely, key=lambda each: (each.category not in SUSPECTS, -each.total_ns)):
        if len(chosen) < MOST and not any(
            paths.is_below(section.path, one.path) or paths.is_below(one.path, section.path) for one in chosen
        ):
            chosen.append(section)
    return [Unworthy(one, one.total_ns / view.tick_ns, view.saving(one.total_ns)) for one in chosen]


def _is_unworthy(section: SectionView) -> bool:
    view = section.view
    without = view.saving(section.total_ns).speedup
    return (
        without is not None
        and without < 1 + TINY_SHARE
        # Pauses are everywhere: what is little in each place is summed by the rule garbage-collection.
        and section.name != GC_PAUSE
        and section.total_ns / view.tick_ns >= LEAST_UNWORTHY_SHARE
        and not section.is_wait
        and not section.is_parallel
    )
