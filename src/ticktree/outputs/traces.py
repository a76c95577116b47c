"""Traces: the calls of a timeline for viewers, in which calls on one track must follow each other or nest.

Chrome's trace event JSON is for chrome://tracing, ui.perfetto.dev and other readers of such files. A Perfetto trace
has one sequence of packets per track, which keeps each packet small: what a track's packets share is written once,
names are numbered, and a moment is the time since the one before. Packets are compressed by the trace's own means, so
the file needs no unpacking.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ticktree.analysis.categories import WAITING, Categories
from ticktree.analysis.timeline_ticks import ticks_of
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.protobuf import BYTES, VARINT, MessageRows, chunks, double, integer, message, tag, text
from ticktree.outputs.tracks import Track, tracks_of
from ticktree.outputs.view.headline import lost
from ticktree.profile import Profile
from ticktree.profile import path as paths
from ticktree.profile.timeline import Column, Lane, Timeline, one_spot_per_node

_MISSED_TICK = "missed tick"


@dataclass(frozen=True, eq=False)
class _Misses:
    """Which calls of a timeline are missed ticks."""

    late_ns: Column  # of each call; 0 if it was not missed, or is no tick
    number: Column  # of the tick in its writer's loop, from 0; -1 if it is not known

    def of(self, calls: Column | slice) -> _Misses:
        return _Misses(self.late_ns[calls], self.number[calls])


def _misses(profile: Profile, timeline: Timeline, tracks: list[Track]) -> _Misses:
    found = _Misses(np.zeros(len(timeline), np.int64), np.full(len(timeline), -1, np.int64))
    for ticks in ticks_of(profile, timeline, [(track.lane, track.calls) for track in tracks]):
        found.late_ns[ticks.calls] = ticks.late_ns
        if ticks.first is not None:
            found.number[ticks.calls] = ticks.first + np.arange(len(ticks.calls))
    return found


class _Counter(NamedTuple):
    """What a viewer draws as one line, with the process of a lane."""

    name: str
    lane: Lane
    points: list[tuple[int, float]]  # nanoseconds since the run began, and the value from then on


def _readings(profile: Profile, timeline: Timeline, tracks: list[Track]) -> Iterator[_Counter]:
    """Yield the gauges over the run's time: one line each, two where several readings of a window differ.

    Each is shown with the process that reported the last reading; that of one without calls, such as the
    supervisor, which reads the machine, with the first. Viewers show tracks without a process above all others,
    where these are mostly empty.
    """
    lanes = {track.lane.process: track.lane for track in reversed(tracks)}
    for gauge in profile.gauges.values() if tracks else ():
        lane = lanes.get(gauge.writer, tracks[0].lane)
        width_ns, windows = gauge.windows.width_ns, sorted(gauge.windows.readings.items())
        low = [(index * width_ns, readings.min) for index, readings in windows]
        high = [(index * width_ns, readings.max) for index, readings in windows]
        if low != high:
            yield _Counter(f"{gauge.name} min", lane, low)
            yield _Counter(f"{gauge.name} max", lane, high)
        else:
            began = timeline.began_wall_ns
            is_since = began is not None and gauge.last_wall_ns >= began
            points = low or ([(gauge.last_wall_ns - (began or 0), gauge.last)] if is_since else [])
            if points:
                yield _Counter(gauge.name, lane, points)


# A thread's number is the kernel's; other tracks get numbers above all of these, within the 32 bits that readers use.
_FIRST_NUMBER = 1 << 24


def render_chrome(profile: Profile, options: ViewOptions, timeline: Timeline) -> bytes:
    """Return the timeline as JSON and a newline: one event per line, times in microseconds to the nanosecond."""
    timeline = one_spot_per_node(timeline)
    tracks = list(tracks_of(timeline))
    misses = _misses(profile, timeline, tracks)
    numbers = _thread_numbers(tracks)
    heads = _heads(timeline, options)
    lines = [json.dumps(one) for one in _metadata(tracks, numbers)]
    for counter in _readings(profile, timeline, tracks):
        for since_ns, value in counter.points:
            where = {"ph": "C", "pid": counter.lane.pid, "ts": since_ns / 1000}
            lines.append(json.dumps({"name": counter.name, **where, "args": {"value": value}}))
    for track, number in zip(tracks, numbers, strict=True):
        lines += _calls(timeline, track, number, heads, misses.of(track.calls))
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
    """Return for each track a number that is unique in its process; for a thread, the kernel's."""
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


