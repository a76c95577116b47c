"""Traces: the calls of a timeline for viewers, in which calls on one track must follow each other or nest.

Chrome's trace event JSON is for chrome://tracing, ui.perfetto.dev and other readers of such files. A Perfetto trace
has one sequence of packets per track, which keeps each packet small: what a track's packets share is written once,
names are numbered, and each moment is written as the time since the previous moment. The trace format itself
compresses packets, so users need not unpack the file.
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
from ticktree.outputs.view.headline import loss_counts
from ticktree.profile import Profile
from ticktree.profile import path as paths
from ticktree.profile.timeline import Column, Lane, Timeline, merge_equal_nodes

_MISSED_TICK = "missed tick"


@dataclass(frozen=True, eq=False)
class _Misses:
    """Which calls of a timeline are missed ticks."""

    late_ns: Column  # of each call; 0 if it was not missed, or is no tick
    number: Column  # of the tick in its thread's loop, from 0; -1 if unknown

    def of(self, calls: Column | slice) -> _Misses:
        return _Misses(self.late_ns[calls], self.number[calls])


def _misses(profile: Profile, timeline: Timeline, tracks: list[Track]) -> _Misses:
    misses = _Misses(np.zeros(len(timeline), np.int64), np.full(len(timeline), -1, np.int64))
    for ticks in ticks_of(profile, timeline, [(track.lane, track.calls) for track in tracks]):
        misses.late_ns[ticks.calls] = ticks.late_ns
        if ticks.first is not None:
            misses.number[ticks.calls] = ticks.first + np.arange(len(ticks.calls))
    return misses


class _Counter(NamedTuple):
    """A line in a viewer, in the process of a lane."""

    name: str
    lane: Lane
    points: list[tuple[int, float]]  # nanoseconds since the run began, and the value from then on


def _readings(profile: Profile, timeline: Timeline, tracks: list[Track]) -> Iterator[_Counter]:
    """Yield the gauges over the run's time: one line each, two where several readings of a window differ.

    A gauge's process is the one that reported its last reading, or the first process if that one has no calls, such as
    the supervisor, which reads the machine. Viewers show tracks without a process above all others, where these are
    mostly empty.
    """
    lanes = {track.lane.process: track.lane for track in reversed(tracks)}
    for gauge in profile.gauges.values() if tracks else ():
        lane = lanes.get(gauge.process, tracks[0].lane)
        width_ns, windows = gauge.windows.width_ns, sorted(gauge.windows.readings.items())
        low = [(index * width_ns, readings.min) for index, readings in windows]
        high = [(index * width_ns, readings.max) for index, readings in windows]
        if low != high:
            yield _Counter(f"{gauge.name} min", lane, low)
            yield _Counter(f"{gauge.name} max", lane, high)
        else:
            began_ns = timeline.began_wall_ns
            if not low and began_ns is not None and gauge.last_wall_ns >= began_ns:
                low = [(gauge.last_wall_ns - began_ns, gauge.last)]
            if low:
                yield _Counter(gauge.name, lane, low)


# A thread's number is the kernel's; other tracks get numbers above all of these, within the 32 bits that readers use.
_FIRST_NUMBER = 1 << 24


def render_chrome(profile: Profile, options: ViewOptions, timeline: Timeline) -> bytes:
    """Return the timeline as JSON and a newline: one event per line, times in microseconds to the nanosecond."""
    timeline = merge_equal_nodes(timeline)
    tracks = list(tracks_of(timeline))
    misses = _misses(profile, timeline, tracks)
    numbers = _thread_numbers(tracks)
    heads = _heads(timeline, options)
    lines = list(map(json.dumps, _metadata(tracks, numbers)))
    for counter in _readings(profile, timeline, tracks):
        for since_ns, value in counter.points:
            event = {"name": counter.name, "ph": "C", "pid": counter.lane.pid, "ts": since_ns / 1000}
            lines.append(json.dumps({**event, "args": {"value": value}}))
    for track, number in zip(tracks, numbers, strict=True):
        lines += _calls(timeline, track, number, heads, misses.of(track.calls))
    facts: dict[str, Any] = {
        "exported_by": "ticktree",
        "clocks": sorted(timeline.clocks),
        "not_recorded": loss_counts(profile, timeline),
        "loops": sorted({node.path for node in timeline.nodes if node.tick}),
        "waits": sorted({node.path for node in timeline.nodes if node.wait}),
    }
    if timeline.began_wall_ns is not None:
        facts["began_wall_ns"] = timeline.began_wall_ns
    head = f'{{"displayTimeUnit":"ns","otherData":{json.dumps(facts)},"traceEvents":[\n'
    return (head + ",\n".join(lines) + "\n]}\n").encode()


def _thread_numbers(tracks: list[Track]) -> list[int]:
    """Return for each track a number that is unique in its process; for a thread, the kernel's."""
    used: set[tuple[int, int]] = set()
    numbers = []
    for i, track in enumerate(tracks):
        lane = track.lane
        number = lane.thread_id if not (lane.number or track.note) else 0
        if not number or (lane.pid, number) in used:
            number = _FIRST_NUMBER + i
        used.add((lane.pid, number))
        numbers.append(number)
    return numbers


