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

# Bounds of fewer meetings may be right by chance where the ranks did not meet at all.
LEAST_MEETINGS = 3

_Moments = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Offset:
    """The offset to add to the times of one run to get the times of another.

    Attributes:
        ns: the middle of the possible range.
        bound_ns: half the length of that range.
        meetings: number of collectives used.
    """

    ns: int
    bound_ns: int
    meetings: int


def offset(of: Timeline, to: Timeline) -> Offset | None:
    """Return the offset to add to times of `of` to get times of `to`.

    None if it is unknown: there were too few collectives, not all of them are kept, or no offset fits all of them, as
    when clocks drift apart.
    """
    ours, theirs = _meetings(of), _meetings(to)
    if not ours or not theirs or of.overwritten or to.overwritten:
        return None
    counts = {len(came) for came, _ in (*ours, *theirs)}
    if len(counts) != 1 or min(counts) < LEAST_MEETINGS:
        return None
    least = max(int((came - left).max()) for came, _ in theirs for _, left in ours)
    most = min(int((left - came).min()) for _, left in theirs for came, _ in ours)
    if least > most:
        return None
    middle = (least + most) // 2
    return Offset(middle, most - middle, counts.pop())


def _meetings(timeline: Timeline) -> list[tuple[_Moments, _Moments]]:
    """When each rank came to each meeting, and when it left: of those that met at all."""
    meets = np.array([spot.wait and spot.name in BLOCKING for spot in timeline.spots], bool)
    calls = np.flatnonzero(meets[timeline.spot]) if len(meets) else np.empty(0, np.int64)
    processes = np.array([lane.process for lane in timeline.lanes])[timeline.lane[calls]]
    found = [calls[processes == process] for process in np.unique(processes)]
    return [(timeline.start_ns[each], timeline.end_ns[each]) for each in found]
