"""The difference of two readings of a run, as a profile; and the last seconds of a run.

Sums are subtracted: calls, times, histograms, windows, losses. Other fields, such as extremes and the worst ticks, are
those of the later reading if they must be from the time in between, and otherwise the closest known bound. So the
earlier profile and the difference merge to the later one, with two exceptions:

- Open calls are a state, not a sum: the difference has those of the later reading.
- When a warm-up ends, all calls until then are set aside. The difference has all calls in between, but may count those
  before the end of the warm-up in the steady phase.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ticktree.profile import (
    Causes,
    Cpu,
    Gauge,
    Histogram,
    Jitter,
    Lateness,
    Loop,
    Memory,
    Node,
    Profile,
    Samples,
    Share,
    Stats,
    Wakes,
    Weight,
    Windows,
    Work,
    WorstTick,
)
from ticktree.profile.gauge import GaugeWindows
from ticktree.profile.histogram import edges_of
from ticktree.profile.table import ModelPart, add, columns

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Part = TypeVar("Part", Cpu, Memory, Share, Work)
Values = TypeVar("Values", Lateness, Jitter)


class NotLaterError(ValueError):
    """The supposedly earlier reading contains something that the later one does not."""


def _count_increases(earlier: Mapping[Key, int], later: Mapping[Key, int]) -> dict[Key, int]:
    """Return the increase of each count in `later`; equal counts are left out."""
    return {
        key: count - earlier.get(key, 0)
        for key, count in later.items()
        if key not in earlier or count != earlier[key]
    }


def _subtract_optional(
    earlier: Value | None, later: Value | None, subtract: Callable[[Value, Value], Value | None]
) -> Value | None:
    """Return `later` less `earlier`, computed by `less` if they differ; `later` if there is no earlier one."""
    if earlier is None or later is None or earlier == later:
        return later if earlier is None else None
    return subtract(earlier, later)


def _subtract_each(
    earlier: Mapping[Key, Value], later: Mapping[Key, Value], subtract: Callable[[Value, Value], Value | None]
) -> dict[Key, Value]:
    """Return each entry of `later` less its earlier one, computed by `less`; unchanged entries are left out."""
    pairs = ((key, _subtract_optional(earlier.get(key), value, subtract)) for key, value in later.items())
    return {key: difference for key, difference in pairs if difference is not None}


def _increases(earlier: ModelPart, later: ModelPart) -> dict[str, Any]:
    """Return the increase of each field that merges by addition; never less than the field's minimum."""
    # A reading during a write may contain only parts of a call.
    increases = {}
    for column in columns(type(later)):
        if column.merge is add:
            increase = getattr(later, column.name) - getattr(earlier, column.name)
            increases[column.name] = increase if column.least is None else max(column.least, increase)
    return increases


def _subtract_added(earlier: Part, later: Part) -> Part:
    """Return `later` with the increase of each field that merges by addition."""
    return replace(later, **_increases(earlier, later))


def _subtract_stats(earlier: Stats, later: Stats) -> Stats:
    """Return the calls that are only in `later`. Their extremes are exact if they are new extremes."""
    count = later.count - earlier.count
    if not earlier.count:
        return later
    if count >= 0 and not later.is_known:  # they were only counted, by another program
        return Stats(count, max(0, later.sum_ns - earlier.sum_ns))
    histogram = _subtract_histogram(earlier.histogram, later.histogram)
    if count < 0 or histogram.count != count:
        raise NotLaterError("there are fewer calls than before")
    if not count:
        return Stats()
    assert later.min_ns is not None
    assert later.max_ns is not None
    # No call is shorter than the start of the lowest bucket with a call, which contains a new minimum.
    low, high = edges_of(min(histogram.buckets))[0], edges_of(max(histogram.buckets))[1]
    return Stats(
        count=count,
        sum_ns=max(0, later.sum_ns - earlier.sum_ns),
        min_ns=max(later.min_ns, math.floor(low) if low > 1 else 0),
        max_ns=min(later.max_ns, math.floor(high)),
        histogram=histogram,
    )


def _subtract_histogram(earlier: Histogram, later: Histogram) -> Histogram:
    counts = _count_increases(earlier.buckets, later.buckets)
    if not earlier.buckets.keys() <= later.buckets.keys() or min(counts.values(), default=0) < 0:
        raise NotLaterError("there are fewer values than before")
    return Histogram(counts)