def _metadata(tracks: list[Track], numbers: list[int]) -> Iterator[dict[str, Any]]:
    pids: set[int] = set()
    for i, (track, number) in enumerate(zip(tracks, numbers, strict=True)):
        lane = track.lane
        ids = {"ph": "M", "pid": lane.pid, "tid": number}
        if lane.pid not in pids:
            pids.add(lane.pid)
            yield {"name": "process_name", **ids, "args": {"name": lane.process_title}}
        yield {"name": "thread_name", **ids, "args": {"name": track.name}}
        yield {"name": "thread_sort_index", **ids, "args": {"sort_index": i}}


def _heads(timeline: Timeline, options: ViewOptions) -> list[str]:
    """Return the beginning of the lines of each node's calls."""
    return [
        f'{{"name":{json.dumps(node.label)},"cat":{json.dumps(kind or "section")},"ph":"X"'
        for node, kind in zip(timeline.nodes, _kinds(timeline, options), strict=True)
    ]


def _kinds(timeline: Timeline, options: ViewOptions) -> list[str]:
    """Return the category of each node; "" for a section without one."""
    categories = Categories(options.settings.categories)
    return [
        (WAITING if node.wait else categories.of(node.name)) or ("ticks" if node.tick else "")
        for node in timeline.nodes
    ]


def _calls(timeline: Timeline, track: Track, number: int, heads: list[str], misses: _Misses) -> Iterator[str]:
    """Yield the line of each call of a track; after a missed tick, also the line of its mark."""
    ids = f',"pid":{track.lane.pid},"tid":{number}}}'
    starts = timeline.start_ns[track.calls].tolist()
    durations = timeline.duration_ns[track.calls].tolist()
    nodes = timeline.node[track.calls]
    has_path = _has_other_path(timeline, nodes, track.order)
    marks = _missed_ticks(misses)
    for i, (start, duration, node, is_other) in enumerate(
        zip(starts, durations, nodes.tolist(), has_path, strict=True)
    ):
        path = f',"args":{{"path":{json.dumps(timeline.nodes[node].path)}}}' if is_other else ""
        yield (
            f'{heads[node]},"ts":{start // 1000}.{start % 1000:03d}'
            f',"dur":{duration // 1000}.{duration % 1000:03d}{path}{ids}'
        )
        if i in marks:
            yield (
                f'{{"name":"{_MISSED_TICK}","ph":"i","s":"t","ts":{start // 1000}.{start % 1000:03d}'
                f',"args":{json.dumps(marks[i])}{ids}'
            )


def _missed_ticks(misses: _Misses) -> dict[int, dict[str, int]]:
    indices = np.flatnonzero(misses.late_ns)
    numbers, late_ns = (column[indices].tolist() for column in (misses.number, misses.late_ns))
    return {
        i: {"tick": number, "late_ns": late} if number >= 0 else {"late_ns": late}
        for i, number, late in zip(indices.tolist(), numbers, late_ns, strict=True)
    }


