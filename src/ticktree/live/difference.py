"""What happened between two readings of one run, as a profile; and the last seconds of a run.

Sums are subtracted: calls, times, histograms, windows, losses. What is not a sum, such as an extreme or the worst
ticks, is that of the later reading if it must be from the time in between, and otherwise the closest known bound. So
the earlier profile and the difference merge to the later one, with two exceptions:

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
from ticktree.profile.table import Stored, add, columns

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Part = TypeVar("Part", Cpu, Memory, Share, Work)
Filed = TypeVar("Filed", Lateness, Jitter)


class NotLaterError(ValueError):
    """The supposedly earlier reading contains something that the later one does not."""


def _less(earlier: Mapping[Key, int], later: Mapping[Key, int]) -> dict[Key, int]:
    """Return the increase of each count in `later`; equal counts are left out."""
    return {
        key: count - earlier.get(key, 0)
        for key, count in later.items()
        if key not in earlier or count != earlier[key]
    }


def _between(
    earlier: Value | None, later: Value | None, less: Callable[[Value, Value], Value | None]
) -> Value | None:
    """Return `later` less `earlier`, computed by `less` if they differ; `later` if there is no earlier one."""
    if earlier is None or later is None or earlier == later:
        return later if earlier is None else None
    return less(earlier, later)


def _each_less(
    earlier: Mapping[Key, Value], later: Mapping[Key, Value], less: Callable[[Value, Value], Value | None]
) -> dict[Key, Value]:
    """Return each entry of `later` less its earlier one, computed by `less`; unchanged entries are left out."""
    found = ((key, _between(earlier.get(key), value, less)) for key, value in later.items())
    return {key: left for key, left in found if left is not None}


def _added(earlier: Stored, later: Stored) -> dict[str, Any]:
    """Return the increase of each field that merges by addition; never less than the field's minimum."""
    # Parts of a call may be there and others not where a reading was caught in a write.
    found = {}
    for column in columns(type(later)):
        if column.merge is add:
            more = getattr(later, column.name) - getattr(earlier, column.name)
            found[column.name] = more if column.least is None else max(column.least, more)
    return found


def _added_less(earlier: Part, later: Part) -> Part:
    """Return `later` with the increase of each field that merges by addition."""
    return replace(later, **_added(earlier, later))


def _stats_less(earlier: Stats, later: Stats) -> Stats:
    """Return the calls that are only in `later`. Their extremes are exact if they are new extremes."""
    count = later.count - earlier.count
    if not earlier.count:
        return later
    if count >= 0 and not later.is_known:  # they were only counted, by another program
        return Stats(count, max(0, later.sum_ns - earlier.sum_ns))
    histogram = _reading_less(earlier.histogram, later.histogram)
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


def _reading_less(earlier: Histogram, later: Histogram) -> Histogram:
    left = _less(earlier.buckets, later.buckets)
    if not earlier.buckets.keys() <= later.buckets.keys() or min(left.values(), default=0) < 0:
        raise NotLaterError("there are fewer values than before")
    return Histogram(left)


def _windows_less(earlier: Node, later: Node) -> Windows:
    """Return the calls in between over the run's time; empty, as always, if unknown."""
    known = all(node.windows.count == node.count for node in (earlier, later))
    if not known or earlier.windows.width_ns > later.windows.width_ns:
        return Windows()
    width_ns = later.windows.width_ns
    before = earlier.windows.coarsened(width_ns)
    counts = _less(before.counts, later.windows.counts)
    totals = _less(before.totals, later.windows.totals)
    if min(counts.values(), default=0) < 0 or min(totals.values(), default=0) < 0:
        return Windows()
    return Windows(width_ns, counts, totals)


def _node_between(earlier: Node, later: Node, subtracted: Mapping[str, Node]) -> Node:
    """Return the difference of two nodes, given the differences of the children that both have."""
    steady, warmup = _phases(earlier, later)
    numbers = _added(earlier, later)
    numbers["self_ns"] = later.self_ns - earlier.self_ns  # as it is: totals derive from it
    # An estimate that was limited by too little self time may catch up at once.
    numbers["recorder_ns"] = min(max(0, numbers["recorder_ns"]), max(0, numbers["self_ns"]))
    for name in ("work", "cpu", "memory", "device_memory"):
        numbers[name] = _between(getattr(earlier, name), getattr(later, name), _added_less)
    sites = _less(earlier.call_sites, later.call_sites)
    return replace(
        later,
        **numbers,
        steady=steady,
        warmup=warmup,
        windows=_windows_less(earlier, later),
        call_sites={site: count for site, count in sites.items() if count > 0},
        per_run=_each_less(
            earlier.per_run, later.per_run, lambda old, new: (new[0] - old[0], new[1] - old[1])
        ),
        by_writer=_shares(earlier, later),
        wakers=_each_less(earlier.wakers, later.wakers, _wakes),
        children={**later.children, **subtracted},
    )


