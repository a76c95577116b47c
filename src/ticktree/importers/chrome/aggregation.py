"""Aggregation: nodes and loops from calls, such that their times sum exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ticktree.importers.chrome.events import Column, Flags
from ticktree.importers.chrome.nesting import NO_NODE, NumberedTree
from ticktree.profile import (
    FirstTicks,
    Histogram,
    Jitter,
    Loop,
    Node,
    OpenCalls,
    Share,
    Stats,
    Windows,
    WorstTick,
)
from ticktree.profile.histogram import BUCKETS_PER_OCTAVE, THRESHOLDS
from ticktree.profile.loop import MAX_WORST_TICKS, longest_ticks
from ticktree.profile.stats import window_width

_THRESHOLDS = np.array(THRESHOLDS, np.uint64)


@dataclass(eq=False)
class Rows:
    """Calls with the times that they add to their nodes, as columns of equal length.

    Attributes:
        node_id: its node.
        lane: its lane.
        start_ns: when it began, since the run began.
        duration_ns: how long it took.
        self_ns: the part of that in which no child ran.
        concurrent_ns: the part of it that does not count against its parent.
        is_open: whether it had not ended: then it does not count as a call.
    """

    node_id: Column
    lane: Column
    start_ns: Column
    duration_ns: Column
    self_ns: Column
    concurrent_ns: Column
    is_open: Flags

    def __getitem__(self, selection: Any) -> Rows:
        return Rows(*(column[selection] for column in vars(self).values()))

    def __add__(self, other: Rows) -> Rows:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Rows(*(np.concatenate(pair) for pair in pairs))


def build_tree(
    tree: NumberedTree, rows: Rows, run_id: str, threads: Sequence[str], waits: Collection[int] = ()
) -> Node:
    """Return the tree with the times of all rows; `threads` has an id per lane, `waits` the nodes that wait."""
    count = len(tree)
    ended = rows[~rows.is_open]
    self_ns = _sums(rows.node_id, rows.self_ns, count)
    concurrent_ns = _sums(rows.node_id, rows.concurrent_ns, count)
    stats = _stats(ended, count)
    windows = _windows(ended, count)
    open_calls = _open_calls(rows[rows.is_open])
    shares = _shares(tree, rows, threads)
    children: list[list[Node]] = [[] for _ in range(count)]
    for node_id in reversed(range(count)):
        calls = stats[node_id]
        node = Node(
            name=tree.names[node_id],
            clock=tree.clocks[node_id],
            self_ns=self_ns[node_id],
            concurrent_ns=concurrent_ns[node_id],
            steady=calls,
            windows=windows[node_id],
            wait=node_id in waits,
            open=open_calls.get(node_id),
            per_run={run_id: (calls.count, calls.sum_ns)} if calls.count else {},
            by_thread=shares[node_id],
            children={child.key: child for child in reversed(children[node_id])},
        )
        if node_id:
            children[tree.parent[node_id]].append(node)
    return node


def buckets_of(durations_ns: Column) -> Column:
    """Return the bucket of each duration, like `profile.histogram.bucket_of`."""
    bits = np.frexp(durations_ns.astype(np.float64))[1].astype(np.int64)
    bits -= durations_ns >> np.maximum(bits - 1, 0) == 0  # rounded up to a power of two, or 0
    mantissa = durations_ns.astype(np.uint64) << (64 - np.maximum(bits, 1)).astype(np.uint64)
    buckets = (bits - 1) * BUCKETS_PER_OCTAVE + np.searchsorted(_THRESHOLDS, mantissa, "right") - 1
    return np.where(durations_ns > 0, buckets, 0).astype(np.int64)


def _sums(keys: Column, amounts: Column, count: int) -> list[int]:
    total = np.zeros(count, np.int64)
    np.add.at(total, keys, amounts)
    sums: list[int] = total.tolist()
    return sums


def _stats(ended: Rows, count: int) -> list[Stats]:
    durations = ended.duration_ns
    counts = np.bincount(ended.node_id, minlength=count).tolist()
    sums = _sums(ended.node_id, durations, count)
    min_ns = np.full(count, np.iinfo(np.int64).max)
    max_ns = np.zeros(count, np.int64)
    np.minimum.at(min_ns, ended.node_id, durations)
    np.maximum.at(max_ns, ended.node_id, durations)
    histograms: list[dict[int, int]] = [{} for _ in range(count)]
    for node_id, bucket, number in _count_pairs(ended.node_id, buckets_of(durations)):
        histograms[node_id][bucket] = number
    return [
        Stats(
            calls, sums[node_id], int(min_ns[node_id]), int(max_ns[node_id]), Histogram(histograms[node_id])
        )
        if calls
        else Stats()
        for node_id, calls in enumerate(counts)
    ]


def _windows(ended: Rows, count: int) -> list[Windows]:
    ends = ended.start_ns + ended.duration_ns
    width = window_width(int(ends.max(initial=0)))
    numbers: list[dict[int, int]] = [{} for _ in range(count)]
    totals: list[dict[int, int]] = [{} for _ in range(count)]
    for node_id, window, number in _count_pairs(ended.node_id, ends // width):
        numbers[node_id][window] = number
    for node_id, window, total in _sum_pairs(ended.node_id, ends // width, ended.duration_ns):
        totals[node_id][window] = total
    return [Windows(width, *both) for both in zip(numbers, totals, strict=True)]


def _open_calls(rows: Rows) -> dict[int, OpenCalls]:
    open_calls: dict[int, OpenCalls] = {}
    for node_id, age in zip(rows.node_id.tolist(), rows.duration_ns.tolist(), strict=True):
        open_calls[node_id] = (
            open_calls[node_id] + OpenCalls(1, age) if node_id in open_calls else OpenCalls(1, age)
        )
    return open_calls


def _shares(tree: NumberedTree, rows: Rows, threads: Sequence[str]) -> list[dict[str, Share]]:
    """Return each thread's part of every node; like a node's total, the thread's counts concurrent time once."""
    parts: list[dict[int, list[int]]] = [{} for _ in range(len(tree))]  # calls, total, own, concurrent
    for column, amounts in enumerate(((~rows.is_open).astype(np.int64), rows.self_ns, rows.concurrent_ns)):
        for node_id, lane, amount in _sum_pairs(rows.node_id, rows.lane, amounts):
            parts[node_id].setdefault(lane, [0, 0, 0, 0])[(0, 2, 3)[column]] += amount
    for node_id in reversed(range(len(tree))):
        for lane, part in parts[node_id].items():
            part[1] += part[2]
            if node_id:
                parent = parts[tree.parent[node_id]].setdefault(lane, [0, 0, 0, 0])
                parent[1] += part[1] - part[3]
    return [
        {
            threads[lane]: Share(calls, total, self_ns)
            for lane, (calls, total, self_ns, _) in table.items()
            if calls or total or self_ns
        }
        for table in parts
    ]


