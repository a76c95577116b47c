"""What happened between two readings of one run, as a profile of its own.

What adds up is subtracted: calls, times, histograms, windows, losses. What does not add up, such as an extreme
or the worst ticks, is the later reading's as far as it must lie in between, and else the closest bound there
is. So the earlier profile and the difference merge to the later one. Two things are not so:

- Calls that are open are a state and not a sum: the difference has the later reading's.
- When a warm-up ends, all calls until then are moved aside. What is said of the calls in between is right, but
  of those of them that came before its end it may say that they were of the steady phase.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from ticktree.live.subtraction import NotLaterError, less, reading_less, stats_less, windows_less
from ticktree.profile import (
    CallSite,
    Causes,
    CriticalPlace,
    Gauge,
    Histogram,
    Jitter,
    Lateness,
    Loop,
    Node,
    Profile,
    Share,
    Stats,
    Waker,
    Wakes,
    WorstTick,
)
from ticktree.profile.measures import Cpu, Memory, Work

Measure = TypeVar("Measure", Work, Cpu, Memory, Lateness, Jitter)


def difference(earlier: Profile, later: Profile) -> Profile:
    """Return what `later` has more than `earlier`, an earlier reading of the same run.

    Gauges that were not read in between are not in it.

    Raises:
        NotLaterError: `earlier` holds what `later` does not: recording was reset in between, or a process's
            file could not be read the second time.
    """
    return Profile(
        root=_tree(earlier.root, later.root),
        loops={path: _loop(earlier.loops.get(path), loop) for path, loop in later.loops.items()},
        gauges=_gauges(earlier.gauges, later.gauges),
        metadata=later.metadata,
        losses=less(earlier.losses, later.losses),
        writers=later.writers,
        critical=_critical(earlier.critical, later.critical),
        timeline_calls=later.timeline_calls - earlier.timeline_calls,
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
        subtracted[parent][right.key] = _node(left, right, subtracted.pop())
    return _node(earlier, later, subtracted[0])


def _node(earlier: Node, later: Node, subtracted: Mapping[str, Node]) -> Node:
    """Return the difference of two nodes, given that of those children which both have."""
    steady, warmup = _phases(earlier, later)
    own_ns = later.own_ns - earlier.own_ns
    return Node(
        name=later.name,
        clock=later.clock,
        own_ns=own_ns,
        concurrent_ns=later.concurrent_ns - earlier.concurrent_ns,
        steady=steady,
        warmup=warmup,
        windows=windows_less(earlier, later),
        wait=later.wait,
        call_sites=_call_sites(earlier.call_sites, later.call_sites),
        work=_measure(earlier.work, later.work),
        cpu=_measure(earlier.cpu, later.cpu),
        memory=_measure(earlier.memory, later.memory),
        device_memory=_measure(earlier.device_memory, later.device_memory),
        device=later.device,
        open=later.open,
        # An estimate that was held back by too little own time may catch up all at once.
        recorder_ns=min(max(0, later.recorder_ns - earlier.recorder_ns), max(0, own_ns)),
        per_run=_runs(earlier.per_run, later.per_run),
        by_writer=_shares(earlier, later),
        wakers=_wakers(earlier.wakers, later.wakers),
        children={**later.children, **subtracted},
    )


def _phases(earlier: Node, later: Node) -> tuple[Stats, Stats | None]:
    """Return the calls in between of the steady phase and of warm-up."""
    try:
        steady = stats_less(earlier.steady, later.steady)
        if later.warmup is None:
            if earlier.warmup is not None:
                raise NotLaterError("a warm-up is gone")
            return steady, None
        return steady, later.warmup if earlier.warmup is None else stats_less(earlier.warmup, later.warmup)
    except NotLaterError:
        if later.warmup is None:
            raise
        return stats_less(earlier.stats, later.stats), None  # a warm-up has ended in between


def _call_sites(earlier: Mapping[CallSite, int], later: Mapping[CallSite, int]) -> dict[CallSite, int]:
    return {site: count for site, count in less(earlier, later).items() if count > 0}


def _runs(
    earlier: Mapping[str, tuple[int, int]], later: Mapping[str, tuple[int, int]]
) -> dict[str, tuple[int, int]]:
    result = {}
    for run, (count, sum_ns) in later.items():
        before = earlier.get(run)
        if before is None:
            result[run] = (count, sum_ns)
        elif before != (count, sum_ns):
            result[run] = (count - before[0], sum_ns - before[1])
    return result


def _shares(earlier: Node, later: Node) -> dict[str, Share]:
    """Return what each writer did in between; empty, as always, where that is not known."""
    before, now = earlier.by_writer, later.by_writer
    # Short-lived writers are at times added up as one, under another id.
    if not (earlier.attributed and later.attributed and before.keys() <= now.keys()):
        return {}
    return {
        writer: _share_less(before[writer], share) if writer in before else share
        for writer, share in now.items()
        if share != before.get(writer)
    }


def _share_less(earlier: Share, later: Share) -> Share:
    count, own_ns = later.count - earlier.count, later.own_ns - earlier.own_ns
    return Share(count, later.total_ns - earlier.total_ns, own_ns)


def _wakers(earlier: Mapping[Waker, Wakes], later: Mapping[Waker, Wakes]) -> dict[Waker, Wakes]:
    result = {}
    for waker, wakes in later.items():
        before = earlier.get(waker)
        if before is None:
            result[waker] = wakes
        elif wakes.count > before.count:
            waited_ns = max(0, wakes.waited_ns - before.waited_ns)
            handover_ns = max(0, wakes.handover_ns - before.handover_ns)
            result[waker] = Wakes(wakes.count - before.count, waited_ns, min(handover_ns, waited_ns))
    return result


def _critical(
    earlier: Mapping[CriticalPlace, int], later: Mapping[CriticalPlace, int]
) -> dict[CriticalPlace, int]:
    """Return how the critical path went on; empty where it has turned out to be another one."""
    left = less(earlier, later)
    return left if earlier.keys() <= later.keys() and min(left.values(), default=1) > 0 else {}


def _measure(earlier: Measure | None, later: Measure | None) -> Measure | None:
    """Return what was measured in between; None where nothing was."""
    if later is None or earlier is None or earlier == later:
        return None if earlier is not None else later
    if isinstance(later, Work) and isinstance(earlier, Work):
        return Work(later.bytes - earlier.bytes, later.flops - earlier.flops, later.items - earlier.items)
    if isinstance(later, Cpu) and isinstance(earlier, Cpu):
        samples = later.samples - earlier.samples
        return Cpu(samples, later.cpu_ns - earlier.cpu_ns, later.wall_ns - earlier.wall_ns)
    if isinstance(later, Memory) and isinstance(earlier, Memory):
        change_bytes = later.change_bytes - earlier.change_bytes
        return replace(later, samples=later.samples - earlier.samples, change_bytes=change_bytes)
    if isinstance(later, Lateness) and isinstance(earlier, Lateness):
        count, histogram = later.count - earlier.count, _each_less(earlier, later)
        return Lateness(count, later.sum_ns - earlier.sum_ns, later.max_ns, histogram)
    assert isinstance(later, Jitter)
    assert isinstance(earlier, Jitter)
    count, histogram = later.count - earlier.count, _each_less(earlier, later)
    return Jitter(count, later.sum_ns - earlier.sum_ns, histogram)


def _each_less(earlier: Lateness | Jitter, later: Lateness | Jitter) -> Histogram:
    """Return the values in between; none where they are not known of each."""
    try:
        between = reading_less(earlier.histogram, later.histogram)
    except NotLaterError:
        return Histogram()
    return between if between.count == later.count - earlier.count else Histogram()


def _loop(earlier: Loop | None, later: Loop) -> Loop:
    if earlier is None:
        return later
    ticks = later.ticks - earlier.ticks
    if ticks < 0:
        raise NotLaterError("a loop has fewer ticks than before")
    # When a warm-up ends, all that is of the steady phase begins anew.
    began_anew = earlier if _goes_on(earlier, later) else Loop(path=later.path)
    stats = stats_less(began_anew.stats, later.stats)
    missed = later.missed - began_anew.missed
    longest = later.longest_miss_run if later.longest_miss_run > began_anew.longest_miss_run else 0
    return Loop(
        path=later.path,
        ticks=ticks,
        incomplete=later.incomplete - earlier.incomplete,
        hz=later.hz,
        missed=missed,
        longest_miss_run=min(longest, missed),  # a longer one began before
        warmup_ticks=ticks - stats.count,
        stats=stats,
        lateness=_measure(began_anew.lateness, later.lateness),
        jitter=_measure(began_anew.jitter, later.jitter),
        busy_ns=later.busy_ns - earlier.busy_ns,
        first_ticks=None if later.first_ticks == earlier.first_ticks else later.first_ticks,
        worst=_new_among(earlier.worst, later.worst),
        waited_ns=_time_less(began_anew.waited_ns, later.waited_ns),
        causes=_causes_less(began_anew.causes, later.causes, stats.count),
        missed_causes=_causes_less(began_anew.missed_causes, later.missed_causes, missed),
        missed_ns=_time_less(began_anew.missed_ns, later.missed_ns),
        missed_breakdown={} if later.missed_ns is None else _rows_less(began_anew, later),
    )


def _time_less(earlier: int | None, later: int | None) -> int | None:
    return None if later is None else max(0, later - (earlier or 0))


def _rows_less(earlier: Loop, later: Loop) -> dict[str, int]:
    rows = less(earlier.missed_breakdown, later.missed_breakdown)
    return {path: ns for path, ns in rows.items() if ns > 0}


def _causes_less(earlier: Causes | None, later: Causes | None, ticks: int) -> Causes | None:
    """Return what happened in between; None where nothing of it is known."""
    if later is None or earlier is None:
        return later
    between = later - earlier
    return between if min(between.amounts()) >= 0 and 0 < between.ticks <= ticks else None


def _goes_on(earlier: Loop, later: Loop) -> bool:
    """Tell whether the steady phase of `later` is that of `earlier`, some ticks later."""
    pairs = ((earlier.lateness, later.lateness), (earlier.jitter, later.jitter))
    if later.missed < earlier.missed or any(
        before is not None and (now is None or now.count < before.count or now.sum_ns < before.sum_ns)
        for before, now in pairs
    ):
        return False
    try:
        stats = stats_less(earlier.stats, later.stats)
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


def _gauges(earlier: Mapping[str, Gauge], later: Mapping[str, Gauge]) -> dict[str, Gauge]:
    result = {}
    for name, gauge in later.items():
        before = earlier.get(name)
        if before is None:
            result[name] = gauge
        elif before.count != gauge.count:
            result[name] = _gauge(before, gauge)
    return result


def _gauge(earlier: Gauge, later: Gauge) -> Gauge:
    positive, negative = (
        reading_less(earlier.positive, later.positive),
        reading_less(earlier.negative, later.negative),
    )
    between = replace(
        later,
        count=later.count - earlier.count,
        positive=positive,
        negative=negative,
        zeros=later.zeros - earlier.zeros,
    )
    if between.count < 0 or between.zeros < 0:
        raise NotLaterError("a gauge has fewer readings than before")
    low, high = _bounds(between)
    return replace(
        between, min=min(max(low, later.min), later.last), max=max(min(high, later.max), later.last)
    )


def _bounds(gauge: Gauge) -> tuple[float, float]:
    """Return what no reading of `gauge` lies beyond, by its histograms."""
    if gauge.filed != gauge.count:
        return gauge.min, gauge.max
    from ticktree.profile.histogram import edges_of

    parts = [(0.0, 0.0)] if gauge.zeros else []
    parts += [edges_of(bucket) for bucket in gauge.positive.buckets]
    parts += [(-high, -low) for low, high in map(edges_of, gauge.negative.buckets)]
    return min(low for low, _ in parts), max(high for _, high in parts)
