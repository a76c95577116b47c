"""Single ticks of a loop that are worth keeping: the first ones, and the worst."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

WORST_TICKS_KEPT = 8


@dataclass(frozen=True, slots=True, order=True)
class FirstTicks:
    """How long the first ticks took, in order. Merges by the earliest (wall time, writer).

    Attributes:
        started_wall_ns: wall-clock time of the first tick, since the epoch.
        writer: which stack of which process it was.
        durations_ns: duration of each tick.
    """

    started_wall_ns: int
    writer: str
    durations_ns: tuple[int, ...]

    def __add__(self, other: FirstTicks) -> FirstTicks:
        return min(self, other)


@dataclass(frozen=True, slots=True)
class WorstTick:
    """A tick that took long, and where its time went.

    Attributes:
        duration_ns: how long it took.
        writer: which stack of which process it was.
        tick: its number in that writer's loop, from 0.
        started_ns: when it began, since the run began.
        breakdown: nanoseconds in it of each node whose innermost loop this is, by path.
        causes: what else happened meanwhile, by key: `gc_ns`, `voluntary_switches`, `involuntary_switches`,
            `minor_faults`, `major_faults`. A key is absent where that was not measured.
    """

    duration_ns: int
    writer: str
    tick: int
    started_ns: int
    breakdown: Mapping[str, int] = field(default_factory=dict)
    causes: Mapping[str, int] = field(default_factory=dict)

    def order(self) -> tuple[int, str, int, int, _Rest]:
        """Return what ticks are ranked by: duration, then whatever makes the order total."""
        return (self.duration_ns, self.writer, self.tick, self.started_ns, _Rest(self))


class _Rest:
    """What decides between ticks that are alike in all else: looked at where that is so, which is hardly ever."""

    __slots__ = ("_tick",)

    def __init__(self, tick: WorstTick) -> None:
        self._tick = tick

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Rest) and self._sorted() == other._sorted()

    def __lt__(self, other: _Rest) -> bool:
        return self._sorted() < other._sorted()

    __hash__ = None  # type: ignore[assignment]  # it is made to be compared

    def _sorted(self) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
        return sorted(self._tick.breakdown.items()), sorted(self._tick.causes.items())


def worst_of(ticks: Iterable[WorstTick]) -> tuple[WorstTick, ...]:
    """Return the 8 longest of `ticks`, the longest first."""
    return tuple(sorted(ticks, key=WorstTick.order, reverse=True)[:WORST_TICKS_KEPT])
