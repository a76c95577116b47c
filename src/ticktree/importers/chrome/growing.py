"""Growing: nodes out of calls, such that their times sum exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ticktree.importers.chrome.events import Column, Flags
from ticktree.importers.chrome.placing import NOWHERE, NumberedTree
from ticktree.profile import FirstTicks, Histogram, Jitter, Loop, Node, Open, Share, Stats, Windows, WorstTick
from ticktree.profile.histogram import BUCKETS_PER_OCTAVE, THRESHOLDS
from ticktree.profile.loop import WORST_TICKS_KEPT, worst_of
from ticktree.profile.stats import window_width

_THRESHOLDS = np.array(THRESHOLDS, np.uint64)


@dataclass(eq=False)
class Rows:
    """What calls add to nodes. Columns are equally long.

    Attributes:
        place: whose call it is.
        lane: which lane made it.
        start_ns: when it began, since the run did.
        duration_ns: how long it took.
        self_ns: for how much of that nothing ran that was called in it.
        concurrent_ns: how much of it does not count against what it is in.
        is_open: whether it had not ended: it is no call yet.
    """

    place: Column
    lane: Column
    start_ns: Column
    duration_ns: Column
    self_ns: Column
    concurrent_ns: Column
    is_open: Flags

    def __getitem__(self, which: Any) -> Rows:
        return Rows(*(column[which] for column in vars(self).values()))

    def __add__(self, other: Rows) -> Rows:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Rows(*(np.concatenate(pair) for pair in pairs))


def grown(
    places: NumberedTree, rows: Rows, run_id: str, writers: Sequence[str], waits: Collection[int] = ()
) -> Node:
    """Return the tree of `places`, with what every call adds; `writers` are the lanes', `waits` places that wait."""
    count = len(places)
    ended = rows[~rows.is_open]
    own = _sums(rows.place, rows.self_ns, count)
    concurrent = _sums(rows.place, rows.concurrent_ns, count)
    stats = _stats(ended, count)
    windows = _windows(ended, count)
    opened = _opened(rows[rows.is_open])
    shares = _shares(places, rows, writers)
    children: list[list[Node]] = [[] for _ in range(count)]
    for place in reversed(range(count)):
        calls = stats[place]
        node = Node(
            name=places.names[place],
            clock=places.clocks[place],
            self_ns=own[place],
            concurrent_ns=concurrent[place],
            steady=calls,
            windows=windows[place],
            wait=place in waits,
            open=opened.get(place),
            per_run={run_id: (calls.count, calls.sum_ns)} if calls.count else {},
            by_writer=shares[place],
            children={child.key: child for child in reversed(children[place])},
        )
        if place:
            children[places.above[place]].append(node)
    return node


def buckets_of(durations_ns: Column) -> Column:
    """Return the bucket of each duration, as `profile.histogram.bucket_of` does."""
    bits = np.frexp(durations_ns.astype(np.float64))[1].astype(np.int64)
    bits -= durations_ns >> np.maximum(bits - 1, 0) == 0  # rounded up to a power of two, or nothing at all
    mantissa = durations_ns.astype(np.uint64) << (64 - np.maximum(bits, 1)).astype(np.uint64)
    found = (bits - 1) * BUCKETS_PER_OCTAVE + np.searchsorted(_THRESHOLDS, mantissa, "right") - 1
    return np.where(durations_ns > 0, found, 0).astype(np.int64)


def _sums(keys: Column, amounts: Column, count: int) -> list[int]:
    total = np.zeros(count, np.int64)
    np.add.at(total, keys, amounts)
    found: list[int] = total.tolist()
    return found


def _stats(ended: Rows, count: int) -> list[Stats]:
    durations = ended.duration_ns
    counts = np.bincount(ended.place, minlength=count).tolist()
    sums = _sums(ended.place, durations, count)
    least = np.full(count, np.iinfo(np.int64).max)
    most = np.zeros(count, np.int64)
    np.minimum.at(least, ended.place, durations)
    np.maximum.at(most, ended.place, durations)
    histograms: list[dict[int, int]] = [{} for _ in range(count)]
    for place, bucket, number in _counted(ended.place, buckets_of(durations)):
        histograms[place][bucket] = number
    return [
        Stats(calls, sums[place], int(least[place]), int(most[place]), Histogram(histograms[place]))
        if calls
        else Stats()
        for place, calls in enumerate(counts)
    ]


