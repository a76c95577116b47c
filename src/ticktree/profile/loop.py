"""Loop: a named sequence of ticks, perhaps at a rate it is meant to hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ticktree.profile import metadata as meta
from ticktree.profile import path as paths
from ticktree.profile.fields import COUNTS, LIMIT, TEXT, WHOLE, Codec, Fields, Object
from ticktree.profile.histogram import DURATIONS, Histogram, rank_of
from ticktree.profile.node import Node
from ticktree.profile.stats import Stats, rounded_ratio
from ticktree.profile.table import (
    Mergeable,
    Rule,
    Stored,
    add,
    add_known,
    columns,
    counts,
    largest,
    listed,
    members,
    nested,
    of_values,
    same,
    smallest,
    stored,
    where_known,
    whole,
)


class _Filed(Mergeable):
    """Summed durations, in the windows where each is known."""

    __slots__ = ()
    count: int
    sum_ns: int
    histogram: Histogram

    @property
    def _most_ns(self) -> int:
        """What none of them is longer than: together they are as long."""
        return self.sum_ns

    @property
    def is_known(self) -> bool:
        """Whether each of them is known; true when there was none."""
        return self.histogram.count == self.count

    @property
    def mean_ns(self) -> int | None:
        """Their mean; None when there was none."""
        return rounded_ratio(self.sum_ns, self.count) if self.count else None

    def quantile_ns(self, q: float) -> int | None:
        """The duration that the share `q` of them did not exceed, within 1.1%; None when not known."""
        count = self.histogram.count
        return min(round(self.histogram.at_rank(rank_of(q, count))), self._most_ns) if count else None

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        yield from Mergeable.problems(self)
        if self.histogram.count not in (0, self.count):
            yield f"the histogram holds {self.histogram.count} durations where {self.count} were counted"

    def derived(self, written: Object) -> Object:
        """Return what JSON has of it, with mean and percentiles; those are absent where single ones are not known."""
        written["mean_ns"] = self.mean_ns
        if self.histogram.count:
            written |= {"p50_ns": self.quantile_ns(0.5), "p99_ns": self.quantile_ns(0.99)}
        return written


_ALL = where_known(lambda part: part.is_known, whole, Histogram())


@dataclass(frozen=True, slots=True)
class Lateness(_Filed):
    """How late the ticks were that were late.

    Attributes:
        sum_ns: their lateness together.
        max_ns: the latest.
        histogram: of their lateness; empty where it is not known of each.
    """

    count: int = stored(add, WHOLE, least=0)
    sum_ns: int = stored(add, WHOLE, least=0)
    max_ns: int = stored(largest, WHOLE, least=0)
    histogram: Histogram = stored(_ALL, DURATIONS, optional=True, factory=Histogram)

    @property
    def _most_ns(self) -> int:
        return self.max_ns


@dataclass(frozen=True, slots=True)
class Jitter(_Filed):
    """How much one tick's duration differs from the tick's before it.

    Attributes:
        sum_ns: sum of the differences, each taken positive.
        histogram: of the differences; empty where they are not known of each pair.
    """

    count: int = stored(add, WHOLE, least=0)
    sum_ns: int = stored(add, WHOLE, least=0)
    histogram: Histogram = stored(_ALL, DURATIONS, optional=True, factory=Histogram)


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
    """

    started_wall_ns: int = stored(None, WHOLE)
    writer: str = stored(None, TEXT)
    durations_ns: tuple[int, ...] = stored(None, _DURATIONS)


@dataclass(frozen=True, slots=True)
class WorstTick(Stored):
    """A tick that took long, and where its time went.

    Attributes:
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
    """What else happened in ticks, summed over those of which it is known.

    Attributes:
        ticks: ticks of which all of this is known: the others may have been disturbed as well.
        gc_ns: the garbage collector's pauses, in the whole process; of all ticks, also those of which the rest is not
            known.
        voluntary_switches: how often the loop's thread gave its core away: it waited, or slept.
        involuntary_switches: how often its core was taken from it for another thread.
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


NS_PER_SECOND = 1_000_000_000
SLOWEST_HZ = 1e-9  # a tick in thirty years: slower ones have budgets that no integer holds


def _rates(fields: Fields, key: str) -> frozenset[float]:
    rates = fields.raw(key)
    listed = rates if isinstance(rates, list) else [] if rates is None else [rates]
    return frozenset(fields.finite(key, rate) for rate in listed)


_RATES = Codec(lambda hz, _: meta.one_or_list(map(float, hz)), _rates)
_OR_NULL = Codec(lambda count, _: count, lambda fields, key: fields.whole_or_none(key) or 0)


_WORST = of_values(lambda values: worst_of(chain.from_iterable(values)))


# A loop without ticks lacks nothing, so that it changes nothing.
def _of_all_steady(rule: Rule) -> Rule:
    return where_known(lambda loop: loop.waited_ns is not None or not loop.stats.count, rule)


