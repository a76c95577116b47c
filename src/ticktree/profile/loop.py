"""Loop: a named sequence of ticks, perhaps at a rate it is meant to hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ticktree.profile import path as paths
from ticktree.profile.merging import present
from ticktree.profile.stats import Stats, rounded_ratio
from ticktree.profile.ticks import FirstTicks, WorstTick, worst_of

NS_PER_SECOND = 1_000_000_000
SLOWEST_HZ = 1e-9  # a tick in thirty years: slower ones have budgets that no integer holds


@dataclass(frozen=True, slots=True)
class Lateness:
    """How late the ticks were that were late.

    Attributes:
        count: late ticks. Merges by adding.
        sum_ns: their lateness together. Merges by adding.
        max_ns: the latest. Merges by the maximum.
    """

    count: int
    sum_ns: int
    max_ns: int

    def __add__(self, other: Lateness) -> Lateness:
        return Lateness(self.count + other.count, self.sum_ns + other.sum_ns, max(self.max_ns, other.max_ns))

    @property
    def mean_ns(self) -> int | None:
        """Mean lateness of a late tick; None when none was late."""
        return rounded_ratio(self.sum_ns, self.count) if self.count else None

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        if min(self.count, self.sum_ns, self.max_ns) < 0:
            yield "a lateness is negative"


@dataclass(frozen=True, slots=True)
class Jitter:
    """How much one tick's duration differs from the tick's before it. Both fields merge by adding.

    Attributes:
        count: pairs of neighbouring ticks.
        sum_ns: sum of the differences, each taken positive.
    """

    count: int
    sum_ns: int

    def __add__(self, other: Jitter) -> Jitter:
        return Jitter(self.count + other.count, self.sum_ns + other.sum_ns)

    @property
    def mean_ns(self) -> int | None:
        """Mean difference; None when there was no pair."""
        return rounded_ratio(self.sum_ns, self.count) if self.count else None

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        if min(self.count, self.sum_ns) < 0:
            yield "a jitter is negative"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """What a loop's ticks did. A loop with only a path is the identity of `+` for loops of that path.

    Attributes:
        path: path of the loop's node. The same in all loops merged.
        ticks: completed ticks, warm-up included. Merges by adding.
        incomplete: ticks cut short by `break` or an exception. Merges by adding.
        hz: every rate the loop was asked to hold. Merges by union.
        missed: ticks whose duration, less its waits, was over budget. Merges by adding.
        longest_miss_run: the most ticks missed in a row. Merges by the maximum.
        warmup_ticks: completed ticks taken for warm-up. Merges by adding.
        stats: the completed ticks after warm-up. Merges by adding.
        lateness: None where there is no rate to be late for. Merges by adding.
        jitter: None where no two ticks were neighbours. Merges by adding.
        busy_ns: duration of all completed ticks, warm-up included. Merges by adding.
        first_ticks: Merges by the earliest writer's.
        worst: the 8 longest ticks, the longest first. Merges by the 8 longest of both.
    """

    path: str
    ticks: int = 0
    incomplete: int = 0
    hz: frozenset[float] = frozenset()
    missed: int = 0
    longest_miss_run: int = 0
    warmup_ticks: int = 0
    stats: Stats = field(default_factory=Stats)
    lateness: Lateness | None = None
    jitter: Jitter | None = None
    busy_ns: int = 0
    first_ticks: FirstTicks | None = None
    worst: tuple[WorstTick, ...] = ()

    def __add__(self, other: Loop) -> Loop:
        if self.path != other.path:
            raise ValueError(f"loops of different paths do not merge: {self.path!r} and {other.path!r}")
        return Loop(
            path=self.path,
            ticks=self.ticks + other.ticks,
            incomplete=self.incomplete + other.incomplete,
            hz=self.hz | other.hz,
            missed=self.missed + other.missed,
            longest_miss_run=max(self.longest_miss_run, other.longest_miss_run),
            warmup_ticks=self.warmup_ticks + other.warmup_ticks,
            stats=self.stats + other.stats,
            lateness=present(self.lateness, other.lateness),
            jitter=present(self.jitter, other.jitter),
            busy_ns=self.busy_ns + other.busy_ns,
            first_ticks=present(self.first_ticks, other.first_ticks),
            worst=worst_of(self.worst + other.worst),
        )

    @property
    def name(self) -> str:
        """The loop's name: the last of its path."""
        return paths.name_of(self.path)

    @property
    def budget_ns(self) -> int | None:
        """The time a tick may take; None where no rate was asked for, or several."""
        return round(NS_PER_SECOND / next(iter(self.hz))) if len(self.hz) == 1 else None

    @property
    def achieved_hz(self) -> float | None:
        """Ticks per second of the time spent in ticks; None where there was none."""
        return self.ticks * NS_PER_SECOND / self.busy_ns if self.busy_ns else None

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        for part in (self.stats, self.lateness, self.jitter):
            if part is not None:
                yield from part.problems()
        if min(self.ticks, self.incomplete, self.missed, self.warmup_ticks, self.busy_ns) < 0:
            yield "a count of ticks is negative"
        if self.ticks != self.warmup_ticks + self.stats.count:
            yield f"{self.ticks} ticks are not {self.warmup_ticks} of warm-up and {self.stats.count} after it"
        if not 0 <= self.longest_miss_run <= self.missed <= self.ticks:
            yield f"{self.missed} of {self.ticks} ticks missed, {self.longest_miss_run} in a row, cannot be"
        if not all(SLOWEST_HZ <= hz < float("inf") for hz in self.hz):
            yield "a rate is not a positive number"
        if self.worst != worst_of(self.worst):
            yield "the worst ticks are out of order or too many"