def _subtract_windows(earlier: Node, later: Node) -> Windows:
    """Return the calls in between over the run's time; empty, as always, if unknown."""
    has_windows = all(node.windows.count == node.count for node in (earlier, later))
    if not has_windows or earlier.windows.width_ns > later.windows.width_ns:
        return Windows()
    width_ns = later.windows.width_ns
    earlier_windows = earlier.windows.coarsened(width_ns)
    counts = _count_increases(earlier_windows.counts, later.windows.counts)
    totals = _count_increases(earlier_windows.totals, later.windows.totals)
    if min(counts.values(), default=0) < 0 or min(totals.values(), default=0) < 0:
        return Windows()
    return Windows(width_ns, counts, totals)


def _subtract_node(earlier: Node, later: Node, subtracted: Mapping[str, Node]) -> Node:
    """Return the difference of two nodes, given the differences of the children that both have."""
    steady, warmup = _phases(earlier, later)
    numbers = _increases(earlier, later)
    numbers["self_ns"] = later.self_ns - earlier.self_ns  # may be negative: totals derive from it
    # An estimate that was limited by too little self time may catch up at once.
    numbers["recorder_ns"] = min(max(0, numbers["recorder_ns"]), max(0, numbers["self_ns"]))
    for name in ("work", "cpu", "memory", "device_memory"):
        numbers[name] = _subtract_optional(getattr(earlier, name), getattr(later, name), _subtract_added)
    sites = _count_increases(earlier.call_sites, later.call_sites)
    return replace(
        later,
        **numbers,
        steady=steady,
        warmup=warmup,
        windows=_subtract_windows(earlier, later),
        call_sites={site: count for site, count in sites.items() if count > 0},
        per_run=_subtract_each(
            earlier.per_run, later.per_run, lambda old, new: (new[0] - old[0], new[1] - old[1])
        ),
        by_thread=_shares(earlier, later),
        wakers=_subtract_each(earlier.wakers, later.wakers, _subtract_wakes),
        children={**later.children, **subtracted},
    )


def _phases(earlier: Node, later: Node) -> tuple[Stats, Stats | None]:
    try:
        steady = _subtract_stats(earlier.steady, later.steady)
        if later.warmup is None and earlier.warmup is not None:
            raise NotLaterError("a warm-up is gone")
        if later.warmup is None or earlier.warmup is None:
            return steady, later.warmup
        return steady, _subtract_stats(earlier.warmup, later.warmup)
    except NotLaterError:
        if later.warmup is None:
            raise
        return _subtract_stats(earlier.stats, later.stats), None  # a warm-up has ended in between


def _shares(earlier: Node, later: Node) -> dict[str, Share]:
    """Return each thread's share of the time in between; empty, as always, if unknown."""
    earlier_shares, later_shares = earlier.by_thread, later.by_thread
    # Short-lived threads may meanwhile be summed as one, with another id.
    if not (earlier.attributed and later.attributed and earlier_shares.keys() <= later_shares.keys()):
        return {}
    return _subtract_each(earlier_shares, later_shares, _subtract_added)


def _subtract_wakes(earlier: Wakes, later: Wakes) -> Wakes | None:
    """Return the number and duration of waits for a waker in between; None if there were none."""
    if later.count <= earlier.count:
        return None
    waited_ns = max(0, later.waited_ns - earlier.waited_ns)
    latency_ns = max(0, later.latency_ns - earlier.latency_ns)
    return Wakes(later.count - earlier.count, waited_ns, min(latency_ns, waited_ns))


