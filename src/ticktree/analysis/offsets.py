"""Offsets between the clocks of two machines, computed from collectives of their ranks, never by reading both clocks.

No rank leaves a collective of all ranks before every rank has entered it. So, on one clock, each rank of A left after
each rank of B entered, and entered before each rank of B left. Each collective bounds the offset from both sides; the
narrowest bounds count. (Cristian, Probabilistic clock synchronization, Distributed Computing 3, 1989, derives such
bounds from the times at which a message was sent and its answer received.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ticktree.analysis.workers.stragglers import BLOCKING
from ticktree.profile.timeline import Timeline

# With fewer collectives, the bounds may fit by chance although the ranks took part in different ones.
MIN_COLLECTIVES = 3

_Times = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Offset:
    """The offset to add to the times of one run to get the times of another.

    Attributes:
        ns: the middle of the possible range.
        bound_ns: half the length of that range.
        collectives: number of collectives used.
    """

    ns: int
    bound_ns: int
    collectives: int


def offset(of: Timeline, to: Timeline) -> Offset | None:
    """Return the offset to add to times of `of` to get times of `to`.

    None if it is unknown: there were too few collectives, not all of them are kept, or no offset fits all of them, as
    when clocks drift apart.
    """
    entries_of, entries_to = _collectives(of), _collectives(to)
    if not entries_of or not entries_to or of.overwritten or to.overwritten:
        return None
    counts = {len(entries) for entries, _ in (*entries_of, *entries_to)}
    if len(counts) != 1 or min(counts) < MIN_COLLECTIVES:
        return None
    low = max(int((entries - exits).max()) for entries, _ in entries_to for _, exits in entries_of)
    high = min(int((exits - entries).min()) for _, exits in entries_to for entries, _ in entries_of)
    if low > high:
        return None
    middle = (low + high) // 2
    return Offset(middle, high - middle, counts.pop())


def _collectives(timeline: Timeline) -> list[tuple[_Times, _Times]]:
    """Return when each rank entered and left each collective; only ranks with collectives are included."""
    is_collective = np.array([node.wait and node.name in BLOCKING for node in timeline.nodes], bool)
    calls = np.flatnonzero(is_collective[timeline.node]) if len(is_collective) else np.empty(0, np.int64)
    processes = np.array([lane.process for lane in timeline.lanes])[timeline.lane[calls]]
    calls_by_process = [calls[processes == process] for process in np.unique(processes)]
    return [
        (timeline.start_ns[process_calls], timeline.end_ns[process_calls])
        for process_calls in calls_by_process
    ]
