"""Bottlenecks: what each section of a loop costs it, and how fast the loop could be without."""

from __future__ import annotations

from dataclasses import dataclass

from ticktree.analysis.bottlenecks.scores import Scores, device_memory_bytes, memory_bytes
from ticktree.analysis.loops import LoopView, Saving, SectionView
from ticktree.analysis.settings import Weights


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """A section of a loop, as far as the loop would gain by its being faster.

    Attributes:
        view: the loop, or the run.
        section: the section. Its `self_ns` is what could be saved in a tick.
        share: its own time as a part of the tick.
        call_ns: own time a call; None where it was not called in the steady phase.
        saving: what the loop would gain; None of what runs concurrently, and of the sleep that holds its rate.
        score: 0 to 100, see `Scores`; None of what does not work on the loop's path.
        memory_bytes: the most that a call needed beyond what was there; None where not measured.
        device_memory_bytes: the same of a device's memory.
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

    What ticktree itself cost is no part of any of them.
    """
    scores = Scores(view.sections, view.tick_ns, weights)
    found = [
        _bottleneck(view, section, scores)
        for section in view.sections
        if section.self_ns > 0 or section.beside_ns > 0
    ]
    return sorted(found, key=_order)


def _order(one: Bottleneck) -> tuple[bool, float, float, str]:
    section = one.section
    return section.is_parallel, -section.self_ns, -section.beside_ns, section.path


def _bottleneck(view: LoopView, section: SectionView, scores: Scores) -> Bottleneck:
    calls = section.calls
    on_path = section.self_ns > 0 and not section.is_parallel and not section.is_slack
    self_ns = section.beside_ns if section.is_parallel else section.self_ns
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
