"""Loop: a named sequence of ticks, perhaps at a rate it is meant to hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ticktree.profile import path as paths
from ticktree.profile.causes import Causes
from ticktree.profile.lateness import Jitter, Lateness
from ticktree.profile.merging import present, sums
from ticktree.profile.stats import Stats
from ticktree.profile.ticks import FirstTicks, WorstTick, worst_of

NS_PER_SECOND = 1_000_000_000
SLOWEST_HZ = 1e-9  # a tick in thirty years: slower ones have budgets that no integer holds


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
        waited_ns: time in the ticks after warm-up in which any of their waits was open; None where it is not known of
            all of them. Merges by adding.
        causes: what else happened in the ticks after warm-up; None where it is known of none. Merges by adding.
        missed_causes: the same of missed ticks. Merges by adding.
        missed_ns: duration of all missed ticks; None where it is not known of all of them. Merges by adding.
        missed_breakdown: nanoseconds in missed ticks of each node whose innermost loop this is, by path; empty where
            `missed_ns` is None. Merges by adding.
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
    waited_ns: int | None = None
    causes: Causes | None = None
    missed_causes: Causes | None = None
    missed_ns: int | None = None
    missed_breakdown: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: Loop) -> Loop:
        if self.path != other.path:
            raise ValueError(f"loops of different paths do not merge: {self.path!r} and {other.path!r}")
        missed_ns = _known(self.missed_ns, self.missed, other.missed_ns, other.missed)
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
            waited_ns=_known(self.waited_ns, self.stats.count, other.waited_ns, other.stats.count),
            causes=present(self.causes, other.causes),
            missed_causes=present(self.missed_causes, other.missed_causes),
            missed_ns=missed_ns,
            missed_breakdown={} if missed_ns is None else sums(self.missed_breakdown, other.missed_breakdown),
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
        for part in (self.stats, self.lateness, self.jitter, self.causes, self.missed_causes):
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
        yield from self._problems_of_misses()

    def _problems_of_misses(self) -> Iterator[str]:
        amounts_ns = (self.waited_ns or 0, self.missed_ns or 0, *self.missed_breakdown.values())
        if min(amounts_ns) < 0:
            yield "a time in ticks is negative"
        if self.missed_breakdown and self.missed_ns is None:
            yield "there is a breakdown of missed ticks whose durations are not known"
        if self.causes is not None and self.causes.ticks > self.stats.count:
            yield f"the causes of {self.causes.ticks} ticks are known of {self.stats.count}"
        if self.missed_causes is not None and self.missed_causes.ticks > self.missed:
            yield f"the causes of {self.missed_causes.ticks} missed ticks are known of {self.missed}"


def _known(left: int | None, left_ticks: int, right: int | None, right_ticks: int) -> int | None:
    """Return the sum of what two loops' ticks took; None where it is not known of all their ticks.

    None of no ticks is nothing that is missing, so that a loop without ticks changes nothing.
    """
    if (left is None and left_ticks) or (right is None and right_ticks):
        return None
    return present(left, right)