def _phases(earlier: Node, later: Node) -> tuple[Stats, Stats | None]:
    try:
        steady = _stats_less(earlier.steady, later.steady)
        if later.warmup is None and earlier.warmup is not None:
            raise NotLaterError("a warm-up is gone")
        if later.warmup is None or earlier.warmup is None:
            return steady, later.warmup
        return steady, _stats_less(earlier.warmup, later.warmup)
    except NotLaterError:
        if later.warmup is None:
            raise
        return _stats_less(earlier.stats, later.stats), None  # a warm-up has ended in between


def _shares(earlier: Node, later: Node) -> dict[str, Share]:
    """Return what each writer did in between; empty, as always, if unknown."""
    before, now = earlier.by_writer, later.by_writer
    # Short-lived writers may meanwhile be summed as one, with another id.
    if not (earlier.attributed and later.attributed and before.keys() <= now.keys()):
        return {}
    return _each_less(before, now, _added_less)


def _wakes(earlier: Wakes, later: Wakes) -> Wakes | None:
    """Return the number and duration of waits for a waker in between; None if there were none."""
    if later.count <= earlier.count:
        return None
    waited_ns = max(0, later.waited_ns - earlier.waited_ns)
    handover_ns = max(0, later.handover_ns - earlier.handover_ns)
    return Wakes(later.count - earlier.count, waited_ns, min(handover_ns, waited_ns))


def _loop_between(earlier: Loop | None, later: Loop) -> Loop:
    """Return the ticks in between; all ticks if there is no earlier reading."""
    if earlier is None:
        return later
    ticks = later.ticks - earlier.ticks
    if ticks < 0:
        raise NotLaterError("a loop has fewer ticks than before")
    # When a warm-up ends, everything of the steady phase starts again.
    began_anew = earlier if _goes_on(earlier, later) else Loop(path=later.path)
    stats = _stats_less(began_anew.stats, later.stats)
    missed = later.missed - began_anew.missed
    longest = later.longest_miss_run if later.longest_miss_run > began_anew.longest_miss_run else 0
    rows = _less(began_anew.missed_breakdown, later.missed_breakdown)
    return replace(
        later,
        ticks=ticks,
        incomplete=later.incomplete - earlier.incomplete,
        missed=missed,
        longest_miss_run=min(longest, missed),  # a longer one began before
        warmup_ticks=ticks - stats.count,
        stats=stats,
        lateness=_between(began_anew.lateness, later.lateness, _filed_less),
        jitter=_between(began_anew.jitter, later.jitter, _filed_less),
        busy_ns=later.busy_ns - earlier.busy_ns,
        first_ticks=None if later.first_ticks == earlier.first_ticks else later.first_ticks,
        worst=_new_among(earlier.worst, later.worst),
        waited_ns=_time_less(began_anew.waited_ns, later.waited_ns),
        causes=_causes_less(began_anew.causes, later.causes, stats.count),
        missed_causes=_causes_less(began_anew.missed_causes, later.missed_causes, missed),
        missed_ns=_time_less(began_anew.missed_ns, later.missed_ns),
        missed_breakdown={path: ns for path, ns in rows.items() if ns > 0 and later.missed_ns is not None},
    )


def _filed_less(earlier: Filed, later: Filed) -> Filed:
    """Return the values in between, without a histogram if they are not known one by one."""
    count, sum_ns = later.count - earlier.count, later.sum_ns - earlier.sum_ns
    try:
        left = _reading_less(earlier.histogram, later.histogram)
    except NotLaterError:
        left = Histogram()
    return replace(later, count=count, sum_ns=sum_ns, histogram=left if left.count == count else Histogram())


def _time_less(earlier: int | None, later: int | None) -> int | None:
    return None if later is None else max(0, later - (earlier or 0))


def _causes_less(earlier: Causes | None, later: Causes | None, ticks: int) -> Causes | None:
    """Return what happened in between; None if unknown."""
    if later is None or earlier is None:
        return later
    left = later - earlier
    amounts = left.amounts()
    return left if any(amounts) and min(amounts) >= 0 and left.ticks <= ticks else None


def _goes_on(earlier: Loop, later: Loop) -> bool:
    """Return whether the steady phase of `later` is that of `earlier`, some ticks later."""
    pairs = ((earlier.lateness, later.lateness), (earlier.jitter, later.jitter))
    # If no more ticks were set aside, a jitter that is gone was of ticks that were about to be set aside.
    is_less = later.missed < earlier.missed or any(
        before is not None and (now is None or now.count < before.count or now.sum_ns < before.sum_ns)
        for before, now in pairs
    )
    if is_less and later.warmup_ticks != earlier.warmup_ticks:
        return False
    try:
        stats = _stats_less(earlier.stats, later.stats)
    except NotLaterError:
        return False
    return stats.count <= later.ticks - earlier.ticks


