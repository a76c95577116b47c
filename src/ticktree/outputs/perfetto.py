"""The timeline as a Perfetto trace, for ui.perfetto.dev and its trace processor.

One sequence of packets a track, which keeps each packet small: what a track's packets have in common is said once,
names are numbered, and a moment is given as what has passed since the one before. Packets are compressed in the
trace's own way, so that the file needs no unpacking.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

import numpy as np

from ticktree.analysis.categories import WAITING, Categories
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.shapes.tracks import Track, tracks_of
from ticktree.outputs.view.losses import lost
from ticktree.outputs.wire.protobuf import BYTES, VARINT, double, integer, message, tag, text
from ticktree.outputs.wire.protobuf_rows import Rows, chunks
from ticktree.profile import Gauge, Profile
from ticktree.profile.timeline import Lane, Timeline

# Of the trace's schema: fields of a packet, of an event, of a track, and values of enumerations.
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
# Of zlib: further levels save little and take long.
_LEVEL = 1


def render(profile: Profile, options: ViewOptions, timeline: Timeline) -> bytes:
    """Return the timeline as a trace; gauges as counters, and what was lost as an event of its own."""
    tracks = list(tracks_of(timeline))
    parts = [b"".join(_packet(piece) for piece in _main(profile, timeline, tracks))]
    labels = [spot.label for spot in timeline.spots]
    categories = Categories(options.settings.categories)
    kinds = [
        (WAITING if spot.wait else categories.of(spot.name)) or ("ticks" if spot.tick else "")
        for spot in timeline.spots
    ]
    for at, track in enumerate(tracks):
        parts += _sequence(timeline, track, _track_id(at), labels, kinds)
    return b"".join(parts)


def _main(profile: Profile, timeline: Timeline, tracks: list[Track]) -> Iterator[bytes]:
    yield _clocks(timeline) + integer(_FLAGS, _STATE_CLEARED)
    processes = list(dict.fromkeys(track.lane.process for track in tracks))
    process_ids = {process: _track_id(len(tracks) + at) for at, process in enumerate(processes)}
    described: set[str] = set()
    # A track of a lane beside its first is below that of its thread.
    threads: dict[tuple[str, int, str], int] = {}
    for at, track in enumerate(tracks):
        lane, parent = track.lane, process_ids[track.lane.process]
        if lane.process not in described:
            described.add(lane.process)
            yield _process_track(parent, lane)
        thread = (lane.process, lane.thread_id, lane.thread_name)
        is_thread = not lane.number and not track.note and lane.thread_id
        if is_thread and thread not in threads:
            threads[thread] = _track_id(at)
            yield _thread_track(_track_id(at), parent, lane)
        else:
            yield _other_track(_track_id(at), threads.get(thread, parent), track.name)
    yield from _losses(profile, timeline)
    first = _track_id(len(tracks) + len(processes))
    yield from _gauges(profile.gauges.values(), first, timeline)


def _track_id(at: int) -> int:
    return _LOST_TRACK + 1 + at


def _clocks(timeline: Timeline) -> bytes:
    """Say what the trace's time is: nanoseconds since the run began, and when that was."""
    clocks = [message(1, integer(1, _BOOTTIME), integer(2, 0, present=True))]
    if timeline.began_wall_ns is not None:
        clocks.append(message(1, integer(1, _REALTIME), integer(2, timeline.began_wall_ns)))
    return message(_CLOCKS, *clocks, integer(2, _BOOTTIME))


def _process_track(track_id: int, lane: Lane) -> bytes:
    process = message(3, integer(1, lane.pid, present=True), text(6, lane.process_title))
    return message(_TRACK, integer(1, track_id), process)


def _thread_track(track_id: int, parent: int, lane: Lane) -> bytes:
    thread = message(
        4, integer(1, lane.pid, present=True), integer(2, lane.thread_id, present=True), text(5, lane.name)
    )
    return message(_TRACK, integer(1, track_id), integer(5, parent), thread)


def _other_track(track_id: int, parent: int, name: str) -> bytes:
    return message(_TRACK, integer(1, track_id), text(2, name), integer(5, parent))


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


def _gauges(gauges: Iterable[Gauge], first: int, timeline: Timeline) -> Iterator[bytes]:
    """Yield a counter a gauge, with the one reading whose moment is known: its last."""
    began = timeline.began_wall_ns
    for track_id, gauge in enumerate(gauges, first):
        if began is None or gauge.last_wall_ns < began:
            continue
        yield message(_TRACK, integer(1, track_id), text(2, gauge.name), message(8))
        value = double(_DOUBLE_VALUE, gauge.last, present=True)
        event = message(_EVENT, integer(_TYPE, _COUNTER), integer(_TRACK_ID, track_id), value)
        yield integer(_TIMESTAMP, gauge.last_wall_ns - began, present=True) + event


def _packet(body: bytes) -> bytes:
    return message(_PACKET, integer(_SEQUENCE, _MAIN_SEQUENCE), body)


def _sequence(
    timeline: Timeline, track: Track, track_id: int, labels: list[str], kinds: list[str]
) -> Iterator[bytes]:
    """Yield the packets of one track: first what they have in common, then a packet a moment."""
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
        ),
    )
    count = len(track.calls)
    is_begin = track.order < count
    call = np.where(is_begin, track.order, track.order - count)
    moments = np.where(is_begin, timeline.start_ns[track.calls][call], timeline.end_ns[track.calls][call])
    passed = np.diff(moments, prepend=start)
    category = np.array([categories.get(kind, 0) for kind in kinds], np.int64)[spots][call]
    name = spots[call] + 1
    for part in chunks(len(moments), _PACKETS_AT_ONCE):
        packets = _packets(sequence, passed[part], is_begin[part], name[part], category[part])
        yield message(_PACKET, message(_COMPRESSED, zlib.compress(packets, _LEVEL)))


def _since_last_clock(start_ns: int) -> bytes:
    """Say that a clock of this sequence alone counts from one packet to the next."""
    trace = message(1, integer(1, _BOOTTIME), integer(2, start_ns))
    own = message(1, integer(1, _SINCE_LAST), integer(2, 0, present=True), integer(3, 1))
    return message(_CLOCKS, trace, own)


def _packets(
    sequence: bytes,
    passed: np.ndarray[tuple[int], np.dtype[np.int64]],
    is_begin: np.ndarray[tuple[int], np.dtype[np.bool_]],
    name: np.ndarray[tuple[int], np.dtype[np.int64]],
    category: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> bytes:
    rows = len(passed)
    event = Rows(rows).constant(tag(_TYPE, VARINT)).varints(np.where(is_begin, _BEGIN, _END))
    event.where(is_begin, tag(_NAME_ID, VARINT)).varints(name, is_begin)
    filed = is_begin & (category > 0)
    event.where(filed, tag(_CATEGORY_IDS, VARINT)).varints(category, filed)
    body = (
        Rows(rows)
        .constant(sequence + integer(_FLAGS, _NEEDS_STATE) + tag(_TIMESTAMP, VARINT))
        .varints(passed)
    )
    body.constant(tag(_EVENT, BYTES)).varints(event.sizes).append(event)
    return Rows(rows).constant(tag(_PACKET, BYTES)).varints(body.sizes).append(body).to_bytes()
