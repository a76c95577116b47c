"""What is kept of a loop's ticks: the first ones and the worst one by one, and what disturbed them all together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ticktree.profile.fields import COUNTS, LIMIT, TEXT, WHOLE, Codec, Fields
from ticktree.profile.table import Mergeable, Stored, add, columns, stored

WORST_TICKS_KEPT = 8


def _durations(fields: Fields, key: str) -> tuple[int, ...]:
    durations_ns = fields.list(key)
    if not all(type(duration) is int and 0 <= duration < LIMIT for duration in durations_ns):
        fields.fail(f"{key!r} should hold whole numbers")
    return tuple(durations_ns)


_DURATIONS = Codec(lambda durations_ns, _: list(durations_ns), _durations)


@dataclass(frozen=True, slots=True, order=True)
class FirstTicks(Stored):
    """How long the first ticks took, in order. Merges by the earliest (wall time, writer).

    Attributes:
        started_wall_ns: wall-clock time of the first tick, since the epoch.
        writer: which stack of which process it was.
        durations_ns: duration of each tick.
    """

    started_wall_ns: int = stored(None, WHOLE)
    writer: str = stored(None, TEXT)
    durations_ns: tuple[int, ...] = stored(None, _DURATIONS)


@dataclass(frozen=True, slots=True)
class WorstTick(Stored):
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

    duration_ns: int = stored(None, WHOLE)
    writer: str = stored(None, TEXT)
    tick: int = stored(None, WHOLE)
    started_ns: int = stored(None, WHOLE)
    breakdown: Mapping[str, int] = stored(None, COUNTS, factory=dict)
    causes: Mapping[str, int] = stored(None, COUNTS, factory=dict)

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


@dataclass(frozen=True, slots=True)
class Causes(Mergeable):
    """What else happened in ticks, added up over those of which it is known.

    Attributes:
        ticks: ticks of which all of this is known: the others may have been disturbed as well.
        gc_ns: the garbage collector's pauses, in the whole process.
        voluntary_switches: how often the loop's thread gave its core away: it waited, or slept.
        involuntary_switches: how often its core was taken from it: somebody else was to run.
        minor_faults: pages of memory that it touched for the first time.
        major_faults: pages that had to be read from a disk.
    """

    ticks: int = stored(add, WHOLE, least=0)
    gc_ns: int = stored(add, WHOLE, least=0, default=0)
    voluntary_switches: int = stored(add, WHOLE, least=0, default=0)
    involuntary_switches: int = stored(add, WHOLE, least=0, default=0)
    minor_faults: int = stored(add, WHOLE, least=0, default=0)
    major_faults: int = stored(add, WHOLE, least=0, default=0)

    def __sub__(self, other: Causes) -> Causes:
        """What is left without a part of it."""
        return Causes(*(left - right for left, right in zip(self.amounts(), other.amounts(), strict=True)))

    def amounts(self) -> tuple[int, ...]:
        """Return its fields, in their order."""
        return tuple(getattr(self, column.name) for column in columns(Causes))
