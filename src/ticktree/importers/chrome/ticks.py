"""Ticks: which nodes of a trace are loops, and what their ticks took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ticktree.importers.chrome.events import Column
from ticktree.importers.chrome.growing import Rows, buckets_of
from ticktree.importers.chrome.places import NOWHERE, NumberedTree
from ticktree.profile import FirstTicks, Histogram, Jitter, Loop, Node, WorstTick
from ticktree.profile.ticks import WORST_TICKS_KEPT, worst_of

# What torch.profiler calls the time between two calls of its step().
PROFILER_STEP = "ProfilerStep"
_ROUNDS = 3  # what comes less often is no loop
_FIRST_TICKS = 64


def loop_places(places: NumberedTree, rows: Rows, said: Sequence[int]) -> list[int]:
    """Return the places whose calls are ticks.

    Those that the file says are; else torch.profiler's steps; else, of each lane, the one name at its top that comes
    again and again, where there is no other.

    Args:
        places: The tree.
        rows: Its calls.
        said: Places that the file itself calls loops.
    """
    if said:
        return list(said)
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
    """Where each key is in a column, found without going through all of it.

    Args:
        keys: the column.
    """

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
    """Return the loop whose ticks are the calls of a place.

    Args:
        place: The loop's.
        node: What has grown there.
        rows: Every call.
        called: Those calls by their places.
        inside: Those calls by the tick of the innermost loop around each.
        paths: The path of every place.
        writers: The id of every lane's writer.
        began_wall_ns: When the run began, since the epoch; None where that is not known.
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