def _heads(timeline: Timeline, options: ViewOptions) -> list[str]:
    """Return the beginning of the lines of each spot's calls."""
    found = zip(timeline.spots, _kinds(timeline, options), strict=True)
    return [
        f'{{"name":{json.dumps(spot.label)},"cat":{json.dumps(kind or "section")},"ph":"X"'
        for spot, kind in found
    ]


def _kinds(timeline: Timeline, options: ViewOptions) -> list[str]:
    """Return the category of each spot; "" for a section without one."""
    categories = Categories(options.settings.categories)
    return [
        (WAITING if spot.wait else categories.of(spot.name)) or ("ticks" if spot.tick else "")
        for spot in timeline.spots
    ]


def _calls(timeline: Timeline, track: Track, number: int, heads: list[str], misses: _Misses) -> Iterator[str]:
    """Yield the line of each call of a track, and after that of a missed tick, its mark."""
    where = f',"pid":{track.lane.pid},"tid":{number}}}'
    starts = timeline.start_ns[track.calls].tolist()
    durations = timeline.duration_ns[track.calls].tolist()
    spots = timeline.spot[track.calls]
    elsewhere = _elsewhere(timeline, spots, track.order)
    marks = _marks(misses)
    for at, (start, duration, spot, is_elsewhere) in enumerate(
        zip(starts, durations, spots.tolist(), elsewhere, strict=True)
    ):
        path = f',"args":{{"path":{json.dumps(timeline.spots[spot].path)}}}' if is_elsewhere else ""
        yield (
            f'{heads[spot]},"ts":{start // 1000}.{start % 1000:03d}'
            f',"dur":{duration // 1000}.{duration % 1000:03d}{path}{where}'
        )
        if at in marks:
            yield (
                f'{{"name":"{_MISSED_TICK}","ph":"i","s":"t","ts":{start // 1000}.{start % 1000:03d}'
                f',"args":{json.dumps(marks[at])}{where}'
            )


def _marks(misses: _Misses) -> dict[int, dict[str, int]]:
    missed = np.flatnonzero(misses.late_ns)
    found = zip(missed.tolist(), misses.number[missed].tolist(), misses.late_ns[missed].tolist(), strict=True)
    return {
        at: {"tick": tick, "late_ns": late} if tick >= 0 else {"late_ns": late} for at, tick, late in found
    }


def _elsewhere(timeline: Timeline, spots: Column, order: Column) -> list[bool]:
    """Return for each call of a track whether its path is not that of the enclosing call and its name."""
    every = [spot.path for spot in timeline.spots]
    marked = [spot.name != paths.name_of(spot.path) for spot in timeline.spots]
    above = [paths.parent(path) for path in every]
    around = _spots_around(spots, order).tolist()
    return [
        marked[spot] or above[spot] != (every[over] if over >= 0 else paths.ROOT)
        for spot, over in zip(spots.tolist(), around, strict=True)
    ]


def _spots_around(spots: Column, order: Column) -> Column:
    """Return for each call of a track the spot of the enclosing call; -1 if there is none."""
    is_begin = order < len(spots)
    depth = np.cumsum(np.where(is_begin, 1, -1))[is_begin]  # of each call, in the order they begin
    calls = order[is_begin]
    around = np.full(len(spots), -1, np.int64)
    for level in range(2, int(depth.max(initial=0)) + 1):
        over, here = np.flatnonzero(depth == level - 1), np.flatnonzero(depth == level)
        around[calls[here]] = spots[calls[over[np.searchsorted(over, here) - 1]]]
    return around


# From the trace's schema: fields of a packet, of an event, of a track, and values of enumerations.
_PACKET = 1
_CLOCKS, _TIMESTAMP, _SEQUENCE, _EVENT, _INTERNED, _FLAGS, _COMPRESSED, _CLOCK, _DEFAULTS, _TRACK = (
    *(6, 8, 10, 11, 12, 13, 50, 58, 59, 60),
)
_CATEGORY_IDS, _NOTES, _TYPE, _NAME_ID, _TRACK_ID, _CATEGORIES, _NAME, _DOUBLE_VALUE = (
    *(3, 4, 9, 10, 11, 22, 23, 44),
)
_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4
_STATE_CLEARED, _NEEDS_STATE = 1, 2
_REALTIME, _BOOTTIME, _SINCE_LAST = 1, 6, 64

