"""The timeline of a recorder: its calls, their start and end, and what was overwritten."""

from __future__ import annotations

import asyncio
import itertools
import threading

import pytest

import ticktree
from support.recorder.virtual_event_loop import VirtualLoop


@pytest.fixture
def recorder():
    recorder = ticktree.Recorder(virtual_clock=True, timeline=1000)
    yield recorder
    problems = list(recorder.timeline().problems())
    recorder.disable()
    assert problems == []


def calls(recorder, lane=None):
    """(path, start, duration) of every call, in order; of one lane if it is named."""
    timeline = recorder.timeline()
    return [
        (timeline.nodes[node].path, start, duration)
        for node, start, duration, at in zip(
            timeline.node.tolist(),
            timeline.start_ns.tolist(),
            timeline.duration_ns.tolist(),
            timeline.lane.tolist(),
        )
        if lane in (None, timeline.lanes[at].name)
    ]


def lane_names(recorder):
    timeline = recorder.timeline()
    return {lane.name for at, lane in enumerate(timeline.lanes) if len(timeline.of_lane(at))}


def test_a_recorder_that_was_not_asked_keeps_none():
    recorder = ticktree.Recorder(virtual_clock=True)
    with recorder.section("a"):
        recorder.advance(10)
    assert recorder.timeline() is None


def test_nested_calls_are_there_with_start_and_duration_outer_ones_first(recorder):
    recorder.advance(7)
    with recorder.section("a"):
        recorder.advance(10)
        for _ in range(2):
            with recorder.section("b"):
                recorder.advance(3)
    assert calls(recorder) == [("a", 7, 16), ("a/b", 17, 3), ("a/b", 20, 3)]


def test_calls_without_any_duration_keep_their_order(recorder):
    with recorder.section("a"), recorder.section("b"):
        pass
    with recorder.section("c"):
        pass
    assert calls(recorder) == [("a", 0, 0), ("c", 0, 0), ("a/b", 0, 0)]


def test_a_call_that_raises_is_there(recorder):
    with pytest.raises(ZeroDivisionError), recorder.section("a"):
        recorder.advance(5)
        _ = 1 / 0
    assert calls(recorder) == [("a", 0, 5)]


def test_recursion_is_a_call_in_each_depth(recorder):
    def down(depth):
        with recorder.section("f"):
            recorder.advance(1)
            if depth:
                down(depth - 1)

    down(2)
    assert calls(recorder) == [("f", 0, 3), ("f/f", 1, 2), ("f/f/f", 2, 1)]


def test_open_calls_are_not_there_before_they_end(recorder):
    with recorder.section("a"):
        recorder.advance(5)
        assert calls(recorder) == []
    assert calls(recorder) == [("a", 0, 5)]


def test_ticks_stages_and_waits_are_there_and_said_to_be_what_they_are(recorder):
    for _ in recorder.loop("loop", range(2), warmup=0):
        recorder.stage("one")
        recorder.advance(2)
        recorder.stage("two")
        with recorder.section("asleep", wait=True):
            recorder.advance(3)
    assert calls(recorder) == [
        ("loop", 0, 5),
        ("loop/one", 0, 2),
        ("loop/two", 2, 3),
        ("loop/two/asleep", 2, 3),
        ("loop", 5, 5),
        ("loop/one", 5, 2),
        ("loop/two", 7, 3),
        ("loop/two/asleep", 7, 3),
    ]
    kinds = {node.path: (node.tick, node.wait, node.recorded) for node in recorder.timeline().nodes}
    assert kinds["loop"] == (True, False, False)
    assert kinds["loop/two/asleep"] == (False, True, False)


def test_a_duration_measured_elsewhere_ends_when_it_is_said(recorder):
    recorder.advance(100)
    recorder.record_duration("network", 40e-9)
    recorder.record_duration("network", 1e-6)  # it began before the run did
    assert calls(recorder) == [("network", 0, 100), ("network", 60, 40)]
    assert [node.recorded for node in recorder.timeline().nodes if node.path == "network"] == [True]


def test_timed_functions_are_there(recorder):
    @recorder.timed("work")
    def work():
        recorder.advance(4)

    work()
    work()
    assert calls(recorder) == [("work", 0, 4), ("work", 4, 4)]


def test_the_oldest_calls_are_overwritten_and_counted():
    recorder = ticktree.Recorder(virtual_clock=True, timeline=10)
    for _ in range(34):
        with recorder.section("a"):
            recorder.advance(1)
    timeline = recorder.timeline()
    assert (len(timeline), timeline.overwritten) == (10, 24)
    assert timeline.start_ns.tolist() == list(range(24, 34))


