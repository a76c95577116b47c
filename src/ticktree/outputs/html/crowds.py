"""What the page draws of calls that overlap: some tracks of them call by call, and of all others how many there are.

A program that hands over what it measured elsewhere, such as the latency of each of a thousand requests under way, has
as many tracks as there were of them at once. Nobody looks at the fortieth. So behind the first tracks of a lane comes
one that says how many more calls there were at each moment: 1, 2 or 3, 4 to 7, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from ticktree.outputs.shapes.tracks import Track, tracks_of
from ticktree.profile.timeline import Column, Lane, Timeline

# Calls that overlap in so many tracks can still be told from one another.
TRACKS = 4


@dataclass(frozen=True, eq=False)
class Drawn:
    """A track of the page: stretches that nest.

    Attributes:
        track: which it is, or the first of those that it stands for.
        title: what to call it.
        start_ns: when each stretch begins.
        duration_ns: how long it is.
        spot: which call it is of, as an index of the timeline's spots; from their number on, of `crowd_name`.
    """

    track: Track
    title: str
    start_ns: Column
    duration_ns: Column
    spot: Column


def drawn(timeline: Timeline) -> Iterator[Drawn]:
    """Yield the tracks of the page: of each lane what nests, what was measured elsewhere, and what overlaps that."""
    for _, group in groupby(tracks_of(timeline), _of_one_kind):
        tracks = list(group)
        for track in tracks if len(tracks) <= TRACKS + 1 else tracks[:TRACKS]:
            at = track.calls
            yield Drawn(track, track.name, timeline.start_ns[at], timeline.duration_ns[at], timeline.spot[at])
        if len(tracks) > TRACKS + 1:
            yield _crowd(timeline, tracks[TRACKS:])


def _of_one_kind(track: Track) -> tuple[Lane, str]:
    return track.lane, track.note.partition("overlapping")[0].removesuffix(", ")


def crowd_name(level: int) -> str:
    """Return what a stretch is called in which so many calls overlap that their logarithm is `level`."""
    least, most = 1 << level, (2 << level) - 1
    return f"{least:,} more" if least == most else f"{least:,} to {most:,} more"


def _crowd(timeline: Timeline, tracks: list[Track]) -> Drawn:
    calls = np.concatenate([track.calls for track in tracks])
    moments, place = np.unique(
        np.concatenate((timeline.start_ns[calls], timeline.end_ns[calls])), return_inverse=True
    )
    change = np.zeros(len(moments), np.int64)
    np.add.at(change, place, np.repeat((1, -1), len(calls)))
    level = np.frexp(np.cumsum(change))[1] - 1  # of none it is -1
    begins = np.flatnonzero(np.diff(level, prepend=-1))
    starts, levels = moments[begins], level[begins]
    durations = np.diff(starts, append=moments[-1])
    is_any = levels >= 0
    title = f"{tracks[0].lane.name}, {len(calls):,} more that overlap"
    spots = levels[is_any].astype(np.int64) + len(timeline.spots)
    return Drawn(tracks[0], title, starts[is_any], durations[is_any], spots)
