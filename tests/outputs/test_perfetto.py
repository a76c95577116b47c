"""The Perfetto trace, decoded by the schema of the `perfetto` package."""

from __future__ import annotations

import threading
import zlib

import numpy as np
import pytest

import ticktree
from ticktree.errors import TicktreeError
from ticktree.outputs import EXPORTS
from ticktree.outputs.protobuf import MessageRows, varint
from ticktree.profile import Profile

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
    found, open_on, names, kinds, track, clock = [], {}, {}, {}, {}, {}
    for packet in packets:
        sequence = packet.trusted_packet_sequence_id
        if packet.HasField("interned_data"):
            names[sequence] = {one.iid: one.name for one in packet.interned_data.event_names}
            kinds[sequence] = {one.iid: one.name for one in packet.interned_data.event_categories}
        if packet.HasField("trace_packet_defaults"):
            track[sequence] = packet.trace_packet_defaults.track_event_defaults.track_uuid
            clock[sequence] = packet.clock_snapshot.clocks[0].timestamp
            assert packet.clock_snapshot.clocks[1].is_incremental
        event = packet.track_event
        if event.type not in (event.TYPE_SLICE_BEGIN, event.TYPE_SLICE_END):
            continue
        assert packet.sequence_flags & packet.SEQ_NEEDS_INCREMENTAL_STATE
        clock[sequence] += packet.timestamp
        stack = open_on.setdefault(sequence, [])
        if event.type == event.TYPE_SLICE_BEGIN:
            kind = [kinds[sequence][at] for at in event.category_iids]
            stack.append((names[sequence][event.name_iid], kind, clock[sequence]))
        else:
            found.append((track[sequence], *stack.pop(), clock[sequence]))
    assert not any(open_on.values())
    return found


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


def test_a_gauge_is_a_counter_at_the_moment_it_was_read_last():
    recorder = ticktree.Recorder(timeline=100)
    with recorder.section("a"):
        recorder.gauge("depth", 2)
        recorder.gauge("depth", -1.5)
    packets = exported(recorder)
    ((at, value),) = [
        (one.timestamp, one.track_event.double_counter_value)
        for one in packets
        if one.track_event.type == one.track_event.TYPE_COUNTER
    ]
    ((*_, end),) = slices_of(packets)
    assert value == -1.5
    assert abs(at - end) < 1_000_000_000  # wall clock and monotonic clock, read one after the other
    assert any(track.name == "depth" and track.HasField("counter") for track in tracks_of(packets).values())


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