def test_a_full_ring_has_lost_nothing():
    recorder = ticktree.Recorder(virtual_clock=True, timeline=10)
    for _ in range(10):
        with recorder.section("a"):
            recorder.advance(1)
    assert (len(recorder.timeline()), recorder.timeline().overwritten) == (10, 0)


def test_what_is_reset_is_neither_there_nor_lost():
    recorder = ticktree.Recorder(virtual_clock=True, timeline=10)
    for calls_before in (7, 25):
        for _ in range(calls_before):
            with recorder.section("a"):
                recorder.advance(1)
        recorder.reset()
        assert (len(recorder.timeline()), recorder.timeline().overwritten) == (0, 0)
    for _ in range(12):
        with recorder.section("a"):
            recorder.advance(1)
    assert (len(recorder.timeline()), recorder.timeline().overwritten) == (10, 2)


def test_each_thread_has_a_lane_of_its_name(recorder):
    def work(ns):
        with recorder.section("work"):
            recorder.advance(ns)

    with recorder.section("main"):
        for number in range(2):
            thread = threading.Thread(target=work, args=(number + 1,), name=f"worker {number}")
            thread.start()
            thread.join()
    assert calls(recorder, "worker 0") == [("main/work", 0, 1)]
    assert calls(recorder, "worker 1") == [("main/work", 1, 2)]
    assert calls(recorder, "MainThread") == [("main", 0, 3)]


def test_tasks_that_interleave_are_in_lanes_of_their_own_and_these_are_used_again(recorder):
    loop = VirtualLoop(recorder.advance)

    async def task(ns):
        with recorder.section("task"):
            await asyncio.sleep(ns / 1e9)

    async def main():
        await asyncio.gather(task(10), task(20))
        await asyncio.gather(task(5), task(5))

    loop.run_until_complete(main())
    loop.close()
    assert calls(recorder, "MainThread, task 1") + calls(recorder, "MainThread, task 2") != []
    for lane in lane_names(recorder):
        ends = [(start, start + duration) for _, start, duration in calls(recorder, lane)]
        assert all(one[1] <= other[0] for one, other in itertools.pairwise(ends)), lane
    durations = sorted(duration for path, _, duration in calls(recorder) if path == "task")
    assert durations == [5, 5, 10, 20]
    assert lane_names(recorder) <= {"MainThread", "MainThread, task 1", "MainThread, task 2"}


def test_many_threads_share_what_lanes_there_are():
    recorder = ticktree.Recorder(virtual_clock=True, timeline=5000)

    def work():
        with recorder.section("work"):
            recorder.advance(1)

    for number in range(1100):
        thread = threading.Thread(target=work, name=f"thread {number}")
        thread.start()
        thread.join()
    timeline = recorder.timeline()
    assert len(timeline) == 1100
    assert len(timeline.lanes) == 1025
    assert timeline.lanes[0].name == "more threads"
    assert len(timeline.of_lane(0)) == 1100 - 1023  # one is the main thread's


def test_every_call_that_is_counted_is_in_a_timeline_large_enough(recorder):
    for number in recorder.loop("loop", range(20)):
        with recorder.section("a" if number % 3 else "b"):
            recorder.advance(number)
        recorder.record_duration("r", number * 1e-9)
    timeline, root = recorder.timeline(), recorder.snapshot().root
    for path in ("loop", "loop/a", "loop/b", "loop/r"):
        (at,) = (at for at, node in enumerate(timeline.nodes) if node.path == path)
        mine = timeline.node == at
        assert (int(mine.sum()), int(timeline.duration_ns[mine].sum())) == (
            root.at(path).count,
            root.at(path).total_ns,
        )


def test_a_timeline_can_be_asked_for_while_sections_are_open():
    recorder = ticktree.Recorder(virtual_clock=True)
    with recorder.section("a"):
        recorder.advance(1)
        recorder.open(timeline=10)
        with recorder.section("b"):
            recorder.advance(2)
    assert calls(recorder) == [("a", 0, 3), ("a/b", 1, 2)]
    assert calls(recorder, "MainThread") == [("a/b", 1, 2)]


def test_more_events_than_a_file_can_hold_are_fewer():
    recorder = ticktree.Recorder(virtual_clock=True, timeline=10**9)
    with recorder.section("a"):
        recorder.advance(1)
    assert len(recorder.timeline()) == 1