def _new_among(earlier: tuple[WorstTick, ...], later: tuple[WorstTick, ...]) -> tuple[WorstTick, ...]:
    known, new = list(earlier), []
    for tick in later:
        if tick in known:
            known.remove(tick)
        else:
            new.append(tick)
    return tuple(new)


def _gauge_between(earlier: Gauge, later: Gauge) -> Gauge | None:
    """Return the readings in between; None if there were none."""
    if earlier.count == later.count:
        return None
    between = replace(
        later,
        count=later.count - earlier.count,
        windows=GaugeWindows(),  # of the first one it is not known which readings came later
        positive=_reading_less(earlier.positive, later.positive),
        negative=_reading_less(earlier.negative, later.negative),
        zeros=later.zeros - earlier.zeros,
    )
    if between.count < 0 or between.zeros < 0:
        raise NotLaterError("a gauge has fewer readings than before")
    low, high = _bounds(between)
    least, most = min(max(low, later.min), later.last), max(min(high, later.max), later.last)
    return replace(between, min=least, max=most)


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
    critical = _less(earlier.critical, later.critical)
    is_continued = earlier.critical.keys() <= later.critical.keys()
    return Profile(
        root=_tree(earlier.root, later.root),
        loops={path: _loop_between(earlier.loops.get(path), loop) for path, loop in later.loops.items()},
        gauges=_each_less(earlier.gauges, later.gauges, _gauge_between),
        metadata=later.metadata,
        losses=_less(earlier.losses, later.losses),
        writers=later.writers,
        # The critical path now may be another one.
        critical=critical if is_continued and min(critical.values(), default=1) > 0 else {},
        timeline_calls=later.timeline_calls - earlier.timeline_calls,
        samples=_between(earlier.samples, later.samples, _samples),
    )


def _tree(earlier: Node, later: Node) -> Node:
    # From the root down, pair the nodes that both trees have; then subtract from the leaves up.
    pairs = [(earlier, later, -1)]
    for place, (left, right, _) in enumerate(pairs):  # the list grows while it is walked
        if not left.children.keys() <= right.children.keys():
            raise NotLaterError("a node is gone")
        pairs.extend((child, right.children[name], place) for name, child in left.children.items())
    subtracted: list[dict[str, Node]] = [{} for _ in pairs]
    for left, right, parent in reversed(pairs[1:]):
        subtracted[parent][right.key] = _node_between(left, right, subtracted.pop())
    return _node_between(earlier, later, subtracted[0])


def _samples(earlier: Samples, later: Samples) -> Samples:
    """Return the samples in between. A stack with fewer samples than before now belongs to another node: left out."""
    return Samples(
        stacks=_each_less(
            earlier.stacks,
            later.stacks,
            lambda old, new: Weight(**_added(old, new)) if new.count > old.count else None,
        ),
        dropped=_less(earlier.dropped, later.dropped),
        **_added(earlier, later),
    )


# Readings kept per window, however often the run is read: profiles of thousands of nodes take megabytes.
KEPT_IN_A_WINDOW = 10


@dataclass(frozen=True, slots=True)
class Span:
    """A period of a run."""

    profile: Profile
    length_ns: int


class Recent:
    """Readings of the last seconds, and what happened between the oldest and the newest of them.

    Args:
        length_ns: length of the window. It is shorter until the run has been watched for that long, and longer by at
            most one reading.
    """

    def __init__(self, length_ns: int) -> None:
        self._length_ns = length_ns
        self._kept: deque[tuple[int, Profile]] = deque()

    def add(self, at_ns: int, profile: Profile) -> Span | None:
        """Add a reading, and return the period that ends with it; None for the first one."""
        if self._kept and at_ns <= self._kept[-1][0]:
            return None
        # The start of the window is the newest reading that is old enough.
        while len(self._kept) > 1 and at_ns - self._kept[1][0] >= self._length_ns:
            self._kept.popleft()
        span = self._since_the_oldest(at_ns, profile)
        if span is None:
            self._kept.clear()
        if len(self._kept) < 2 or at_ns - self._kept[-2][0] >= self._length_ns // KEPT_IN_A_WINDOW:
            self._kept.append((at_ns, profile))
        else:  # read so often that the one before is not needed
            self._kept[-1] = (at_ns, profile)
        return span

    def forget(self) -> None:
        """Start again: the time between the last reading and the next was not watched."""
        self._kept.clear()

    def _since_the_oldest(self, at_ns: int, profile: Profile) -> Span | None:
        if not self._kept:
            return None
        began_ns, earlier = self._kept[0]
        try:
            return Span(difference(earlier, profile), at_ns - began_ns)
        except NotLaterError:  # recording was reset: this reading is the first
            return None
