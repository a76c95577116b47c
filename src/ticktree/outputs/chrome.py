"""The timeline as Chrome's trace event JSON, for chrome://tracing, ui.perfetto.dev and whatever reads such files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ticktree.analysis.categories import WAITING, Categories
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.shapes.tracks import Track, tracks_of
from ticktree.outputs.view.losses import lost
from ticktree.profile import Gauge, Profile
from ticktree.profile import path as paths
from ticktree.profile.timeline import Column, Timeline

# A thread's number is the kernel's; what is no thread gets one above any of these, within the 32 bits that readers
# keep of it.
_FIRST_NUMBER = 1 << 24


def render(profile: Profile, options: ViewOptions, timeline: Timeline) -> bytes:
    """Return the timeline as JSON and a newline: an event a line, times in microseconds to the nanosecond."""
    tracks = list(tracks_of(timeline))
    numbers = _thread_numbers(tracks)
    heads = _heads(timeline, options)
    lines = [json.dumps(one) for one in _metadata(tracks, numbers)]
    lines += [json.dumps(one) for one in _counters(profile.gauges.values(), timeline, tracks)]
    for track, number in zip(tracks, numbers, strict=True):
        lines += _calls(timeline, track, number, heads)
    about: dict[str, Any] = {
        "exported_by": "ticktree",
        "clocks": sorted(timeline.clocks),
        "not_recorded": lost(profile, timeline),
    }
    for what, paths_of in (("loops", "tick"), ("waits", "wait")):
        about[what] = sorted({spot.path for spot in timeline.spots if getattr(spot, paths_of)})
    if timeline.began_wall_ns is not None:
        about["began_wall_ns"] = timeline.began_wall_ns
    head = f'{{"displayTimeUnit":"ns","otherData":{json.dumps(about)},"traceEvents":[\n'
    return (head + ",\n".join(lines) + "\n]}\n").encode()


def _thread_numbers(tracks: list[Track]) -> list[int]:
    """For each track a number that no other of its process has: of a thread its own."""
    taken: set[tuple[int, int]] = set()
    found = []
    for at, track in enumerate(tracks):
        lane = track.lane
        number = lane.thread_id if not (lane.number or track.note) else 0
        if not number or (lane.pid, number) in taken:
            number = _FIRST_NUMBER + at
        taken.add((lane.pid, number))
        found.append(number)
    return found


def _metadata(tracks: list[Track], numbers: list[int]) -> Iterator[dict[str, Any]]:
    named: set[int] = set()
    for at, (track, number) in enumerate(zip(tracks, numbers, strict=True)):
        lane = track.lane
        where = {"ph": "M", "pid": lane.pid, "tid": number}
        if lane.pid not in named:
            named.add(lane.pid)
            yield {"name": "process_name", **where, "args": {"name": lane.process_title}}
        yield {"name": "thread_name", **where, "args": {"name": track.name}}
        yield {"name": "thread_sort_index", **where, "args": {"sort_index": at}}


def _counters(gauges: Iterable[Gauge], timeline: Timeline, tracks: list[Track]) -> Iterator[dict[str, Any]]:
    """Yield, for each gauge, the one reading whose moment is known: its last."""
    began = timeline.began_wall_ns
    for gauge in gauges:
        if began is not None and gauge.last_wall_ns >= began and tracks:
            since = gauge.last_wall_ns - began
            pid = tracks[0].lane.pid
            yield {
                "name": gauge.name,
                "ph": "C",
                "pid": pid,
                "ts": since / 1000,
                "args": {"value": gauge.last},
            }


def _heads(timeline: Timeline, options: ViewOptions) -> list[str]:
    """For each spot what its calls' lines begin with."""
    categories = Categories(options.settings.categories)
    found = []
    for spot in timeline.spots:
        name = spot.label
        category = (WAITING if spot.wait else categories.of(spot.name)) or (
            "ticks" if spot.tick else "section"
        )
        found.append(f'{{"name":{json.dumps(name)},"cat":{json.dumps(category)},"ph":"X"')
    return found


def _calls(timeline: Timeline, track: Track, number: int, heads: list[str]) -> Iterator[str]:
    where = f',"pid":{track.lane.pid},"tid":{number}}}'
    starts = timeline.start_ns[track.calls].tolist()
    durations = timeline.duration_ns[track.calls].tolist()
    spots = timeline.spot[track.calls]
    elsewhere = _elsewhere(timeline, spots, track.order)
    for start, duration, spot, is_elsewhere in zip(starts, durations, spots.tolist(), elsewhere, strict=True):
        path = f',"args":{{"path":{json.dumps(timeline.spots[spot].path)}}}' if is_elsewhere else ""
        yield (
            f'{heads[spot]},"ts":{start // 1000}.{start % 1000:03d}'
            f',"dur":{duration // 1000}.{duration % 1000:03d}{path}{where}'
        )


def _elsewhere(timeline: Timeline, spots: Column, order: Column) -> list[bool]:
    """For each call of a track whether its place in the tree is another than its name under the call around it."""
    every = [spot.path for spot in timeline.spots]
    marked = [spot.name != paths.name_of(spot.path) for spot in timeline.spots]
    above = [paths.parent(path) for path in every]
    around = spots_around(spots, order).tolist()
    return [
        marked[spot] or above[spot] != (every[over] if over >= 0 else paths.ROOT)
        for spot, over in zip(spots.tolist(), around, strict=True)
    ]


def spots_around(spots: Column, order: Column) -> Column:
    """For each call of a track what the call around it called; -1 where there is none.

    Args:
        spots: What each called.
        order: As in `Track`.
    """
    is_begin = order < len(spots)
    depth = np.cumsum(np.where(is_begin, 1, -1))[is_begin]  # of each call, in the order they begin
    calls = order[is_begin]
    around = np.full(len(spots), -1, np.int64)
    for level in range(2, int(depth.max(initial=0)) + 1):
        over, here = np.flatnonzero(depth == level - 1), np.flatnonzero(depth == level)
        around[calls[here]] = spots[calls[over[np.searchsorted(over, here) - 1]]]
    return around
