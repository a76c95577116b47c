"""Bottlenecks: what each section costs its loop, how fast the loop could be, and what is not worth doing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ticktree.analysis.finding import Weights
from ticktree.analysis.loops import LoopView, Saving, SectionView
from ticktree.profile import path as paths

OTHER = "other"
# A section is not worth optimizing if the loop would be faster by less than this without it.
TINY_SHARE = 0.05
# Sections with a smaller share of a tick are not listed as not worth optimizing: they are never suspected.
MIN_UNWORTHY_SHARE = 0.001
# The name that instruments/gc gives to a pause of the garbage collector.
GC_PAUSE = "gc pause"
# Categories that projects optimize first, because it is the project's code and looks slow: copies, drawing, logging.
SUSPECTS = frozenset({"data", "preprocessing", "rendering", "logging"})
MOST = 3


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """A section of a loop, and what the loop would gain if it were faster.

    Attributes:
        section: the section. Its `self_ns` is the maximum saving per tick.
        share: its self time as a share of the tick.
        call_ns: self time per call; None if it was not called in the steady phase.
        saving: what the loop would gain without it; None for concurrent sections, and for the sleep that holds the
            loop's rate.
        score: 0 to 100, see `_score`; None for sections that do not work on the loop's path.
        memory_bytes: the maximum memory that a call needed beyond what was allocated at its begin; None if not
            measured. It is not the process's peak, which is as large in a section that needs no memory.
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
    """Return the sections of `view` by self time on the loop's path, the largest first, then the concurrent ones.

    Their times do not contain the cost of ticktree itself.
    """
    on_path = (section for section in view.sections if section.self_ns > 0)
    needs = [_call_needs(section) for section in on_path if not section.is_wait and not section.is_parallel]
    maxima = [max((value for value in values if value), default=0.0) for values in zip(*needs, strict=True)]
    by_cost = sorted(
        (section for section in view.sections if section.self_ns > 0 or section.concurrent_ns > 0),
        key=lambda section: (section.is_parallel, -section.self_ns, -section.concurrent_ns, section.path),
    )
    return [_bottleneck(section, maxima, weights) for section in by_cost]


def _bottleneck(section: SectionView, maxima: Sequence[float], weights: Weights) -> Bottleneck:
    view, calls = section.view, section.calls
    is_on_path = section.self_ns > 0 and not section.is_parallel and not section.is_slack
    self_ns = section.concurrent_ns if section.is_parallel else section.self_ns
    _, memory_bytes, device_memory_bytes = _call_needs(section)
    return Bottleneck(
        section=section,
        share=self_ns / view.tick_ns,
        call_ns=self_ns / calls if calls else None,
        saving=view.saving(section.self_ns) if is_on_path else None,
        score=_score(section, maxima, weights) if is_on_path and not section.is_wait else None,
        memory_bytes=memory_bytes,
        device_memory_bytes=device_memory_bytes,
    )


def _call_needs(section: SectionView) -> tuple[float | None, int | None, int | None]:
    """Return a call's self time, memory and device memory; None for those that were not measured."""
    memory, device_memory = section.node.memory, section.node.device_memory
    return (
        section.self_ns / section.calls if section.calls else None,
        None if memory is None else memory.growth_bytes,
        None if device_memory is None else device_memory.growth_bytes,
    )


def _score(section: SectionView, maxima: Sequence[float], weights: Weights) -> float | None:
    """Return the score of `section`, from 0 to 100; None if nothing with a weight was measured.

    It is 100 times the weighted mean of four fractions: the self time as a share of the tick; and the self time per
    call, and the memory and device memory that a call needs, each as a share of the maximum over all sections that
    work. A fraction that was not measured is left out of the mean, not taken as 0.
    """
    parts = [(weights.time, section.self_ns / section.view.tick_ns)]
    weights_of_needs = (weights.call, weights.memory, weights.device_memory)
    for weight, value, maximum in zip(weights_of_needs, _call_needs(section), maxima, strict=True):
        if value is not None:
            parts.append((weight, value / maximum if maximum > 0 else 0.0))
    total_weight = sum(weight for weight, _ in parts)
    return 100 * sum(weight * fraction for weight, fraction in parts) / total_weight if total_weight else None


@dataclass(frozen=True, slots=True)
class CategoryShare:
    """The share of a tick that one category of sections takes, on the loop's path.

    Attributes:
        name: name of the category; "other" for sections without one.
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
    ns_by_category: dict[str, list[float]] = defaultdict(list)
    for section in view.sections:
        if section.self_ns > 0:
            ns_by_category[section.category or OTHER].append(section.self_ns)
    shares = [
        CategoryShare(name, sum(ns), sum(ns) / view.tick_ns, len(ns)) for name, ns in ns_by_category.items()
    ]
    return sorted(shares, key=lambda share: (share.name == OTHER, -share.ns, share.name))


@dataclass(frozen=True, slots=True)
class Unworthy:
    """A section without which, and without its descendants, the loop would hardly be faster.

    Attributes:
        section: the section.
        share: its share of the tick.
        saving: how fast the loop could be without it.
    """

    section: SectionView
    share: float
    saving: Saving


def not_worth_doing(view: LoopView) -> list[Unworthy]:
    """Return at most three sections without which a loop would hardly be faster.

    Such a section takes, with its descendants, at least 0.1% of the tick, and its maximum gain is under 5%. The usual
    suspects come first (data, preprocessing, rendering, logging), then all others; in both groups the longest come
    first. Descendants and ancestors of chosen sections, waits and concurrent sections are left out.
    """
    selected: list[SectionView] = []
    candidates = filter(_is_unworthy, view.sections[1:])
    for section in sorted(
        candidates, key=lambda section: (section.category not in SUSPECTS, -section.total_ns)
    ):
        if len(selected) < MOST and not any(
            paths.is_descendant(section.path, other.path) or paths.is_descendant(other.path, section.path)
            for other in selected
        ):
            selected.append(section)
    return [
        Unworthy(section, section.total_ns / view.tick_ns, view.saving(section.total_ns))
        for section in selected
    ]


def _is_unworthy(section: SectionView) -> bool:
    view = section.view
    speedup = view.saving(section.total_ns).speedup
    return (
        speedup is not None
        and speedup < 1 + TINY_SHARE
        # Pauses occur in many sections, each for a short time: the rule garbage-collection sums them.
        and section.name != GC_PAUSE
        and section.total_ns / view.tick_ns >= MIN_UNWORTHY_SHARE
        and not section.is_wait
        and not section.is_parallel
    )
