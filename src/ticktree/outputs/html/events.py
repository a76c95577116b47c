"""The calls of a timeline as columns of bytes, which compress well and are read without a parser.

Calls are ordered by track, and within a track by start. Each call has the time since the start of the call before it
in its track (for the first, since the start of the run), its duration, and its spot. A column is written byte by byte:
first the lowest bytes of all its numbers, then the next, as many as its largest number needs. So the high bytes, which
are nearly all 0, cost nothing, and the front end combines them in simple loops.

A program that records durations measured elsewhere, such as the latencies of a thousand concurrent requests, has as
many tracks as there were requests at once, and a reader does not look at the fortieth. So the first tracks of a lane
are followed by one that shows how many more calls there were at each moment: 1, 2 or 3, 4 to 7, and so on.

A fourth column has the lateness of each tick, 0 for one that was not missed: loop by loop, and in a loop track by
track.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from ticktree.analysis.timeline_ticks import ticks_of
from ticktree.outputs.tracks import Track, tracks_of
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Profile
from ticktree.profile.timeline import Column, Lane, Timeline, one_spot_per_node

# Calls that overlap in this many tracks are still distinguishable.
TRACKS = 4


@dataclass(frozen=True, eq=False)
class _Drawn:
    """A track of the page: periods that nest."""

    track: Track  # for a crowd, the first of those that it replaces, without calls
    title: str
    start_ns: Column
    duration_ns: Column
    spot: Column  # an index into the timeline's spots; from their number on, into those of `_crowd_name`


def drawn(timeline: Timeline) -> Iterator[_Drawn]:
    """Yield the tracks of the page: for each lane, nested calls, durations measured elsewhere, and their overlaps."""

    def kind(track: Track) -> tuple[Lane, str]:
        return track.lane, track.note.partition("overlapping")[0].removesuffix(", ")

    for _, group in groupby(tracks_of(timeline), kind):
        tracks = list(group)
        for track in tracks if len(tracks) <= TRACKS + 1 else tracks[:TRACKS]:
            at = track.calls
            yield _Drawn(
                track, track.name, timeline.start_ns[at], timeline.duration_ns[at], timeline.spot[at]
            )
        if len(tracks) > TRACKS + 1:
            yield _crowd(timeline, tracks[TRACKS:])


def _crowd_name(level: int) -> str:
    """Return the name of a period in which 2**`level` or more calls overlap."""
    least, most = 1 << level, (2 << level) - 1
    return f"{least:,} more" if least == most else f"{least:,} to {most:,} more"


def _crowd(timeline: Timeline, tracks: list[Track]) -> _Drawn:
    calls = np.concatenate([track.calls for track in tracks])
    moments, place = np.unique(
        np.concatenate((timeline.start_ns[calls], timeline.end_ns[calls])), return_inverse=True
    )
    change = np.zeros(len(moments), np.int64)
    np.add.at(change, place, np.repeat((1, -1), len(calls)))
    level = np.frexp(np.cumsum(change))[1] - 1  # -1 without calls
    begins = np.flatnonzero(np.diff(level, prepend=-1))
    starts, levels = moments[begins], level[begins]
    durations = np.diff(starts, append=moments[-1])
    is_any = levels >= 0
    title = f"{tracks[0].lane.name}, {len(calls):,} more that overlap"
    spots = levels[is_any].astype(np.int64) + len(timeline.spots)
    none = np.empty(0, np.int64)
    track = replace(tracks[0], calls=none, order=none)
    return _Drawn(track, title, starts[is_any], durations[is_any], spots)


# The category of a spot that is not a call, but a number of calls.
CROWD = 2


def packed_timeline(timeline: Timeline, profile: Profile) -> tuple[dict[str, Any], bytes]:
    """Return the description of a timeline, and its calls.

    Args:
        timeline: with at least one call.
        profile: of the same run, with the budgets of its loops.
    """
    timeline = one_spot_per_node(timeline)
    tracks = [track for track in drawn(timeline) if len(track.spot)]
    start = np.concatenate([track.start_ns for track in tracks])
    gaps = np.diff(start, prepend=0)
    firsts = np.cumsum([0, *(len(track.spot) for track in tracks)])[:-1]
    gaps[firsts] = start[firsts]
    spot = np.concatenate([track.spot for track in tracks])
    columns = [gaps, np.concatenate([track.duration_ns for track in tracks]), spot]
    packed = [_planes(column) for column in columns]
    ticks = list(ticks_of(profile, timeline, [(each.track.lane, each.track.calls) for each in tracks]))
    late = np.concatenate([np.empty(0, np.int64), *(each.late_ns for each in ticks)])
    packed_late = _planes(late) if late.any() else b""
    spots = [[each.path, visible(each.label) or '""', int(each.recorded)] for each in timeline.spots]
    spots += [["", _crowd_name(level), CROWD] for level in range(int(spot.max()) + 1 - len(spots))]
    facts = {
        "calls": len(timeline),
        "drawn": len(spot),
        "overwritten": timeline.overwritten,
        "from_ns": int(timeline.start_ns.min()),
        "to_ns": int(timeline.end_ns.max()),
        "tracks": [_track(track) for track in tracks],
        "spots": spots,
        "planes": [len(planes) // len(spot) for planes in packed],
        "ticks": [[each.track, each.spot, each.first, len(each.late_ns)] for each in ticks],
        "late_planes": len(packed_late) // max(1, len(late)),
    }
    return facts, b"".join((*packed, packed_late))


def _track(one: _Drawn) -> dict[str, Any]:
    lane = one.track.lane
    process = {"process": lane.process, "process_title": visible(f"{lane.process_title} {lane.pid}")}
    return {**process, "title": visible(one.title), "calls": len(one.spot)}


def _planes(column: Column) -> bytes:
    """Return the lowest bytes of all numbers, then the next ones, up to the last ones that are not all 0."""
    largest = int(column.max())
    planes = max(1, (largest.bit_length() + 7) // 8)
    by_byte = column.astype("<i8").view(np.uint8).reshape(-1, 8)
    lowest: bytes = by_byte[:, :planes].T.tobytes()
    return lowest