_MAIN_SEQUENCE = 1
_LOST_TRACK = 1
_PACKETS_AT_ONCE = 1 << 16
# zlib's level: higher ones save little and take long.
_LEVEL = 1


def render_perfetto(profile: Profile, options: ViewOptions, timeline: Timeline) -> bytes:
    """Return the timeline as a trace: gauges are counters, missed ticks and the losses are events."""
    timeline = one_spot_per_node(timeline)
    tracks = list(tracks_of(timeline))
    main = integer(_SEQUENCE, _MAIN_SEQUENCE)
    parts = [message(_PACKET, main, piece) for piece in _main(profile, timeline, tracks)]
    labels = [spot.label for spot in timeline.spots]
    kinds = _kinds(timeline, options)
    misses = _misses(profile, timeline, tracks)
    for at, track in enumerate(tracks):
        parts += _sequence(timeline, track, _track_id(at), labels, kinds, misses.of(track.calls))
    return b"".join(parts)


def _main(profile: Profile, timeline: Timeline, tracks: list[Track]) -> Iterator[bytes]:
    yield _clocks(timeline) + integer(_FLAGS, _STATE_CLEARED)
    processes = list(dict.fromkeys(track.lane.process for track in tracks))
    process_ids = {process: _track_id(len(tracks) + at) for at, process in enumerate(processes)}
    described: set[str] = set()
    # Further tracks of a lane are below that of its thread.
    threads: dict[tuple[str, int, str], int] = {}
    for at, track in enumerate(tracks):
        lane, parent = track.lane, process_ids[track.lane.process]
        if lane.process not in described:
            described.add(lane.process)
            process = message(3, integer(1, lane.pid, present=True), text(6, lane.process_title))
            yield message(_TRACK, integer(1, parent), process)
        thread = (lane.process, lane.thread_id, lane.thread_name)
        is_thread = not lane.number and not track.note and lane.thread_id
        if is_thread and thread not in threads:
            threads[thread] = _track_id(at)
            ids = (integer(1, lane.pid, present=True), integer(2, lane.thread_id, present=True))
            about = message(4, *ids, text(5, lane.name))
            yield message(_TRACK, integer(1, _track_id(at)), integer(5, parent), about)
        else:
            above = threads.get(thread, parent)
            yield message(_TRACK, integer(1, _track_id(at)), text(2, track.name), integer(5, above))
    yield from _losses(profile, timeline)
    first = _track_id(len(tracks) + len(processes))
    for track_id, counter in enumerate(_readings(profile, timeline, tracks), first):
        yield from _counter(track_id, process_ids[counter.lane.process], counter)


def _track_id(at: int) -> int:
    return _LOST_TRACK + 1 + at


def _clocks(timeline: Timeline) -> bytes:
    """Return the packet that defines the trace's clock: nanoseconds since the run began, and when that was."""
    clocks = [message(1, integer(1, _BOOTTIME), integer(2, 0, present=True))]
    if timeline.began_wall_ns is not None:
        clocks.append(message(1, integer(1, _REALTIME), integer(2, timeline.began_wall_ns)))
    return message(_CLOCKS, *clocks, integer(2, _BOOTTIME))


def _losses(profile: Profile, timeline: Timeline) -> Iterator[bytes]:
    found = lost(profile, timeline)
    if not found:
        return
    yield message(_TRACK, integer(1, _LOST_TRACK), text(2, "ticktree"))
    notes = [message(_NOTES, text(10, what), integer(3, count)) for what, count in found.items()]
    at = int(timeline.start_ns[0]) if len(timeline) else 0
    event = message(
        _EVENT, integer(_TYPE, _INSTANT), integer(_TRACK_ID, _LOST_TRACK), text(_NAME, "not recorded"), *notes
    )
    yield integer(_TIMESTAMP, at, present=True) + event


def _counter(track_id: int, parent: int, counter: _Counter) -> Iterator[bytes]:
    yield message(_TRACK, integer(1, track_id), text(2, counter.name), integer(5, parent), message(8))
    for since_ns, value in counter.points:
        number = double(_DOUBLE_VALUE, value, present=True)
        event = message(_EVENT, integer(_TYPE, _COUNTER), integer(_TRACK_ID, track_id), number)
        yield integer(_TIMESTAMP, since_ns, present=True) + event


