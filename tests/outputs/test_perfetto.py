"""The Perfetto trace, decoded by the schema of the `perfetto` package."""

from __future__ import annotations

import asyncio
import json
import threading
import zlib
from collections import defaultdict
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import ticktree
from support.example_timelines import crowd, lane
from ticktree.errors import TicktreeError
from ticktree.machine.readings import gauge_of
from ticktree.outputs import EXPORTS
from ticktree.outputs.protobuf import MessageRows, varint
from ticktree.profile import Profile
from ticktree.profile.gauge import GaugeWindows
from ticktree.profile.stats import BASE_WIDTH_NS

schema = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
HOSTILE = 'a</script>"\\\u202e\U0001f600' + "x" * 150


def packets_of(data):
    """Every packet, those that are compressed too."""
    trace = schema.Trace()
    trace.ParseFromString(data)
    for packet in trace.packet:
        if packet.HasField("compressed_packets"):
            yield from packets_of(zlib.decompress(packet.compressed_packets))
        else:
            yield packet


def slices_of(packets):
    """(track, name, category, start, end) of each slice, by the rules that readers of such traces follow."""
    return read(packets)[0]


def marks_of(packets):
    """(track, slice that it lies in, moment, arguments) of each mark of a missed tick."""
    return read(packets)[1]


def read(packets):
    """The slices and the marks."""
    found, marks, open_on, names, kinds, keys, track, clock = [], [], {}, {}, {}, {}, {}, {}
    for packet in packets:
        sequence = packet.trusted_packet_sequence_id
        if packet.HasField("interned_data"):
            names[sequence] = {one.iid: one.name for one in packet.interned_data.event_names}
            kinds[sequence] = {one.iid: one.name for one in packet.interned_data.event_categories}
            keys[sequence] = {one.iid: one.name for one in packet.interned_data.debug_annotation_names}
        if packet.HasField("trace_packet_defaults"):
            track[sequence] = packet.trace_packet_defaults.track_event_defaults.track_uuid
            clock[sequence] = packet.clock_snapshot.clocks[0].timestamp
            assert packet.clock_snapshot.clocks[1].is_incremental
        event = packet.track_event
        if not event.type or sequence not in track:
            continue
        assert packet.sequence_flags & packet.SEQ_NEEDS_INCREMENTAL_STATE
        clock[sequence] += packet.timestamp
        stack = open_on.setdefault(sequence, [])
        if event.type == event.TYPE_SLICE_BEGIN:
            kind = [kinds[sequence][at] for at in event.category_iids]
            stack.append((names[sequence][event.name_iid], kind, clock[sequence]))
        elif event.type == event.TYPE_INSTANT:
            assert names[sequence][event.name_iid] == "missed tick"
            notes = {keys[sequence][one.name_iid]: one.uint_value for one in event.debug_annotations}
            marks.append((track[sequence], stack[-1][0], clock[sequence], notes))
        else:
            found.append((track[sequence], *stack.pop(), clock[sequence]))
    assert not any(open_on.values())
    return found, marks


def tracks_of(packets):
    return {
        packet.track_descriptor.uuid: packet.track_descriptor
        for packet in packets
        if packet.HasField("track_descriptor")
    }


@pytest.fixture
def recorder():
    return ticktree.Recorder(virtual_clock=True, timeline=1000)


def exported(recorder):
    timeline = recorder.timeline()
    data = EXPORTS["perfetto"].render(recorder.snapshot(), timeline=timeline)
    assert EXPORTS["perfetto"].render(recorder.snapshot(), timeline=timeline) == data
    return list(packets_of(data))


def test_calls_are_slices_with_their_starts_ends_and_categories(recorder):
    recorder.advance(5)
    for _ in recorder.loop("train", range(2), warmup=0):
        with recorder.section("asleep", wait=True):
            recorder.advance(10)
        with recorder.section("zzz"):
            recorder.advance(1_000_000_000_000)
    packets = exported(recorder)
    slices = sorted(slices_of(packets), key=lambda one: (one[3], -one[4]))
    later = 5 + 10 + 10**12
    assert [one[1:] for one in slices] == [
        ("train", ["training"], 5, later),
        ("asleep", ["waiting"], 5, 15),
        ("zzz", [], 15, later),
        ("train", ["training"], later, later + 10 + 10**12),
        ("asleep", ["waiting"], later, later + 10),
        ("zzz", [], later + 10, later + 10 + 10**12),
    ]
    track = tracks_of(packets)[slices[0][0]]
    assert track.thread.thread_name == "MainThread"
    assert track.thread.tid == threading.get_native_id()


def test_threads_hang_under_their_process_and_what_was_measured_elsewhere_under_its_thread(recorder):
    def work():
        with recorder.section("work"):
            recorder.advance(3)

    thread = threading.Thread(target=work, name="worker")
    thread.start()
    thread.join()
    recorder.record_duration("net", 2e-9)
    packets = exported(recorder)
    tracks = tracks_of(packets)
    by_name = {name: tracks[at] for at, name, *_ in slices_of(packets)}
    assert by_name["work"].thread.thread_name == "worker"
    assert tracks[by_name["work"].parent_uuid].HasField("process")
    assert by_name["net"].name == "MainThread, measured elsewhere"