def _has_other_path(timeline: Timeline, nodes: Column, order: Column) -> list[bool]:
    """Return for each call of a track whether its path is not that of the enclosing call and its name."""
    node_paths = [node.path for node in timeline.nodes]
    is_renamed = [node.name != paths.name_of(node.path) for node in timeline.nodes]
    parents = [paths.parent(path) for path in node_paths]
    enclosing = _enclosing_nodes(nodes, order).tolist()
    return [
        is_renamed[node] or parents[node] != (node_paths[outer] if outer >= 0 else paths.ROOT)
        for node, outer in zip(nodes.tolist(), enclosing, strict=True)
    ]


def _enclosing_nodes(nodes: Column, order: Column) -> Column:
    """Return for each call of a track the node of the enclosing call; -1 if there is none."""
    is_begin = order < len(nodes)
    depth = np.cumsum(np.where(is_begin, 1, -1))[is_begin]  # of each call, in the order they begin
    calls = order[is_begin]
    enclosing = np.full(len(nodes), -1, np.int64)
    for level in range(2, int(depth.max(initial=0)) + 1):
        outer, inner = np.flatnonzero(depth == level - 1), np.flatnonzero(depth == level)
        enclosing[calls[inner]] = nodes[calls[outer[np.searchsorted(outer, inner) - 1]]]
    return enclosing


# From the trace's schema: fields of a packet, of an event, of a track, and values of enumerations.
_PACKET = 1
_CLOCKS, _TIMESTAMP, _SEQUENCE, _EVENT, _INTERNED, _FLAGS = 6, 8, 10, 11, 12, 13
_COMPRESSED, _CLOCK, _DEFAULTS, _TRACK = 50, 58, 59, 60
_CATEGORY_IDS, _NOTES, _TYPE, _NAME_ID, _TRACK_ID, _NAME, _DOUBLE_VALUE = (3, 4, 9, 10, 11, 23, 44)
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
    timeline = merge_equal_nodes(timeline)
    tracks = list(tracks_of(timeline))
    main = integer(_SEQUENCE, _MAIN_SEQUENCE)
    parts = [message(_PACKET, main, piece) for piece in _main(profile, timeline, tracks)]
    labels = [node.label for node in timeline.nodes]
    kinds = _kinds(timeline, options)
    misses = _misses(profile, timeline, tracks)
    for i, track in enumerate(tracks):
        parts += _sequence(timeline, track, _track_id(i), labels, kinds, misses.of(track.calls))
    return b"".join(parts)


def _main(profile: Profile, timeline: Timeline, tracks: list[Track]) -> Iterator[bytes]:
    yield _clocks(timeline) + integer(_FLAGS, _STATE_CLEARED)
    processes = list(dict.fromkeys(track.lane.process for track in tracks))
    process_ids = {process: _track_id(len(tracks) + i) for i, process in enumerate(processes)}
    described: set[str] = set()
    # Further tracks of a lane are below that of its thread.
    threads: dict[tuple[str, int, str], int] = {}
    for i, track in enumerate(tracks):
        lane, parent = track.lane, process_ids[track.lane.process]
        if lane.process not in described:
            described.add(lane.process)
            process = message(3, integer(1, lane.pid, present=True), text(6, lane.process_title))
            yield message(_TRACK, integer(1, parent), process)
        thread = (lane.process, lane.thread_id, lane.thread_name)
        is_thread = not lane.number and not track.note and lane.thread_id
        if is_thread and thread not in threads:
            threads[thread] = _track_id(i)
            ids = (integer(1, lane.pid, present=True), integer(2, lane.thread_id, present=True))
            thread_fields = message(4, *ids, text(5, lane.name))
            yield message(_TRACK, integer(1, _track_id(i)), integer(5, parent), thread_fields)
        else:
            parent_id = threads.get(thread, parent)
            yield message(_TRACK, integer(1, _track_id(i)), text(2, track.name), integer(5, parent_id))
    yield from _losses(profile, timeline)
    first = _track_id(len(tracks) + len(processes))
    for track_id, counter in enumerate(_readings(profile, timeline, tracks), first):
        yield from _counter(track_id, process_ids[counter.lane.process], counter)


def _track_id(i: int) -> int:
    return _LOST_TRACK + 1 + i