def _count_pairs(keys: Column, values: Column) -> list[tuple[int, int, int]]:
    return _sum_pairs(keys, values, np.ones(len(keys), np.int64))


def _sum_pairs(keys: Column, values: Column, amounts: Column) -> list[tuple[int, int, int]]:
    """Return for each pair of a key and another the sum of its amounts."""
    if not len(keys):
        return []
    span = int(values.max()) + 1
    pairs, inverse = np.unique(keys * span + values, return_inverse=True)
    total = np.zeros(len(pairs), np.int64)
    np.add.at(total, inverse, amounts)
    return list(zip((pairs // span).tolist(), (pairs % span).tolist(), total.tolist(), strict=True))


# torch.profiler's name of the time between two calls of its step().
PROFILER_STEP = "ProfilerStep"
_MIN_TICKS = 3  # fewer calls are not a loop
_FIRST_TICKS = 64


def loop_nodes(tree: NumberedTree, rows: Rows, marked: Sequence[int]) -> list[int]:
    """Return the nodes whose calls are ticks.

    These are the nodes marked in the file; else torch.profiler's steps; else, for each lane, the only name that
    repeats at its top.
    """
    if marked:
        return list(marked)
    steps = [node_id for node_id, name in enumerate(tree.names) if name == PROFILER_STEP]
    if steps:
        return steps
    is_top = np.array(tree.parent)[rows.node_id] == 0
    span = len(tree)
    pairs, counts = np.unique(rows.lane[is_top] * span + rows.node_id[is_top], return_counts=True)
    repeated_pairs = pairs[counts >= _MIN_TICKS].tolist()
    names = Counter(pair // span for pair in repeated_pairs)
    return sorted({pair % span for pair in repeated_pairs if names[pair // span] == 1})


class Groups:
    """The rows of each key in a column, sorted once so that a look-up is fast."""

    def __init__(self, keys: Column) -> None:
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]

    def of(self, key: int) -> Column:
        """Return the rows of a key, in order."""
        first, last = np.searchsorted(self._keys, (key, key + 1))
        rows: Column = self._order[first:last]
        return rows


def loop_of(
    path: str,
    node: Node,
    rows: Rows,
    ticks: Column,
    rows_by_tick: Groups,
    paths: Sequence[str],
    threads: Sequence[str],
    began_wall_ns: int | None,
) -> Loop:
    """Return the loop whose ticks are the rows `ticks`, the calls of `node`.

    `rows_by_tick` has the rows by the tick of the innermost loop around each.
    """
    ticks = ticks[~rows.is_open[ticks]]
    ticks = ticks[np.lexsort((rows.start_ns[ticks], rows.lane[ticks]))]
    lanes, first, counts = np.unique(rows.lane[ticks], return_index=True, return_counts=True)
    tick_numbers = np.arange(len(ticks)) - np.repeat(first, counts)
    longest = np.argsort(-rows.duration_ns[ticks], kind="stable")[:MAX_WORST_TICKS]
    worst = [
        WorstTick(
            duration_ns=int(rows.duration_ns[ticks[row]]),
            thread=threads[rows.lane[ticks[row]]],
            tick=int(tick_numbers[row]),
            started_ns=int(rows.start_ns[ticks[row]]),
            breakdown=_breakdown(rows, rows_by_tick.of(int(ticks[row])), paths),
        )
        for row in longest.tolist()
    ]
    candidates = []
    for lane, begin, count in zip(lanes.tolist(), first.tolist(), counts.tolist(), strict=True):
        first_ticks = ticks[begin : begin + min(count, _FIRST_TICKS)]
        wall_ns = 0 if began_wall_ns is None else began_wall_ns + int(rows.start_ns[first_ticks[0]])
        candidates.append(FirstTicks(wall_ns, threads[lane], tuple(rows.duration_ns[first_ticks].tolist())))
    return Loop(
        path=path,
        ticks=node.count,
        incomplete=node.open.count if node.open else 0,
        stats=node.steady,
        jitter=_jitter(rows.duration_ns[ticks], rows.lane[ticks]),
        busy_ns=node.stats.sum_ns,
        first_ticks=min(candidates, default=None),
        worst=longest_ticks(worst),
    )


def ticks_around(node_id: Column, parent: Column, depth: Column, loops: Sequence[int]) -> Column:
    """Return for each call the tick of the innermost loop around it; -1 if there is none."""
    enclosing = np.full(len(node_id), NO_NODE, np.int64)
    is_tick = np.isin(node_id, np.array(loops, np.int64))
    for level in range(1, int(depth.max(initial=0)) + 1):
        level_rows = np.flatnonzero((depth == level) & (parent >= 0))
        parents = parent[level_rows]
        enclosing[level_rows] = np.where(is_tick[parents], parents, enclosing[parents])
    return enclosing


def _breakdown(rows: Rows, calls: Column, paths: Sequence[str]) -> dict[str, int]:
    breakdown: dict[str, int] = {}
    for node_id, duration in zip(rows.node_id[calls].tolist(), rows.duration_ns[calls].tolist(), strict=True):
        breakdown[paths[node_id]] = breakdown.get(paths[node_id], 0) + duration
    return breakdown


def _jitter(durations_ns: Column, lane: Column) -> Jitter | None:
    differences = np.abs(np.diff(durations_ns))[np.diff(lane) == 0]
    if not len(differences):
        return None
    buckets, counts = np.unique(buckets_of(differences), return_counts=True)
    histogram = Histogram(dict(zip(buckets.tolist(), counts.tolist(), strict=True)))
    return Jitter(len(differences), int(differences.sum()), histogram)