def _sequence(
    timeline: Timeline, track: Track, track_id: int, labels: list[str], kinds: list[str], misses: _Misses
) -> Iterator[bytes]:
    """Yield the packets of one track: first what they share, then one packet per moment."""
    spots = timeline.spot[track.calls]
    used = np.unique(spots).tolist()
    categories = {kind: at for at, kind in enumerate(dict.fromkeys(kinds[at] for at in used), 1) if kind}
    start = int(timeline.start_ns[track.calls[0]])
    sequence = integer(_SEQUENCE, _MAIN_SEQUENCE + track_id)
    yield message(
        _PACKET,
        sequence,
        integer(_FLAGS, _STATE_CLEARED | _NEEDS_STATE),
        _since_last_clock(start),
        message(_DEFAULTS, message(_EVENT, integer(_TRACK_ID, track_id)), integer(_CLOCK, _SINCE_LAST)),
        message(
            _INTERNED,
            *(message(1, integer(1, at), text(2, kind)) for kind, at in categories.items()),
            *(message(2, integer(1, at + 1), text(2, labels[at])) for at in used),
            *(_mark_names(len(labels) + 1) if misses.late_ns.any() else ()),
        ),
    )
    event = np.where(track.order < len(track.calls), _BEGIN, _END)
    call = track.order % len(track.calls)
    # The mark of a missed tick follows its begin, so that viewers show it as a part of the tick.
    missed = np.flatnonzero((event == _BEGIN) & (misses.late_ns[call] > 0))
    event, call = np.insert(event, missed + 1, _INSTANT), np.insert(call, missed + 1, call[missed])
    moments = np.where(
        event == _END, timeline.end_ns[track.calls][call], timeline.start_ns[track.calls][call]
    )
    passed = np.diff(moments, prepend=start)
    category = np.array([categories.get(kind, 0) for kind in kinds], np.int64)[spots][call]
    name, misses = np.where(event == _INSTANT, len(labels), spots[call]) + 1, misses.of(call)
    for part in chunks(len(moments), _PACKETS_AT_ONCE):
        packets = _packets(sequence, passed[part], event[part], name[part], category[part], misses.of(part))
        yield message(_PACKET, message(_COMPRESSED, zlib.compress(packets, _LEVEL)))


def _mark_names(number: int) -> Iterator[bytes]:
    """Yield what the marks of missed ticks share: their name, which gets this number, and those of their arguments."""
    yield message(2, integer(1, number), text(2, _MISSED_TICK))
    yield from (message(3, integer(1, at), text(2, name)) for at, name in enumerate(("tick", "late_ns"), 1))


def _since_last_clock(start_ns: int) -> bytes:
    """Return the packet that defines this sequence's clock, which counts from one packet to the next."""
    trace = message(1, integer(1, _BOOTTIME), integer(2, start_ns))
    own = message(1, integer(1, _SINCE_LAST), integer(2, 0, present=True), integer(3, 1))
    return message(_CLOCKS, trace, own)


def _packets(
    sequence: bytes, passed: Column, kind: Column, name: Column, category: Column, misses: _Misses
) -> bytes:
    rows, is_begin, is_mark = len(passed), kind == _BEGIN, kind == _INSTANT
    event = MessageRows(rows).constant(tag(_TYPE, VARINT)).varints(kind)
    event.where(kind != _END, tag(_NAME_ID, VARINT)).varints(name, kind != _END)
    filed = is_begin & (category > 0)
    event.where(filed, tag(_CATEGORY_IDS, VARINT)).varints(category, filed)
    if is_mark.any():
        # The numbers of the arguments' names are those of `_mark_names`.
        is_numbered = is_mark & (misses.number >= 0)
        for at, (values, used) in enumerate(((misses.number, is_numbered), (misses.late_ns, is_mark)), 1):
            note = MessageRows(rows).where(used, integer(1, at) + tag(3, VARINT)).varints(values, used)
            event.where(used, tag(_NOTES, BYTES)).varints(note.sizes, used).append(note)
    body = (
        MessageRows(rows)
        .constant(sequence + integer(_FLAGS, _NEEDS_STATE) + tag(_TIMESTAMP, VARINT))
        .varints(passed)
    )
    body.constant(tag(_EVENT, BYTES)).varints(event.sizes).append(event)
    return MessageRows(rows).constant(tag(_PACKET, BYTES)).varints(body.sizes).append(body).to_bytes()
