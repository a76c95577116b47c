"""Loop: a named sequence of ticks, with or without a target rate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ticktree.profile import metadata as meta
from ticktree.profile import path as paths
from ticktree.profile.fields import COUNTS, INT, LIMIT, TEXT, Codec, Fields, Object
from ticktree.profile.histogram import DURATIONS, Histogram, rank_of
from ticktree.profile.node import Node
from ticktree.profile.stats import Stats, rounded_ratio
from ticktree.profile.table import (
    Mergeable,
    ModelPart,
    Rule,
    add,
    add_known,
    column,
    columns,
    counts,
    largest,
    list_of,
    members,
    merge_parts,
    nested,
    same,
    smallest,
    value_rule,
    where_known,
)


class _DurationSum(Mergeable):
    """A sum of durations, and their histogram if every single duration is known."""

    __slots__ = ()
    count: int
    sum_ns: int
    histogram: Histogram

    @property
    def _upper_bound_ns(self) -> int:
        """An upper bound for a single duration: their sum."""
        return self.sum_ns

    @property
    def is_known(self) -> bool:
        """Whether every single duration is known; true when there was none."""
        return self.histogram.count == self.count

    @property
    def mean_ns(self) -> int | None:
        """Mean duration; None when there was none."""
        return rounded_ratio(self.sum_ns, self.count) if self.count else None

    def quantile_ns(self, q: float) -> int | None:
        """The duration that the share `q` of them did not exceed, within 1.1%; None when unknown."""
        count = self.histogram.count
        return (
            min(round(self.histogram.value_at_rank(rank_of(q, count))), self._upper_bound_ns)
            if count
            else None
        )

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        yield from Mergeable.problems(self)
        if self.histogram.count not in (0, self.count):
            yield f"the histogram holds {self.histogram.count} durations where {self.count} were counted"

    def derived(self, written: Object) -> Object:
        """Add the mean to the JSON and, if single durations are known, percentiles."""
        written["mean_ns"] = self.mean_ns
        if self.histogram.count:
            written |= {"p50_ns": self.quantile_ns(0.5), "p99_ns": self.quantile_ns(0.99)}
        return written


_HISTOGRAM = where_known(lambda part: part.is_known, merge_parts, Histogram())


@dataclass(frozen=True, slots=True)
class Lateness(_DurationSum):
    """How late the late ticks were.

    Attributes:
        sum_ns: sum of their lateness.
        max_ns: the largest lateness.
        histogram: of their lateness; empty if it is not known for every one of them.
    """

    count: int = column(add, INT, minimum=0)
    sum_ns: int = column(add, INT, minimum=0)
    max_ns: int = column(largest, INT, minimum=0)
    histogram: Histogram = column(_HISTOGRAM, DURATIONS, optional=True, factory=Histogram)

    @property
    def _upper_bound_ns(self) -> int:
        return self.max_ns


@dataclass(frozen=True, slots=True)
class Jitter(_DurationSum):
    """How much a tick's duration differs from that of the tick before it.

    Attributes:
        sum_ns: sum of the absolute differences.
        histogram: of the differences; empty if they are not known for every pair.
    """

    count: int = column(add, INT, minimum=0)
    sum_ns: int = column(add, INT, minimum=0)
    histogram: Histogram = column(_HISTOGRAM, DURATIONS, optional=True, factory=Histogram)


MAX_WORST_TICKS = 8


def _read_durations(fields: Fields, key: str) -> tuple[int, ...]:
    durations_ns = fields.list(key)
    if not all(type(duration) is int and 0 <= duration < LIMIT for duration in durations_ns):
        fields.fail(f"{key!r} should hold whole numbers")
    return tuple(durations_ns)


_DURATIONS = Codec(lambda durations_ns, _: list(durations_ns), _read_durations)


@dataclass(frozen=True, slots=True, order=True)
class FirstTicks(ModelPart):
    """How long the first ticks took, in order. Merges by the earliest (wall time, thread).

    Attributes:
        started_wall_ns: wall-clock time of the first tick, since the epoch.
        thread: the process and stack that ran them.
    """

    started_wall_ns: int = column(None, INT)
    thread: str = column(None, TEXT)
    durations_ns: tuple[int, ...] = column(None, _DURATIONS)


@dataclass(frozen=True, slots=True)
class WorstTick(ModelPart):
    """A tick that took long, and where its time went.

    Attributes:
        thread: the process and stack that ran it.
        tick: its number in that thread's loop, from 0.
        started_ns: when it began, since the run began.
        breakdown: its nanoseconds in each node whose innermost loop this is, by path.
        causes: what else happened during the tick, by key: `gc_ns`, `voluntary_switches`, `involuntary_switches`,
            `minor_faults`, `major_faults`. A key is absent if it was not measured.
    """

    duration_ns: int = column(None, INT)
    thread: str = column(None, TEXT)
    tick: int = column(None, INT)
    started_ns: int = column(None, INT)
    breakdown: Mapping[str, int] = column(None, COUNTS, factory=dict)
    causes: Mapping[str, int] = column(None, COUNTS, factory=dict)

    def order(self) -> tuple[int, str, int, int, _TieBreaker]:
        """Return the sort key of ticks: duration, then fields that make the order total."""
        return (self.duration_ns, self.thread, self.tick, self.started_ns, _TieBreaker(self))


class _TieBreaker:
    """Orders ticks that are equal in all other fields. Its key is computed only then, which is hardly ever."""

    __slots__ = ("_tick",)

    def __init__(self, tick: WorstTick) -> None:
        self._tick = tick

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _TieBreaker) and self._sort_key() == other._sort_key()

    def __lt__(self, other: _TieBreaker) -> bool:
        return self._sort_key() < other._sort_key()

    __hash__ = None  # type: ignore[assignment]  # only for comparison

    def _sort_key(self) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
        return sorted(self._tick.breakdown.items()), sorted(self._tick.causes.items())


def longest_ticks(ticks: Iterable[WorstTick]) -> tuple[WorstTick, ...]:
    """Return the 8 longest of `ticks`, longest first."""
    return tuple(sorted(ticks, key=WorstTick.order, reverse=True)[:MAX_WORST_TICKS])


@dataclass(frozen=True, slots=True)
class Causes(Mergeable):
    """What else happened during ticks, summed over the ticks for which it was measured.

    Attributes:
        ticks: ticks for which all of this was measured; other ticks may have been disturbed too.
        gc_ns: the garbage collector's pauses, in the whole process; of all ticks, measured otherwise or not.
        voluntary_switches: how often the loop's thread gave up its core: it waited, or slept.
        involuntary_switches: how often the kernel gave its core to another thread.
        minor_faults: pages of memory that it touched for the first time.
        major_faults: pages that the kernel had to read from a disk.
    """

    ticks: int = column(add, INT, minimum=0)
    gc_ns: int = column(add, INT, minimum=0, default=0)
    voluntary_switches: int = column(add, INT, minimum=0, default=0)
    involuntary_switches: int = column(add, INT, minimum=0, default=0)
    minor_faults: int = column(add, INT, minimum=0, default=0)
    major_faults: int = column(add, INT, minimum=0, default=0)

    def __sub__(self, other: Causes) -> Causes:
        """Return the causes without those of a part of the ticks."""
        return Causes(*(left - right for left, right in zip(self.amounts(), other.amounts(), strict=True)))

    def amounts(self) -> tuple[int, ...]:
        """Return its fields, in their order."""
        return tuple(getattr(self, col.name) for col in columns(Causes))


NS_PER_SECOND = 1_000_000_000
SLOWEST_HZ = 1e-9  # one tick in thirty years; the budgets of slower rates do not fit into 64 bits


def _read_rates(fields: Fields, key: str) -> frozenset[float]:
    rates = fields.raw(key)
    values = rates if isinstance(rates, list) else [] if rates is None else [rates]
    return frozenset(fields.finite(key, rate) for rate in values)


_RATES = Codec(lambda hz, _: meta.value_or_list(map(float, hz)), _read_rates)
_ZERO_OR_NULL = Codec(lambda count, _: count, lambda fields, key: fields.integer_or_none(key) or 0)


_WORST = value_rule(lambda values: longest_ticks(chain.from_iterable(values)))


# A loop without ticks counts as known, so that merging it changes nothing.
def _where_waits_known(rule: Rule) -> Rule:
    return where_known(lambda loop: loop.waited_ns is not None or not loop.stats.count, rule)


def _where_misses_known(rule: Rule, unknown: Any = None) -> Rule:
    return where_known(lambda loop: loop.missed_ns is not None or not loop.missed, rule, unknown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop(Mergeable):
    """The ticks of a loop. A loop with only a path is the identity of `+` for loops of that path.

    Attributes:
        path: path of the loop's node.
        ticks: completed ticks, warm-up included.
        incomplete: ticks cut short by `break` or an exception.
        hz: every target rate of the loop.
        missed: ticks whose duration, less its waits, was over budget.
        longest_miss_run: the largest number of ticks missed in a row.
        warmup_ticks: completed ticks that count as warm-up.
        stats: the completed ticks after warm-up.
        lateness: None without a target rate.
        jitter: None if no two ticks were adjacent.
        busy_ns: duration of all completed ticks, warm-up included.
        first_ticks: merges by taking the earliest thread's.
        worst: the 8 longest ticks, longest first.
        waited_ns: time in the ticks after warm-up in which any of their waits was open; None unless known for all.
        causes: what else happened during the ticks after warm-up; None if unknown for all of them.
        missed_causes: the same for missed ticks.
        missed_ns: duration of all missed ticks; None unless known for all of them.
        missed_breakdown: nanoseconds in missed ticks of each node whose innermost loop this is, by path; empty if
            `missed_ns` is None.
    """

    path: str = column(same, TEXT)
    ticks: int = column(add, INT, minimum=0, default=0)
    incomplete: int = column(add, INT, minimum=0, default=0)
    hz: frozenset[float] = column(members, _RATES, default=frozenset())
    missed: int = column(add, _ZERO_OR_NULL, minimum=0, default=0)
    longest_miss_run: int = column(largest, _ZERO_OR_NULL, default=0)
    warmup_ticks: int = column(add, INT, minimum=0, default=0)
    stats: Stats = column(merge_parts, nested(Stats), key="steady", factory=Stats)
    busy_ns: int = column(add, INT, minimum=0, default=0)
    worst: tuple[WorstTick, ...] = column(_WORST, list_of(WorstTick), default=())
    lateness: Lateness | None = column(merge_parts, nested(Lateness), optional=True, default=None)
    jitter: Jitter | None = column(merge_parts, nested(Jitter), optional=True, default=None)
    first_ticks: FirstTicks | None = column(smallest, nested(FirstTicks), optional=True, default=None)
    waited_ns: int | None = column(_where_waits_known(add_known), INT, optional=True, minimum=0, default=None)
    causes: Causes | None = column(merge_parts, nested(Causes), optional=True, default=None)
    missed_causes: Causes | None = column(merge_parts, nested(Causes), optional=True, default=None)
    missed_ns: int | None = column(
        _where_misses_known(add_known), INT, optional=True, minimum=0, default=None
    )
    missed_breakdown: Mapping[str, int] = column(
        _where_misses_known(counts, {}), COUNTS, optional=True, factory=dict
    )

    def derived(self, written: Object) -> Object:
        """Add the name, rates and extremes to the JSON; misses are null without a target rate."""
        if not (self.hz or self.missed):
            written["missed"] = written["longest_miss_run"] = None
        rates = {"budget_ns": self.budget_ns, "achieved_hz": self.achieved_hz}
        return {"name": self.name, **written, **rates, **self.stats.summary}

    @property
    def name(self) -> str:
        """The loop's name: the last name of its path."""
        return paths.name_of(self.path)

    @property
    def budget_ns(self) -> int | None:
        """The time that a tick may take; None without a target rate, or with several."""
        return round(NS_PER_SECOND / next(iter(self.hz))) if len(self.hz) == 1 else None

    @property
    def is_apart(self) -> bool:
        """Whether no tick of a loop with a target rate began where another ended: then its actual rate is unknown."""
        return bool(self.hz) and self.jitter is None and self.stats.count > 1

    @property
    def achieved_hz(self) -> float | None:
        """Ticks per second of the time spent in ticks; None if there was none, or ticks were apart."""
        return self.ticks * NS_PER_SECOND / self.busy_ns if self.busy_ns and not self.is_apart else None

    def calls_of(self, node: Node) -> Stats:
        """Return the calls of a node, below this loop, that are in the loop's steady ticks.

        An inner loop may have a warm-up though this one has none: then its warm-up is in steady ticks of this one.
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
        if self.worst != longest_ticks(self.worst):
            yield "the worst ticks are out of order or too many"
        yield from self._miss_problems()

    def _miss_problems(self) -> Iterator[str]:
        if min(self.missed_breakdown.values(), default=0) < 0:
            yield "a time in missed ticks is negative"
        if self.missed_breakdown and self.missed_ns is None:
            yield "there is a breakdown of missed ticks whose durations are not known"
        if self.causes is not None and self.causes.ticks > self.stats.count:
            yield f"the causes of {self.causes.ticks} ticks are known of {self.stats.count}"
        if self.missed_causes is not None and self.missed_causes.ticks > self.missed:
            yield f"the causes of {self.missed_causes.ticks} missed ticks are known of {self.missed}"