def _windows(ended: Rows, count: int) -> list[Windows]:
    ends = ended.start_ns + ended.duration_ns
    width = window_width(int(ends.max(initial=0)))
    numbers: list[dict[int, int]] = [{} for _ in range(count)]
    totals: list[dict[int, int]] = [{} for _ in range(count)]
    for place, window, number in _counted(ended.place, ends // width):
        numbers[place][window] = number
    for place, window, total in _added(ended.place, ends // width, ended.duration_ns):
        totals[place][window] = total
    return [Windows(width, *both) for both in zip(numbers, totals, strict=True)]


def _opened(rows: Rows) -> dict[int, Open]:
    found: dict[int, Open] = {}
    for place, age in zip(rows.place.tolist(), rows.duration_ns.tolist(), strict=True):
        found[place] = found[place] + Open(1, age) if place in found else Open(1, age)
    return found


def _shares(places: NumberedTree, rows: Rows, writers: Sequence[str]) -> list[dict[str, Share]]:
    """Return each writer's part of every place: like a place's total its own counts concurrent time once."""
    parts: list[dict[int, list[int]]] = [{} for _ in range(len(places))]  # calls, total, own, concurrent
    for at, amounts in enumerate(((~rows.is_open).astype(np.int64), rows.self_ns, rows.concurrent_ns)):
        for place, lane, amount in _added(rows.place, rows.lane, amounts):
            parts[place].setdefault(lane, [0, 0, 0, 0])[(0, 2, 3)[at]] += amount
    for place in reversed(range(len(places))):
        for lane, part in parts[place].items():
            part[1] += part[2]
            if place:
                above = parts[places.above[place]].setdefault(lane, [0, 0, 0, 0])
                above[1] += part[1] - part[3]
    return [
        {
            writers[lane]: Share(calls, total, own)
            for lane, (calls, total, own, _) in table.items()
            if calls or total or own
        }
        for table in parts
    ]


def _counted(keys: Column, others: Column) -> list[tuple[int, int, int]]:
    return _added(keys, others, np.ones(len(keys), np.int64))


def _added(keys: Column, others: Column, amounts: Column) -> list[tuple[int, int, int]]:
    """Return for each pair of a key and another the sum of its amounts."""
    if not len(keys):
        return []
    span = int(others.max()) + 1
    pairs, which = np.unique(keys * span + others, return_inverse=True)
    total = np.zeros(len(pairs), np.int64)
    np.add.at(total, which, amounts)
    return list(zip((pairs // span).tolist(), (pairs % span).tolist(), total.tolist(), strict=True))


# What torch.profiler calls the time between two calls of its step().
PROFILER_STEP = "ProfilerStep"
_ROUNDS = 3  # what comes less often is no loop
_FIRST_TICKS = 64


def loop_places(places: NumberedTree, rows: Rows, marked: Sequence[int]) -> list[int]:
    """Return the places whose calls are ticks.

    Those that the file itself says are; else torch.profiler's steps; else, of each lane, the one name at its top that
    comes again and again, where there is no other.
    """
    if marked:
        return list(marked)
    steps = [place for place, name in enumerate(places.names) if name == PROFILER_STEP]
    if steps:
        return steps
    top = np.array(places.above)[rows.place] == 0
    span = len(places)
    pairs, counts = np.unique(rows.lane[top] * span + rows.place[top], return_counts=True)
    repeated = pairs[counts >= _ROUNDS].tolist()
    names = Counter(pair // span for pair in repeated)
    return sorted({pair % span for pair in repeated if names[pair // span] == 1})


class Groups:
    """Where each key is in a column, found without going through all of it."""

    def __init__(self, keys: Column) -> None:
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]

    def of(self, key: int) -> Column:
        """Return the places of a key, in their order."""
        first, last = np.searchsorted(self._keys, (key, key + 1))
        found: Column = self._order[first:last]
        return found


def loop_of(
    place: int,
    node: Node,
    rows: Rows,
    called: Groups,
    inside: Groups,
    paths: Sequence[str],
    writers: Sequence[str],
    began_wall_ns: int | None,
) -> Loop:
    """Return the loop whose ticks are the calls of a place, with what has grown there, `node`.

    `called` has the rows by place, `inside` by the tick of the innermost loop around each.
    """
    ticks = called.of(place)
    ticks = ticks[~rows.is_open[ticks]]
    ticks = ticks[np.lexsort((rows.start_ns[ticks], rows.lane[ticks]))]
    lanes, first, counts = np.unique(rows.lane[ticks], return_index=True, return_counts=True)
    number = np.arange(len(ticks)) - np.repeat(first, counts)
    longest = np.argsort(-rows.duration_ns[ticks], kind="stable")[:WORST_TICKS_KEPT]
    worst = [
        WorstTick(
            duration_ns=int(rows.duration_ns[ticks[at]]),
            writer=writers[rows.lane[ticks[at]]],
            tick=int(number[at]),
            started_ns=int(rows.start_ns[ticks[at]]),
            breakdown=_breakdown(rows, inside.of(int(ticks[at])), paths),
        )
        for at in longest.tolist()
    ]
    firsts = []
    for lane, begin, count in zip(lanes.tolist(), first.tolist(), counts.tolist(), strict=True):
        mine = ticks[begin : begin + min(count, _FIRST_TICKS)]
        wall_ns = 0 if began_wall_ns is None else began_wall_ns + int(rows.start_ns[mine[0]])
        firsts.append(FirstTicks(wall_ns, writers[lane], tuple(rows.duration_ns[mine].tolist())))
    return Loop(
        path=paths[place],
        ticks=node.count,
        incomplete=node.open.count if node.open else 0,
        stats=node.steady,
        jitter=_jitter(rows.duration_ns[ticks], rows.lane[ticks]),
        busy_ns=node.stats.sum_ns,
        first_ticks=min(firsts, default=None),
        worst=worst_of(worst),
    )


def ticks_around(place: Column, above: Column, depth: Column, loops: Sequence[int]) -> Column:
    """Return for each call the tick of the innermost loop around it; -1 where there is none."""
    around = np.full(len(place), NOWHERE, np.int64)
    is_tick = np.isin(place, np.array(loops, np.int64))
    for level in range(1, int(depth.max(initial=0)) + 1):
        here = np.flatnonzero((depth == level) & (above >= 0))
        over = above[here]
        around[here] = np.where(is_tick[over], over, around[over])
    return around


def _breakdown(rows: Rows, calls: Column, paths: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for place, duration in zip(rows.place[calls].tolist(), rows.duration_ns[calls].tolist(), strict=True):
        found[paths[place]] = found.get(paths[place], 0) + duration
    return found


def _jitter(durations_ns: Column, lane: Column) -> Jitter | None:
    steps = np.abs(np.diff(durations_ns))[np.diff(lane) == 0]
    if not len(steps):
        return None
    buckets, counts = np.unique(buckets_of(steps), return_counts=True)
    histogram = Histogram(dict(zip(buckets.tolist(), counts.tolist(), strict=True)))
    return Jitter(len(steps), int(steps.sum()), histogram)
