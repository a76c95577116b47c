"""The calls of a timeline as columns of bytes, which compress well and need no parser.

Calls are ordered by track, and within a track by start. Each call has the time since the start of the previous call of
its track (for the first, since the start of the run), its duration, and its node, as an index. A column is
written byte by byte: first the lowest bytes of all its numbers, then the next, as many as its largest number needs. So
the high bytes, nearly all 0, cost nothing, and the front end combines them in simple loops.

A program that records durations measured elsewhere, such as the latencies of a thousand concurrent requests, has as
many tracks as there were requests at once, and a reader does not look at the fortieth. So the first tracks of a lane
are followed by one that shows how many more calls there were at each moment: 1, 2 or 3, 4 to 7, and so on.

A fourth column has the lateness of each tick, 0 if it was not missed: loop by loop, and in a loop track by track.
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
from ticktree.profile.timeline import Column, Lane, Timeline, merge_equal_nodes

# Calls that overlap in this many tracks are still distinguishable.
TRACKS = 4


@dataclass(frozen=True, eq=False)
class _DrawnTrack:
    """A track of the page: periods that nest."""

    track: Track  # for overlaps, the first track that they replace, without calls
    title: str
    start_ns: Column
    duration_ns: Column
    node: Column  # an index into the timeline's nodes, then into those of `_overlap_name`


def drawn_tracks(timeline: Timeline) -> Iterator[_DrawnTrack]:
    """Yield the tracks of the page: for each lane, nested calls, durations measured elsewhere, and their overlaps."""

    def kind(track: Track) -> tuple[Lane, str]:
        return track.lane, track.note.partition("overlapping")[0].removesuffix(", ")

    for _, group in groupby(tracks_of(timeline), kind):
        tracks = list(group)
        for track in tracks if len(tracks) <= TRACKS + 1 else tracks[:TRACKS]:
            calls = track.calls
            yield _DrawnTrack(
                track, track.name, timeline.start_ns[calls], timeline.duration_ns[calls], timeline.node[calls]
            )
        if len(tracks) > TRACKS + 1:
            yield _overlap(timeline, tracks[TRACKS:])


def _overlap_name(level: int) -> str:
    """Return the name of a period in which 2**`level` or more calls overlap."""
    low, high = 1 << level, (2 << level) - 1
    return f"{low:,} more" if low == high else f"{low:,} to {high:,} more"


def _overlap(timeline: Timeline, tracks: list[Track]) -> _DrawnTrack:
    calls = np.concatenate([track.calls for track in tracks])
    moments, indices = np.unique(
        np.concatenate((timeline.start_ns[calls], timeline.end_ns[calls])), return_inverse=True
    )
    change = np.zeros(len(moments), np.int64)
    np.add.at(change, indices, np.repeat((1, -1), len(calls)))
    level = np.frexp(np.cumsum(change))[1] - 1  # -1 without calls
    changes = np.flatnonzero(np.diff(level, prepend=-1))
    starts, levels = moments[changes], level[changes]
    durations = np.diff(starts, append=moments[-1])
    is_any = levels >= 0
    title = f"{tracks[0].lane.name}, {len(calls):,} more that overlap"
    nodes = levels[is_any].astype(np.int64) + len(timeline.nodes)
    empty = np.empty(0, np.int64)
    track = replace(tracks[0], calls=empty, order=empty)
    return _DrawnTrack(track, title, starts[is_any], durations[is_any], nodes)


# The category of a node that is not a call, but a number of calls.
OVERLAP = 2


def pack_timeline(timeline: Timeline, profile: Profile) -> tuple[dict[str, Any], bytes]:
    """Return the description of a timeline, and its calls.

    Args:
        timeline: with at least one call.
        profile: of the same run, with the budgets of its loops.
    """
    timeline = merge_equal_nodes(timeline)
    tracks = [track for track in drawn_tracks(timeline) if len(track.node)]
    start = np.concatenate([track.start_ns for track in tracks])
    gaps = np.diff(start, prepend=0)
    firsts = np.cumsum([0, *(len(track.node) for track in tracks)])[:-1]
    gaps[firsts] = start[firsts]
    node = np.concatenate([track.node for track in tracks])
    columns = [gaps, np.concatenate([track.duration_ns for track in tracks]), node]
    packed = [_planes(column) for column in columns]
    ticks = list(ticks_of(profile, timeline, [(item.track.lane, item.track.calls) for item in tracks]))
    late_ns = np.concatenate([np.empty(0, np.int64), *(item.late_ns for item in ticks)])
    packed_late = _planes(late_ns) if late_ns.any() else b""
    nodes = [[item.path, visible(item.label) or '""', int(item.recorded)] for item in timeline.nodes]
    nodes += [["", _overlap_name(level), OVERLAP] for level in range(int(node.max()) + 1 - len(nodes))]
    facts = {
        "calls": len(timeline),
        "drawn": len(node),
        "overwritten": timeline.overwritten,
        "from_ns": int(timeline.start_ns.min()),
        "to_ns": int(timeline.end_ns.max()),
        "tracks": [_track(track) for track in tracks],
        "nodes": nodes,
        "planes": [len(planes) // len(node) for planes in packed],
        "ticks": [[item.track, item.node, item.first, len(item.late_ns)] for item in ticks],
        "late_planes": len(packed_late) // max(1, len(late_ns)),
    }
    return facts, b"".join((*packed, packed_late))


def _track(drawing: _DrawnTrack) -> dict[str, Any]:
    lane = drawing.track.lane
    process = {"process": lane.process, "process_title": visible(f"{lane.process_title} {lane.pid}")}
    return {**process, "title": visible(drawing.title), "calls": len(drawing.node)}


def _planes(column: Column) -> bytes:
    """Return the lowest bytes of all numbers, then the next ones, up to the last ones that are not all 0."""
    largest = int(column.max())
    planes = max(1, (largest.bit_length() + 7) // 8)
    by_byte = column.astype("<i8").view(np.uint8).reshape(-1, 8)
    lowest: bytes = by_byte[:, :planes].T.tobytes()
    return lowest
