"""Scores: one number from a section's time and memory, to rank what is not comparable otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ticktree.analysis.loops import SectionView
from ticktree.analysis.settings import Weights


class Scores:
    """The weighted scores of sections that are parts of one tick.

    A section's score is 100 times the weighted mean of four parts of 1: its own time as a part of the tick; its own
    time a call, and the memory and the device's memory that a call needs, each as a part of the greatest of all
    sections. What was not measured of a section has no part in its mean: it is not taken for nothing.

    Args:
        sections: the parts of the tick. Only those that work on the loop's path have scores.
        tick_ns: how long it takes.
        weights: of the four parts.
    """

    def __init__(self, sections: Iterable[SectionView], tick_ns: float, weights: Weights) -> None:
        ranked = [section for section in sections if is_work(section)]
        self._tick_ns = tick_ns
        self._weights = weights
        self._call_ns = _greatest(ranked, call_ns)
        self._memory = _greatest(ranked, memory_bytes)
        self._device_memory = _greatest(ranked, device_memory_bytes)

    def of(self, section: SectionView) -> float | None:
        """Return the score of `section`, from 0 to 100; None where nothing that has a weight was measured of it."""
        parts = (
            (self._weights.time, section.self_ns / self._tick_ns),
            (self._weights.call, _part(call_ns(section), self._call_ns)),
            (self._weights.memory, _part(memory_bytes(section), self._memory)),
            (self._weights.device_memory, _part(device_memory_bytes(section), self._device_memory)),
        )
        known = [(weight, part) for weight, part in parts if part is not None]
        together = sum(weight for weight, _ in known)
        return 100 * sum(weight * part for weight, part in known) / together if together else None


def is_work(section: SectionView) -> bool:
    """Tell whether `section` works on the loop's path: neither waits nor runs concurrently with it."""
    return section.self_ns > 0 and not section.is_wait and not section.is_parallel


def call_ns(section: SectionView) -> float | None:
    """Return the own time of a call; None where there was none in the steady phase."""
    return section.self_ns / section.calls if section.calls else None


def memory_bytes(section: SectionView) -> int | None:
    """Return the most that a call needed beyond what was there when it began; None where not measured.

    Not the process's peak: that is as large for a section that needs nothing beside one that needs much.
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
