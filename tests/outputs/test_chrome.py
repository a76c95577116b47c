"""Chrome's trace event JSON."""

from __future__ import annotations

import json
import threading

import pytest

import ticktree
from support.hostile_profiles import NAMES
from ticktree.errors import TicktreeError
from ticktree.outputs import EXPORTS


def exported(recorder):
    data = EXPORTS["chrome"].render(recorder.snapshot(), timeline=recorder.timeline())
    assert data.endswith(b"\n")
    return json.loads(data)


def test_calls_are_complete_events_in_microseconds_to_the_nanosecond():
    recorder = ticktree.Recorder(virtual_clock=True, timeline=100)
    recorder.advance(1_234_567)
    with recorder.section("outer"):
        recorder.advance(1)
        with recorder.section("asleep", wait=True):
            recorder.advance(2_000_003)
    events = [event for event in exported(recorder)["traceEvents"] if event["ph"] == "X"]
    assert [(event["name"], event["cat"], event["ts"], event["dur"]) for event in events] == [
        ("outer", "section", 1234.567, 2000.004),
        ("asleep", "waiting", 1234.568, 2000.003),
    ]
    assert {event["tid"] for event in events} == {threading.get_native_id()}


def test_overlapping_calls_are_on_other_threads_whose_numbers_fit_32_bits():
    recorder = ticktree.Recorder(virtual_clock=True, timeline=100)
    recorder.advance(100)
    for ns in (40, 60):
        recorder.advance(10)
        recorder.record_duration("net", ns * 1e-9)
    with recorder.section("a"):
        recorder.advance(1)
    trace = exported(recorder)["traceEvents"]
    threads = {event["tid"] for event in trace if event["ph"] == "X"}
    names = {event["tid"]: event["args"]["name"] for event in trace if event["name"] == "thread_name"}
    assert len(threads) == 2
    assert {names[at] for at in threads} == {"MainThread", "MainThread, measured elsewhere"}
    assert all(0 <= at < 1 << 31 for at in threads)


def test_hostile_names_are_kept_letter_by_letter():
    recorder = ticktree.Recorder(virtual_clock=True, timeline=100)
    name = 'a</script>"\\\u202e\U0001f600\n'
    with recorder.section(name):
        recorder.advance(1)
    assert [event["name"] for event in exported(recorder)["traceEvents"] if event["ph"] == "X"] == [name]


def test_losses_are_in_the_file():
    recorder = ticktree.Recorder(virtual_clock=True, timeline=4)
    for _ in range(9):
        with recorder.section("a"):
            recorder.advance(1)
    assert exported(recorder)["otherData"]["not_recorded"] == {"calls before the timeline": 5}


def test_a_missed_tick_has_a_mark_with_its_number_and_its_lateness():
    recorder = ticktree.Recorder(virtual_clock=True, timeline=1000)
    for tick in recorder.loop("control", range(30), hz=100, warmup=0):
        with recorder.section("think"):
            recorder.advance(14_000_000 if tick in (20, 27) else 6_000_000)
    trace = exported(recorder)["traceEvents"]
    ticks = [(event["ts"], event["tid"]) for event in trace if event["name"] == "control"]
    assert [event for event in trace if event["ph"] == "i"] == [
        {
            "name": "missed tick",
            "ph": "i",
            "s": "t",
            "ts": ticks[tick][0],
            "args": {"tick": tick, "late_ns": 4_000_000},
            "pid": 0,
            "tid": ticks[tick][1],
        }
        for tick in (20, 27)
    ]


def test_without_a_timeline_it_is_refused():
    recorder = ticktree.Recorder(virtual_clock=True)
    with pytest.raises(TicktreeError, match="ticktree run --timeline"):
        EXPORTS["chrome"].render(recorder.snapshot(), timeline=recorder.timeline())


def test_names_are_those_of_the_tree():
    recorder = ticktree.Recorder(virtual_clock=True, timeline=100)
    for name in NAMES:
        with recorder.section(name):
            recorder.advance(1)
    shown = [event["name"] for event in exported(recorder)["traceEvents"] if event["ph"] == "X"]
    assert set(shown) == set(recorder.snapshot().root.children)
    assert len(shown) == len(NAMES)
