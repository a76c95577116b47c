"""Bottlenecks: what each section of a loop costs it, how fast the loop could be without, and what is not worth it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ticktree.analysis.finding import Weights
from ticktree.analysis.loops import LoopView, Saving, SectionView
from ticktree.profile import path as paths


class Scores:
    """The weighted scores of the sections of one tick.

    A section's score is 100 times the weighted mean of four fractions: its self time as a share of the tick; its self
    time per call, and the memory and device memory that a call needs, each as a share of the maximum over all
    sections. What was not measured is left out of a section's mean, not taken as 0.

    Args:
        sections: of the tick. Only those that work on the loop's path have scores.
        tick_ns: the tick.
        weights: of the four fractions.
    """

    def __init__(self, sections: Iterable[SectionView], tick_ns: float, weights: Weights) -> None:
        ranked = [section for section in sections if is_work(section)]
        self._tick_ns = tick_ns
        self._weights = weights
        self._call_ns = _greatest(ranked, call_ns)
        self._memory = _greatest(ranked, memory_bytes)
        self._device_memory = _greatest(ranked, device_memory_bytes)

    def of(self, section: SectionView) -> float | None:
        """Return the score of `section`, from 0 to 100; None if nothing with a weight was measured."""
        parts = (
            (self._weights.time, section.self_ns / self._tick_ns),
            (self._weights.call, _part(call_ns(section), self._call_ns)),
            (self._weights.memory, _part(memory_bytes(section), self._memory)),
            (self._weights.device_memory, _part(device_memory_bytes(section), self._device_memory)),
        )
        known = [(weight, part) for weight, part in parts if part is not None]
        together = sum(weight for weight, _ in known)
        return 100 * sum(weight * part for weight, part in known) / together if together else None


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
        view: the loop, or the run.
        section: the section. Its `self_ns` is the most that could be saved in a tick.
        share: its self time as a share of the tick.
        call_ns: self time per call; None if it was not called in the steady phase.
        saving: what the loop would gain; None for concurrent sections, and for the sleep that holds the loop's rate.
        score: 0 to 100, see `Scores`; None for sections that do not work on the loop's path.
        memory_bytes: the most memory that a call needed beyond what was allocated before; None if not measured.
        device_memory_bytes: the same for a device's memory.
    """

    view: LoopView
    section: SectionView
    share: float
    call_ns: float | None
    saving: Saving | None
    score: float | None
    memory_bytes: int | None
    device_memory_bytes: int | None


def bottlenecks(view: LoopView, weights: Weights) -> list[Bottleneck]:
    """Return the sections of `view`, the one with most self time on the loop's path first, then the concurrent ones.

    None of them contains the cost of ticktree itself.
    """
    scores = Scores(view.sections, view.tick_ns, weights)
    found = [
        _bottleneck(view, section, scores)
        for section in view.sections
        if section.self_ns > 0 or section.concurrent_ns > 0
    ]
    return sorted(found, key=_order)


def _order(one: Bottleneck) -> tuple[bool, float, float, str]:
    section = one.section
    return section.is_parallel, -section.self_ns, -section.concurrent_ns, section.path


def _bottleneck(view: LoopView, section: SectionView, scores: Scores) -> Bottleneck:
    calls = section.calls
    on_path = section.self_ns > 0 and not section.is_parallel and not section.is_slack
    self_ns = section.concurrent_ns if section.is_parallel else section.self_ns
    return Bottleneck(
        view=view,
        section=section,
        share=self_ns / view.tick_ns,
        call_ns=self_ns / calls if calls else None,
        saving=view.saving(section.self_ns) if on_path else None,
        score=scores.of(section) if on_path and not section.is_wait else None,
        memory_bytes=memory_bytes(section),
        device_memory_bytes=device_memory_bytes(section),
    )


def is_work(section: SectionView) -> bool:
    """Return whether `section` works on the loop's path: neither waits nor runs concurrently with it."""
    return section.self_ns > 0 and not section.is_wait and not section.is_parallel


def call_ns(section: SectionView) -> float | None:
    """Return the self time per call; None without calls in the steady phase."""
    return section.self_ns / section.calls if section.calls else None


def memory_bytes(section: SectionView) -> int | None:
    """Return the most memory that a call needed beyond what was allocated at its begin; None if not measured.

    Not the process's peak: that is as large in a section that needs nothing, next to one that needs much.
    """
    return None if section.node.memory is None else section.node.memory.growth_bytes


def device_memory_bytes(section: SectionView) -> int | None:
    """Return the same of a device's memory."""
    return None if section.node.device_memory is None else section.node.device_memory.growth_bytes


def _greatest(sections: Iterable[SectionView], measure: Callable[[SectionView], float | None]) -> float:
    return max((value for section in sections if (value := measure(section)) is not None), default=0.0)


def _part(value: float | None, greatest: float) -> float | None:
    if value is None:
        return None
    return value / greatest if greatest > 0 else 0.0


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
    together: dict[str, tuple[float, int]] = {}
    for section in view.sections:
        if section.self_ns > 0:
            ns, sections = together.get(section.category or OTHER, (0.0, 0))
            together[section.category or OTHER] = (ns + section.self_ns, sections + 1)
    found = [
        CategoryShare(name, ns, ns / view.tick_ns, sections) for name, (ns, sections) in together.items()
    ]
    return sorted(found, key=lambda one: (one.name == OTHER, -one.ns, one.name))


@dataclass(frozen=True, slots=True)
class Unworthy:
    """A section whose ceiling is tiny, with all below it.

    Attributes:
        view: the loop it is in, or the run.
        section: the section.
        share: of the tick, with all below it.
        saving: how fast the loop could be without it.
    """

    view: LoopView
    section: SectionView
    share: float
    saving: Saving


def not_worth_doing(view: LoopView) -> list[Unworthy]:
    """Return at most three sections without which a loop would hardly be faster.

    Such a section takes, with all below it, at least 0.1% of the tick, and its ceiling is under 5%. The usual suspects
    come first (data, preprocessing, rendering, logging), then all others, each the longest first. A section below one
    that was chosen is left out, and so are waits and what runs concurrently with the loop.
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
            and share >= LEAST_UNWORTHY_SHARE
            and not section.is_wait
            and not section.is_parallel
        ):
            yield section