def _of_all_missed(rule: Rule, unknown: Any = None) -> Rule:
    return where_known(lambda loop: loop.missed_ns is not None or not loop.missed, rule, unknown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop(Mergeable):
    """What a loop's ticks did. A loop with only a path is the identity of `+` for loops of that path.

    Attributes:
        path: path of the loop's node.
        ticks: completed ticks, warm-up included.
        incomplete: ticks cut short by `break` or an exception.
        hz: every target rate of the loop.
        missed: ticks whose duration, less its waits, was over budget.
        longest_miss_run: the most ticks missed in a row.
        warmup_ticks: completed ticks taken for warm-up.
        stats: the completed ticks after warm-up.
        lateness: None where there is no rate to be late for.
        jitter: None where no two ticks were neighbours.
        busy_ns: duration of all completed ticks, warm-up included.
        first_ticks: Merges by the earliest writer's.
        worst: the 8 longest ticks, the longest first.
        waited_ns: time in the ticks after warm-up in which any of their waits was open; None where it is not known of
            all of them.
        causes: what else happened in the ticks after warm-up; None where it is known of none.
        missed_causes: the same of missed ticks.
        missed_ns: duration of all missed ticks; None where it is not known of all of them.
        missed_breakdown: nanoseconds in missed ticks of each node whose innermost loop this is, by path; empty where
            `missed_ns` is None.
    """

    path: str = stored(same, TEXT)
    ticks: int = stored(add, WHOLE, least=0, default=0)
    incomplete: int = stored(add, WHOLE, least=0, default=0)
    hz: frozenset[float] = stored(members, _RATES, default=frozenset())
    missed: int = stored(add, _OR_NULL, least=0, default=0)
    longest_miss_run: int = stored(largest, _OR_NULL, default=0)
    warmup_ticks: int = stored(add, WHOLE, least=0, default=0)
    stats: Stats = stored(whole, nested(Stats), key="steady", factory=Stats)
    busy_ns: int = stored(add, WHOLE, least=0, default=0)
    worst: tuple[WorstTick, ...] = stored(_WORST, listed(WorstTick), default=())
    lateness: Lateness | None = stored(whole, nested(Lateness), optional=True, default=None)
    jitter: Jitter | None = stored(whole, nested(Jitter), optional=True, default=None)
    first_ticks: FirstTicks | None = stored(smallest, nested(FirstTicks), optional=True, default=None)
    waited_ns: int | None = stored(_of_all_steady(add_known), WHOLE, optional=True, least=0, default=None)
    causes: Causes | None = stored(whole, nested(Causes), optional=True, default=None)
    missed_causes: Causes | None = stored(whole, nested(Causes), optional=True, default=None)
    missed_ns: int | None = stored(_of_all_missed(add_known), WHOLE, optional=True, least=0, default=None)
    missed_breakdown: Mapping[str, int] = stored(
        _of_all_missed(counts, {}), COUNTS, optional=True, factory=dict
    )

    def derived(self, written: Object) -> Object:
        """Return what JSON has of it, with its name, rates and extremes; misses are null where there is no rate."""
        if not (self.hz or self.missed):
            written["missed"] = written["longest_miss_run"] = None
        rates = {"budget_ns": self.budget_ns, "achieved_hz": self.achieved_hz}
        return {"name": self.name, **written, **rates, **self.stats.summary}

    @property
    def name(self) -> str:
        """The loop's name: the last of its path."""
        return paths.name_of(self.path)

    @property
    def budget_ns(self) -> int | None:
        """The time a tick may take; None without a target rate, or with several."""
        return round(NS_PER_SECOND / next(iter(self.hz))) if len(self.hz) == 1 else None

    @property
    def is_apart(self) -> bool:
        """Whether no tick of a loop with a rate began where another ended: how often it ticked is not known."""
        return bool(self.hz) and self.jitter is None and self.stats.count > 1

    @property
    def achieved_hz(self) -> float | None:
        """Ticks per second of the time spent in ticks; None where there was none, or ticks were apart."""
        return self.ticks * NS_PER_SECOND / self.busy_ns if self.busy_ns and not self.is_apart else None

    def calls_of(self, node: Node) -> Stats:
        """Return the calls of a node of this loop's tree that its steady ticks consist of.

        A loop inside may have a warm-up though this one has none: then those calls are in steady ticks of this one.
        """
        return node.steady if self.warmup_ticks else node.stats

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        yield from Mergeable.problems(self)
        if self.ticks != self.warmup_ticks + self.stats.count:
            yield f"{self.ticks} ticks are not {self.warmup_ticks} of warm-up and {self.stats.count} after it"
        if not 0 <= self.longest_miss_run <= self.missed <= self.ticks:
            yield f"{self.missed} of {self.ticks} ticks missed, {self.longest_miss_run} in a row, cannot be"
        if not all(SLOWEST_HZ <= hz < float("inf") for hz in self.hz):
            yield "a rate is not a positive number"
        if self.worst != worst_of(self.worst):
            yield "the worst ticks are out of order or too many"
        yield from self._problems_of_misses()

    def _problems_of_misses(self) -> Iterator[str]:
        if min(self.missed_breakdown.values(), default=0) < 0:
            yield "a time in missed ticks is negative"
        if self.missed_breakdown and self.missed_ns is None:
            yield "there is a breakdown of missed ticks whose durations are not known"
        if self.causes is not None and self.causes.ticks > self.stats.count:
            yield f"the causes of {self.causes.ticks} ticks are known of {self.stats.count}"
        if self.missed_causes is not None and self.missed_causes.ticks > self.missed:
            yield f"the causes of {self.missed_causes.ticks} missed ticks are known of {self.missed}"
