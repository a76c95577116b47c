"""Growing: nodes out of calls, such that their accounts add up."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ticktree.importers.chrome.events import Column, Flags
from ticktree.importers.chrome.places import NumberedTree
from ticktree.profile import Histogram, Node, Open, Share, Stats, Windows
from ticktree.profile.histogram import BUCKETS_PER_OCTAVE, THRESHOLDS
from ticktree.profile.windows import BASE_WIDTH_NS

_WINDOWS = 64  # as many as the recorder keeps
_THRESHOLDS = np.array(THRESHOLDS, np.uint64)


@dataclass(eq=False)
class Rows:
    """What calls add to nodes. Columns are equally long.

    Attributes:
        place: whose call it is.
        lane: who made it.
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
    """Return the tree.

    Args:
        places: Its nodes.
        rows: Every call; none is nowhere.
        run_id: What the profile calls the run.
        writers: For each lane the id of its writer.
        waits: Places that wait.
    """
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
    width = BASE_WIDTH_NS
    while int(ends.max(initial=0)) // width >= _WINDOWS:
        width *= 2
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
    """Return each writer's part of every place: like a place's total its own counts what ran beside it once."""
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
