"""The timeline as Chrome's trace event JSON, for chrome://tracing, ui.perfetto.dev and whatever reads such files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ticktree.analysis.categories import WAITING, Categories
from ticktree.outputs.losses import lost
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.tracks import Track, tracks_of
from ticktree.profile import Gauge, Profile
from ticktree.profile.timeline import Timeline

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
        name = spot.name
        category = (WAITING if spot.wait else categories.of(name)) or ("ticks" if spot.tick else "section")
        found.append(f'{{"name":{json.dumps(name)},"cat":{json.dumps(category)},"ph":"X"')
    return found


def _calls(timeline: Timeline, track: Track, number: int, heads: list[str]) -> Iterator[str]:
    where = f',"pid":{track.lane.pid},"tid":{number}}}'
    starts = timeline.start_ns[track.calls].tolist()
    durations = timeline.duration_ns[track.calls].tolist()
    spots = timeline.spot[track.calls].tolist()
    for start, duration, spot in zip(starts, durations, spots, strict=True):
        yield (
            f'{heads[spot]},"ts":{start // 1000}.{start % 1000:03d}'
            f',"dur":{duration // 1000}.{duration % 1000:03d}{where}'
        )
