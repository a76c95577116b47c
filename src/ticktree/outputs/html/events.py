"""The calls of a timeline as columns of bytes, which compress well and are read without a parser.

Calls stand track by track, in each in the order they began. Of every call there are the time since the call before it
in its track began (of the first, since the run did), how long it took, and which spot it is of. A column is written
byte by byte: first the lowest bytes of all its numbers, then the next, as many as its largest number needs. The high
bytes, which are nearly all 0, then cost nothing, and the front end adds them up in plain loops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ticktree.outputs.tracks import Track, tracks_of
from ticktree.outputs.visible import visible
from ticktree.profile.timeline import Column, Timeline


def told(timeline: Timeline) -> tuple[dict[str, Any], bytes]:
    """Return what there is to know of a timeline, and its calls.

    Args:
        timeline: with at least one call.
    """
    tracks = list(tracks_of(timeline))
    calls = np.concatenate([track.calls for track in tracks])
    start = timeline.start_ns[calls]
    gaps = np.diff(start, prepend=0)
    firsts = np.cumsum([0, *(len(track.calls) for track in tracks)])[:-1]
    gaps[firsts] = start[firsts]
    columns = [gaps, timeline.duration_ns[calls], timeline.spot[calls]]
    packed = [_planes(column) for column in columns]
    facts = {
        "calls": len(timeline),
        "overwritten": timeline.overwritten,
        "from_ns": int(timeline.start_ns.min()),
        "to_ns": int(timeline.end_ns.max()),
        "tracks": [_track(track) for track in tracks],
        "spots": [[spot.path, visible(spot.label) or '""', int(spot.recorded)] for spot in timeline.spots],
        "planes": [len(planes) // len(timeline) for planes in packed],
    }
    return facts, b"".join(packed)


def _track(track: Track) -> dict[str, Any]:
    lane = track.lane
    return {
        "process": lane.process,
        "process_title": visible(f"{lane.process_title} {lane.pid}"),
        "title": visible(track.name),
        "calls": len(track.calls),
    }


def _planes(column: Column) -> bytes:
    """Return the lowest bytes of all numbers, then the next ones, as many as there are that are not all 0."""
    largest = int(column.max())
    planes = max(1, (largest.bit_length() + 7) // 8)
    by_byte = column.astype("<i8").view(np.uint8).reshape(-1, 8)
    lowest: bytes = by_byte[:, :planes].T.tobytes()
    return lowest