def _subtract_loop(earlier: Loop | None, later: Loop) -> Loop:
    """Return the ticks in between; all ticks if there is no earlier reading."""
    if earlier is None:
        return later
    ticks = later.ticks - earlier.ticks
    if ticks < 0:
        raise NotLaterError("a loop has fewer ticks than before")
    # When a warm-up ends, everything of the steady phase starts again.
    base = earlier if _is_same_phase(earlier, later) else Loop(path=later.path)
    stats = _subtract_stats(base.stats, later.stats)
    missed = later.missed - base.missed
    longest = later.longest_miss_run if later.longest_miss_run > base.longest_miss_run else 0
    rows = _count_increases(base.missed_breakdown, later.missed_breakdown)
    return replace(
        later,
        ticks=ticks,
        incomplete=later.incomplete - earlier.incomplete,
        missed=missed,
        longest_miss_run=min(longest, missed),  # a longer one began before
        warmup_ticks=ticks - stats.count,
        stats=stats,
        lateness=_subtract_optional(base.lateness, later.lateness, _subtract_values),
        jitter=_subtract_optional(base.jitter, later.jitter, _subtract_values),
        busy_ns=later.busy_ns - earlier.busy_ns,
        first_ticks=None if later.first_ticks == earlier.first_ticks else later.first_ticks,
        worst=_new_ticks(earlier.worst, later.worst),
        waited_ns=_subtract_time(base.waited_ns, later.waited_ns),
        causes=_subtract_causes(base.causes, later.causes, stats.count),
        missed_causes=_subtract_causes(base.missed_causes, later.missed_causes, missed),
        missed_ns=_subtract_time(base.missed_ns, later.missed_ns),
        missed_breakdown={path: ns for path, ns in rows.items() if ns > 0 and later.missed_ns is not None},
    )


def _subtract_values(earlier: Values, later: Values) -> Values:
    """Return the values in between, without a histogram if they are not known one by one."""
    count, sum_ns = later.count - earlier.count, later.sum_ns - earlier.sum_ns
    try:
        histogram = _subtract_histogram(earlier.histogram, later.histogram)
    except NotLaterError:
        histogram = Histogram()
    is_known = histogram.count == count
    return replace(later, count=count, sum_ns=sum_ns, histogram=histogram if is_known else Histogram())


def _subtract_time(earlier: int | None, later: int | None) -> int | None:
    return None if later is None else max(0, later - (earlier or 0))


def _subtract_causes(earlier: Causes | None, later: Causes | None, ticks: int) -> Causes | None:
    """Return the causes of the ticks in between; None if unknown."""
    if later is None or earlier is None:
        return later
    causes = later - earlier
    amounts = causes.amounts()
    return causes if any(amounts) and min(amounts) >= 0 and causes.ticks <= ticks else None


def _is_same_phase(earlier: Loop, later: Loop) -> bool:
    """Return whether the steady phase of `later` is that of `earlier`, some ticks later."""
    pairs = ((earlier.lateness, later.lateness), (earlier.jitter, later.jitter))
    # If no more ticks were set aside, a missing jitter was of ticks that were about to be set aside.
    is_less = later.missed < earlier.missed or any(
        old is not None and (new is None or new.count < old.count or new.sum_ns < old.sum_ns)
        for old, new in pairs
    )
    if is_less and later.warmup_ticks != earlier.warmup_ticks:
        return False
    try:
        stats = _subtract_stats(earlier.stats, later.stats)
    except NotLaterError:
        return False
    return stats.count <= later.ticks - earlier.ticks


def _new_ticks(earlier: tuple[WorstTick, ...], later: tuple[WorstTick, ...]) -> tuple[WorstTick, ...]:
    old_ticks, new_ticks = list(earlier), []
    for tick in later:
        if tick in old_ticks:
            old_ticks.remove(tick)
        else:
            new_ticks.append(tick)
    return tuple(new_ticks)


def _subtract_gauge(earlier: Gauge, later: Gauge) -> Gauge | None:
    """Return the readings in between; None if there were none."""
    if earlier.count == later.count:
        return None
    between = replace(
        later,
        count=later.count - earlier.count,
        windows=GaugeWindows(),  # the first window may contain earlier readings
        positive=_subtract_histogram(earlier.positive, later.positive),
        negative=_subtract_histogram(earlier.negative, later.negative),
        zeros=later.zeros - earlier.zeros,
    )
    if between.count < 0 or between.zeros < 0:
        raise NotLaterError("a gauge has fewer readings than before")
    low, high = _bounds(between)
    low, high = min(max(low, later.min), later.last), max(min(high, later.max), later.last)
    return replace(between, min=low, max=high)


def _bounds(gauge: Gauge) -> tuple[float, float]:
    """Return bounds of all readings of `gauge`, from its histograms."""
    if gauge.filed != gauge.count:
        return gauge.min, gauge.max
    parts = [(0.0, 0.0)] if gauge.zeros else []
    parts += [edges_of(bucket) for bucket in gauge.positive.buckets]
    parts += [(-high, -low) for low, high in map(edges_of, gauge.negative.buckets)]
    return min(low for low, _ in parts), max(high for _, high in parts)


