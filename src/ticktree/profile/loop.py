"""Loop: a named sequence of ticks, perhaps at a rate it is meant to hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ticktree.profile import metadata as meta
from ticktree.profile import path as paths
from ticktree.profile.fields import COUNTS, TEXT, WHOLE, Codec, Fields, Object
from ticktree.profile.lateness import Jitter, Lateness
from ticktree.profile.node import Node
from ticktree.profile.stats import Stats
from ticktree.profile.table import (
    Mergeable,
    Rule,
    add,
    add_known,
    counts,
    largest,
    listed,
    members,
    nested,
    same,
    smallest,
    stored,
    where_known,
    whole,
)
from ticktree.profile.ticks import Causes, FirstTicks, WorstTick, worst_of

NS_PER_SECOND = 1_000_000_000
SLOWEST_HZ = 1e-9  # a tick in thirty years: slower ones have budgets that no integer holds


def _rates(fields: Fields, key: str) -> frozenset[float]:
    rates = fields.raw(key)
    listed = rates if isinstance(rates, list) else [] if rates is None else [rates]
    return frozenset(fields.finite(key, rate) for rate in listed)


_RATES = Codec(lambda hz, _: meta.one_or_list(map(float, hz)), _rates)
_OR_NULL = Codec(lambda count, _: count, lambda fields, key: fields.whole_or_none(key) or 0)


def _worst(_: Sequence[Loop], values: Sequence[tuple[WorstTick, ...]]) -> tuple[WorstTick, ...]:
    return worst_of(chain.from_iterable(values))


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
        hz: every rate the loop was asked to hold.
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
    worst: tuple[WorstTick, ...] = stored(_worst, listed(WorstTick), default=())
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
        """The time a tick may take; None where no rate was asked for, or several."""
        return round(NS_PER_SECOND / next(iter(self.hz))) if len(self.hz) == 1 else None

    @property
    def achieved_hz(self) -> float | None:
        """Ticks per second of the time spent in ticks; None where there was none."""
        return self.ticks * NS_PER_SECOND / self.busy_ns if self.busy_ns else None

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