def _clocks(timeline: Timeline) -> bytes:
    """Return the packet that defines the trace's clock: nanoseconds since the run began, and when that was."""
    clocks = [message(1, integer(1, _BOOTTIME), integer(2, 0, present=True))]
    if timeline.began_wall_ns is not None:
        clocks.append(message(1, integer(1, _REALTIME), integer(2, timeline.began_wall_ns)))
    return message(_CLOCKS, *clocks, integer(2, _BOOTTIME))


def _losses(profile: Profile, timeline: Timeline) -> Iterator[bytes]:
    losses = loss_counts(profile, timeline)
    if not losses:
        return
    yield message(_TRACK, integer(1, _LOST_TRACK), text(2, "ticktree"))
    notes = [message(_NOTES, text(10, kind), integer(3, count)) for kind, count in losses.items()]
    time_ns = int(timeline.start_ns[0]) if len(timeline) else 0
    event = message(
        _EVENT, integer(_TYPE, _INSTANT), integer(_TRACK_ID, _LOST_TRACK), text(_NAME, "not recorded"), *notes
    )
    yield integer(_TIMESTAMP, time_ns, present=True) + event


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
    nodes = timeline.node[track.calls]
    node_ids = np.unique(nodes).tolist()
    categories = {kind: i for i, kind in enumerate(dict.fromkeys(kinds[i] for i in node_ids), 1) if kind}
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
            *(message(1, integer(1, i), text(2, kind)) for kind, i in categories.items()),
            *(message(2, integer(1, i + 1), text(2, labels[i])) for i in node_ids),
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
    elapsed = np.diff(moments, prepend=start)
    category = np.array([categories.get(kind, 0) for kind in kinds], np.int64)[nodes][call]
    name, misses = np.where(event == _INSTANT, len(labels), nodes[call]) + 1, misses.of(call)
    for part in chunks(len(moments), _PACKETS_AT_ONCE):
        packets = _packets(sequence, elapsed[part], event[part], name[part], category[part], misses.of(part))
        yield message(_PACKET, message(_COMPRESSED, zlib.compress(packets, _LEVEL)))


def _mark_names(number: int) -> Iterator[bytes]:
    """Yield what the marks of missed ticks share: their name, which gets this number, and those of their arguments."""
    yield message(2, integer(1, number), text(2, _MISSED_TICK))
    yield from (message(3, integer(1, i), text(2, name)) for i, name in enumerate(("tick", "late_ns"), 1))


def _since_last_clock(start_ns: int) -> bytes:
    """Return the packet that defines this sequence's clock, which counts from one packet to the next."""
    trace_clock = message(1, integer(1, _BOOTTIME), integer(2, start_ns))
    clock = message(1, integer(1, _SINCE_LAST), integer(2, 0, present=True), integer(3, 1))
    return message(_CLOCKS, trace_clock, clock)


def _packets(
    sequence: bytes, elapsed: Column, kind: Column, name: Column, category: Column, misses: _Misses
) -> bytes:
    rows, is_begin, is_mark = len(elapsed), kind == _BEGIN, kind == _INSTANT
    event = MessageRows(rows).constant(tag(_TYPE, VARINT)).varints(kind)
    event.constant(tag(_NAME_ID, VARINT), kind != _END).varints(name, kind != _END)
    has_category = is_begin & (category > 0)
    event.constant(tag(_CATEGORY_IDS, VARINT), has_category).varints(category, has_category)
    if is_mark.any():
        # The numbers of the arguments' names are those of `_mark_names`.
        is_numbered = is_mark & (misses.number >= 0)
        for i, (values, mask) in enumerate(((misses.number, is_numbered), (misses.late_ns, is_mark)), 1):
            note = MessageRows(rows).constant(integer(1, i) + tag(3, VARINT), mask).varints(values, mask)
            event.constant(tag(_NOTES, BYTES), mask).varints(note.sizes, mask).append(note)
    body = (
        MessageRows(rows)
        .constant(sequence + integer(_FLAGS, _NEEDS_STATE) + tag(_TIMESTAMP, VARINT))
        .varints(elapsed)
    )
    body.constant(tag(_EVENT, BYTES)).varints(event.sizes).append(event)
    return MessageRows(rows).constant(tag(_PACKET, BYTES)).varints(body.sizes).append(body).to_bytes()