def difference(earlier: Profile, later: Profile) -> Profile:
    """Return `later` less `earlier`, an earlier reading of the same run.

    Gauges that were not read in between are not in it.

    Raises:
        NotLaterError: `earlier` holds what `later` does not: recording was reset in between, or a process's
            file could not be read the second time.
    """
    critical = _count_increases(earlier.critical, later.critical)
    is_continued = earlier.critical.keys() <= later.critical.keys()
    return Profile(
        root=_subtract_tree(earlier.root, later.root),
        loops={path: _subtract_loop(earlier.loops.get(path), loop) for path, loop in later.loops.items()},
        gauges=_subtract_each(earlier.gauges, later.gauges, _subtract_gauge),
        metadata=later.metadata,
        losses=_count_increases(earlier.losses, later.losses),
        threads=later.threads,
        # The critical path now may be another one.
        critical=critical if is_continued and min(critical.values(), default=1) > 0 else {},
        timeline_calls=later.timeline_calls - earlier.timeline_calls,
        samples=_subtract_optional(earlier.samples, later.samples, _subtract_samples),
    )


def _subtract_tree(earlier: Node, later: Node) -> Node:
    # From the root down, pair the nodes of both trees; then subtract from the leaves up.
    pairs = [(earlier, later, -1)]
    for index, (old, new, _) in enumerate(pairs):  # the list grows while it is walked
        if not old.children.keys() <= new.children.keys():
            raise NotLaterError("a node is gone")
        pairs.extend((child, new.children[name], index) for name, child in old.children.items())
    subtracted: list[dict[str, Node]] = [{} for _ in pairs]
    for old, new, parent in reversed(pairs[1:]):
        subtracted[parent][new.key] = _subtract_node(old, new, subtracted.pop())
    return _subtract_node(earlier, later, subtracted[0])


def _subtract_samples(earlier: Samples, later: Samples) -> Samples:
    """Return the samples in between. A stack with fewer samples than before now belongs to another node: left out."""
    return Samples(
        stacks=_subtract_each(
            earlier.stacks,
            later.stacks,
            lambda old, new: Weight(**_increases(old, new)) if new.count > old.count else None,
        ),
        dropped=_count_increases(earlier.dropped, later.dropped),
        **_increases(earlier, later),
    )


# Readings in memory per window, even if the run is read more often: profiles of thousands of nodes take megabytes.
READINGS_PER_WINDOW = 10


@dataclass(frozen=True, slots=True)
class Span:
    """A period of a run."""

    profile: Profile
    length_ns: int


class Recent:
    """Readings of the last seconds, and the difference of the oldest and the newest of them.

    Args:
        length_ns: length of the window. It is shorter until the run has been watched for that long, and longer by at
            most one reading.
    """

    def __init__(self, length_ns: int) -> None:
        self._length_ns = length_ns
        self._readings: deque[tuple[int, Profile]] = deque()

    def add(self, at_ns: int, profile: Profile) -> Span | None:
        """Add a reading, and return the period that ends with it; None for the first one."""
        if self._readings and at_ns <= self._readings[-1][0]:
            return None
        # The start of the window is the newest reading that is old enough.
        while len(self._readings) > 1 and at_ns - self._readings[1][0] >= self._length_ns:
            self._readings.popleft()
        span = self._span_since_oldest(at_ns, profile)
        if span is None:
            self._readings.clear()
        if len(self._readings) < 2 or at_ns - self._readings[-2][0] >= self._length_ns // READINGS_PER_WINDOW:
            self._readings.append((at_ns, profile))
        else:  # so soon after the previous reading that it is not needed
            self._readings[-1] = (at_ns, profile)
        return span

    def clear(self) -> None:
        """Start again: the time between the last reading and the next was not watched."""
        self._readings.clear()

    def _span_since_oldest(self, at_ns: int, profile: Profile) -> Span | None:
        if not self._readings:
            return None
        began_ns, earlier = self._readings[0]
        try:
            return Span(difference(earlier, profile), at_ns - began_ns)
        except NotLaterError:  # recording was reset: this reading is the first
            return None
