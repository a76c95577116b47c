"""Callers: which call of a timeline made which, where that is known."""

from __future__ import annotations

import numpy as np

from ticktree.profile import path as paths
from ticktree.profile.timeline import Column, Timeline

NOBODY = -1


def callers_of(timeline: Timeline) -> Column:
    """Return for each call the one that it was made in, as an index; `NOBODY` where that is not among them.

    The tree says which section a call hangs under; the caller is that section's call, in the same lane, that lasted
    while the call did, or, of a duration measured elsewhere, while it was handed over. It may not have ended yet, and
    where the section is another thread's or task's, nobody recorded which of its calls it was: none is made up.
    """
    count = len(timeline)
    if not count:
        return np.empty(0, np.int64)
    place, above = _places(timeline)
    width = len(timeline.spots)
    # What a lane calls at one place of the tree, in the order it began: one code for each, and then its calls' own.
    groups, group = np.unique(timeline.lane * width + place[timeline.spot], return_inverse=True)
    codes = np.sort(group * count + np.arange(count))
    wanted = timeline.lane * width + above[timeline.spot]
    at = np.minimum(np.searchsorted(groups, wanted), len(groups) - 1)
    known = (above[timeline.spot] >= 0) & (groups[at] == wanted)
    # The last of them that had begun by then: calls at one place follow each other.
    found = codes[np.searchsorted(codes, at * count + _bounds(timeline), "left") - 1]
    caller = found % count
    known &= (found // count == at) & (timeline.end_ns[caller] >= timeline.end_ns)
    return np.where(known, caller, NOBODY)


def _places(timeline: Timeline) -> tuple[Column, Column]:
    """For each spot which place of the tree it is, and which is above that: spots may share one, and -1 is none."""
    place: dict[str, int] = {}
    for spot in timeline.spots:
        place.setdefault(spot.path, len(place))
    above = [place.get(paths.parent(spot.path), -1) if spot.path else -1 for spot in timeline.spots]
    return (
        np.array([place[spot.path] for spot in timeline.spots], np.int64),
        np.array(above, np.int64),
    )


def _bounds(timeline: Timeline) -> Column:
    """For each call how many calls could have made it: those before it, or of what was handed over before that."""
    recorded = np.array([spot.recorded for spot in timeline.spots], bool)[timeline.spot]
    handed_over = np.searchsorted(timeline.start_ns, timeline.end_ns, "right")
    return np.where(recorded, handed_over, np.arange(len(timeline)))