def test_hostile_names_are_kept_letter_by_letter(recorder):
    with recorder.section(HOSTILE):
        recorder.advance(1)
    assert [one[1] for one in slices_of(exported(recorder))] == [HOSTILE]


def test_a_section_named_with_half_a_character_is_shown(recorder):
    with recorder.section("half \ud800"):
        recorder.advance(1)
    ((_, name, *_),) = slices_of(exported(recorder))
    assert name.startswith("half ")


def test_what_is_lost_is_an_event_of_its_own():
    recorder = ticktree.Recorder(virtual_clock=True, timeline=4)
    for _ in range(9):
        with recorder.section("a"):
            recorder.advance(1)
    recorder.section("never entered").__exit__(None, None, None)
    (event,) = [one.track_event for one in exported(recorder) if one.track_event.name == "not recorded"]
    notes = {note.name: note.uint_value for note in event.debug_annotations}
    assert notes == {"calls before the timeline": 5, "unmatched leaves": 1}


def test_where_nothing_is_lost_nothing_is_said(recorder):
    with recorder.section("a"):
        recorder.advance(1)
    assert not [one for one in exported(recorder) if one.track_event.debug_annotations]


def test_a_gauge_is_a_counter_over_the_run_and_two_where_readings_of_a_window_differ(recorder):
    for at in range(3):
        with recorder.section("a"):
            recorder.gauge("depth", at)
            recorder.gauge("load", at)
            recorder.gauge("load", -at)
            recorder.advance(BASE_WIDTH_NS)
    packets = exported(recorder)
    names = {track: one.name for track, one in tracks_of(packets).items() if one.HasField("counter")}
    points = defaultdict(list)
    for one in packets:
        if one.track_event.type == one.track_event.TYPE_COUNTER:
            value = one.track_event.double_counter_value
            points[names[one.track_event.track_uuid]].append((one.timestamp // BASE_WIDTH_NS, value))
    assert points == {
        "depth": [(0, 0), (1, 1), (2, 2)],
        "load min": [(0, 0), (1, -1), (2, -2)],
        "load max": [(0, 0), (1, 1), (2, 2)],
    }
    trace = json.loads(EXPORTS["chrome"].render(recorder.snapshot(), timeline=recorder.timeline()))
    assert points == {
        name: [
            (one["ts"] * 1000 // BASE_WIDTH_NS, one["args"]["value"])
            for one in trace["traceEvents"]
            if one["ph"] == "C" and one["name"] == name
        ]
        for name in names.values()
    }


def test_a_gauge_of_which_only_the_last_reading_is_known_is_a_counter_at_that_moment():
    recorder = ticktree.Recorder(timeline=100)
    with recorder.section("a"):
        recorder.gauge("depth", 2)
        recorder.gauge("depth", -1.5)
    profile = recorder.snapshot()
    depth = replace(profile.gauges["depth"], windows=GaugeWindows())
    profile = replace(profile, gauges={"depth": depth})
    packets = list(packets_of(EXPORTS["perfetto"].render(profile, timeline=recorder.timeline())))
    ((at, value),) = [
        (one.timestamp, one.track_event.double_counter_value)
        for one in packets
        if one.track_event.type == one.track_event.TYPE_COUNTER
    ]
    ((*_, end),) = slices_of(packets)
    assert value == -1.5
    assert abs(at - end) < 1_000_000_000  # wall clock and monotonic clock, read one after the other
    tracks = tracks_of(packets)
    (counter,) = [track for track in tracks.values() if track.HasField("counter")]
    assert counter.name == "depth"
    assert tracks[counter.parent_uuid].HasField("process")


def test_counters_are_below_the_process_that_reported_them_and_no_track_is_empty():
    """Viewers show tracks without a process above all others: so a screen began with six lines at the right edge."""
    learner, (_, recorded) = lane(0, "learner"), crowd(500, workers=1)
    gauge = partial(gauge_of, value=1.0, since_ns=5_000_000, wall_ns=10**18 + 5_000_000)
    gauges = [
        gauge("machine/used", process="1-1"),
        gauge("mine", process=learner.process),
        gauge("depth", process=lane(1, "").process),
    ]
    timeline = replace(recorded, began_wall_ns=10**18)
    profile = replace(Profile.empty(), gauges={one.name: one for one in gauges})
    packets = list(packets_of(EXPORTS["perfetto"].render(profile, timeline=timeline)))
    tracks = tracks_of(packets)
    counters = {track.name: track for track in tracks.values() if track.HasField("counter")}
    pids = {name: tracks[track.parent_uuid].process.pid for name, track in counters.items()}
    assert pids == {"machine/used": learner.pid, "mine": learner.pid, "depth": lane(1, "").pid}
    used = {one[0] for one in slices_of(packets)} | {
        one.track_event.track_uuid for one in packets if one.track_event.type == one.track_event.TYPE_COUNTER
    }
    assert used | {tracks[at].parent_uuid for at in used} == tracks.keys()
    trace = json.loads(EXPORTS["chrome"].render(profile, timeline=timeline))["traceEvents"]
    assert {one["name"]: one["pid"] for one in trace if one["ph"] == "C"} == pids


def test_a_missed_tick_has_a_mark_with_its_number_and_its_lateness(recorder):
    for tick in recorder.loop("control", range(30), hz=100, warmup=0):
        with recorder.section("think"):
            recorder.advance(14_000_000 if tick in (20, 27) else 6_000_000)
    packets = exported(recorder)
    (slices, marks) = read(packets)
    starts = sorted(start for _, name, _, start, _ in slices if name == "control")
    (track,) = {one[0] for one in slices}
    assert marks == [
        (track, "control", starts[tick], {"tick": tick, "late_ns": 4_000_000}) for tick in (20, 27)
    ]


@pytest.mark.slow
def test_marks_are_on_the_tracks_of_their_threads_and_as_many_as_the_recorder_counted():
    """More moments than are packed at once; a thread that ended hands its lane's number to none."""
    recorder = ticktree.Recorder(virtual_clock=True, timeline=200_000)
    ended = threading.Event()

    def drive() -> None:
        for tick in recorder.loop("drive", range(12), hz=100, warmup=0):
            recorder.advance(11_000_000 if tick % 3 == 2 else 1_000_000)
        turn.set()
        ended.wait()

    threads = []
    for number in range(2):
        turn = threading.Event()
        threads.append(threading.Thread(target=drive, name=f"driver {number}"))
        threads[-1].start()
        turn.wait()
    ended.set()
    for thread in threads:
        thread.join()
    for tick in recorder.loop("control", range(50_000), hz=100, warmup=0):
        recorder.advance(10_000_000 + tick % 7)
    packets = exported(recorder)
    marks, loops, tracks = marks_of(packets), recorder.snapshot().loops, tracks_of(packets)
    for name, loop in loops.items():
        late = [mark[3]["late_ns"] for mark in marks if mark[1] == name]
        assert (len(late), sum(late)) == (loop.missed, loop.lateness.sum_ns)
    numbers = {}
    for track, name, _, notes in marks:
        numbers.setdefault((tracks[track].thread.thread_name, name), []).append(notes["tick"])
    assert numbers == {
        ("driver 0", "drive"): [2, 5, 8, 11],
        ("driver 1", "drive"): [2, 5, 8, 11],
        ("MainThread", "control"): [tick for tick in range(50_000) if tick % 7],
    }


def test_a_missed_tick_whose_number_is_not_known_has_a_mark_without_one(recorder):
    async def agent(busy_ns: int) -> None:
        for _ in recorder.loop("agent", range(5), hz=100, warmup=0):
            recorder.advance(busy_ns)
            with recorder.section("reply", wait=True):
                await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(agent(4_000_000), agent(12_000_000))

    asyncio.run(main())
    assert [notes for *_, notes in marks_of(exported(recorder))] == [{"late_ns": 2_000_000}] * 5


def test_warm_up_and_ticks_of_a_loop_without_a_rate_have_no_mark(recorder):
    for _ in recorder.loop("control", range(10), hz=100, warmup=8):
        recorder.advance(14_000_000)
    for _ in recorder.loop("train", range(8)):
        recorder.advance(14_000_000)
    assert [(name, notes["tick"]) for _, name, _, notes in marks_of(exported(recorder))] == [
        ("control", 8),
        ("control", 9),
    ]


def test_a_process_without_a_number_has_one_all_the_same(recorder):
    """Readers take what does not say whose it is for nobody's: a recorder of one's own has the process 0."""
    with recorder.section("a"):
        recorder.advance(1)
    tracks = tracks_of(exported(recorder)).values()
    (process,) = [track.process for track in tracks if track.HasField("process")]
    assert process.HasField("pid")
    assert all(track.thread.HasField("pid") for track in tracks if track.HasField("thread"))


def test_a_timeline_is_never_made_up_from_totals(recorder):
    with pytest.raises(TicktreeError, match="ticktree run --timeline"):
        EXPORTS["perfetto"].render(recorder.snapshot())


def test_an_empty_timeline_is_a_trace_without_slices(recorder):
    assert slices_of(exported(recorder)) == []


def test_an_empty_profile_is_no_hindrance(recorder):
    with recorder.section("a"):
        recorder.advance(1)
    data = EXPORTS["perfetto"].render(Profile.empty(), timeline=recorder.timeline())
    assert len(slices_of(packets_of(data))) == 1


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 1 << 35, (1 << 63) - 1])
def test_a_column_of_numbers_is_written_as_each_of_them_is(value):
    values = np.array([value, 5, 0, value])
    assert MessageRows(4).varints(values).to_bytes() == b"".join(varint(int(one)) for one in values)
