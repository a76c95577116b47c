"""The calls of a timeline as columns of bytes, which compress well and are read without a parser.

Calls stand track by track, in each in the order they began. Of every call there are the time since the call before it
in its track began (of the first, since the run did), how long it took, and which spot it is of. A column is written
byte by byte: first the lowest bytes of all its numbers, then the next, as many as its largest number needs. The high
bytes, which are nearly all 0, then cost nothing, and the front end adds them up in plain loops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ticktree.outputs.html.crowds import Drawn, crowd_name, drawn
from ticktree.outputs.writing.visible import visible
from ticktree.profile.timeline import Column, Timeline

# Of a spot that is no call, but how many there are.
CROWD = 2


def told(timeline: Timeline) -> tuple[dict[str, Any], bytes]:
    """Return what there is to know of a timeline, and its calls.

    Args:
        timeline: with at least one call.
    """
    tracks = [track for track in drawn(timeline) if len(track.spot)]
    start = np.concatenate([track.start_ns for track in tracks])
    gaps = np.diff(start, prepend=0)
    firsts = np.cumsum([0, *(len(track.spot) for track in tracks)])[:-1]
    gaps[firsts] = start[firsts]
    spot = np.concatenate([track.spot for track in tracks])
    columns = [gaps, np.concatenate([track.duration_ns for track in tracks]), spot]
    packed = [_planes(column) for column in columns]
    spots = [[each.path, visible(each.label) or '""', int(each.recorded)] for each in timeline.spots]
    spots += [["", crowd_name(level), CROWD] for level in range(int(spot.max()) + 1 - len(spots))]
    facts = {
        "calls": len(timeline),
        "drawn": len(spot),
        "overwritten": timeline.overwritten,
        "from_ns": int(timeline.start_ns.min()),
        "to_ns": int(timeline.end_ns.max()),
        "tracks": [_track(track) for track in tracks],
        "spots": spots,
        "planes": [len(planes) // len(spot) for planes in packed],
    }
    return facts, b"".join(packed)


def _track(one: Drawn) -> dict[str, Any]:
    lane = one.track.lane
    return {
        "process": lane.process,
        "process_title": visible(f"{lane.process_title} {lane.pid}"),
        "title": visible(one.title),
        "calls": len(one.spot),
    }


def _planes(column: Column) -> bytes:
    """Return the lowest bytes of all numbers, then the next ones, as many as there are that are not all 0."""
    largest = int(column.max())
    planes = max(1, (largest.bit_length() + 7) // 8)
    by_byte = column.astype("<i8").view(np.uint8).reshape(-1, 8)
    lowest: bytes = by_byte[:, :planes].T.tobytes()
    return lowest
