"""Which call made which: exactly those that a program made in each other, and none that is not known."""

from __future__ import annotations

import threading

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import ticktree
from ticktree.outputs.otlp import NO_CALLER, callers_of
from ticktree.profile.timeline import CalledNode, Lane, Timeline

LANE = Lane("1-1", 1, "robot", "", 7, "MainThread", 0)


def recorder_of(events=10_000):
    return ticktree.Recorder(virtual_clock=True, timeline=events)


def calls_with_callers(timeline):
    """(start, path) of each call and of the one it was made in, None where there is none."""

    def start_and_path(i):
        return int(timeline.start_ns[i]), timeline.nodes[timeline.node[i]].path

    callers = callers_of(timeline).tolist()
    return [
        (start_and_path(i), None if caller == NO_CALLER else start_and_path(caller))
        for i, caller in enumerate(callers)
    ]


# A program: names of sections, each with the sections that it calls.
programs = st.recursive(
    st.builds(list),
    lambda below: st.lists(st.tuples(st.sampled_from("ab/"), below), max_size=4),
    max_leaves=25,
)


@settings(max_examples=100, deadline=None)
@given(programs)
def test_the_callers_are_those_of_the_program(program):
    recorder = recorder_of()
    expected = {}

    def run(calls, caller):
        for name, below in calls:
            recorder.advance(1)
            now[0] += 1
            path = f"{caller[1]}/" if caller else ""
            me = (now[0], path + name.replace("/", "\\/"))
            expected[me] = caller
            with recorder.section(name):
                run(below, me)
                recorder.advance(1)
                now[0] += 1

    now = [0]
    run(program, None)
    timeline = recorder.timeline()
    found = dict(calls_with_callers(timeline))
    began = min((start for start, _ in found), default=0) - min((start for start, _ in expected), default=0)
    assert {
        (start - began, path): caller and (caller[0] - began, caller[1])
        for (start, path), caller in found.items()
    } == expected


def test_a_caller_that_has_not_ended_or_was_overwritten_is_unknown():
    recorder = recorder_of(events=2)
    with recorder.section("a"), recorder.section("b"):
        pass
    with recorder.section("a"):
        recorder.advance(1)
        with recorder.section("b"):
            with recorder.section("c"):
                recorder.advance(1)
            assert [caller for _, caller in calls_with_callers(recorder.timeline())] == [None, None]
        ((_, caller_of_b), (_, caller_of_c)) = calls_with_callers(recorder.timeline())
        assert caller_of_b is None
        assert caller_of_c is not None


def test_a_duration_measured_elsewhere_belongs_to_the_section_that_was_open_when_it_was_recorded():
    recorder = recorder_of()
    recorder.advance(1000)
    for _ in range(3):
        with recorder.section("poll"):
            recorder.advance(10)
            recorder.record_duration("net", 500e-9)
            recorder.advance(10)
    recorder.record_duration("net", 1e-9)
    found = {
        call: caller for call, caller in calls_with_callers(recorder.timeline()) if call[1].endswith("net")
    }
    calls = sorted(found)
    polls = sorted(call for call, _ in calls_with_callers(recorder.timeline()) if call[1] == "poll")
    assert [found[call] for call in calls if call[1] == "poll/net"] == polls
    assert [found[call] for call in calls if call[1] == "net"] == [None]


def test_a_call_of_another_thread_has_no_caller_in_this_one():
    recorder = recorder_of()

    def work():
        with recorder.section("step"):
            recorder.advance(1)

    with recorder.section("main"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert all(caller is None for _, caller in calls_with_callers(recorder.timeline()))


def test_a_path_that_two_processes_mark_differently_is_one_node():
    nodes = (CalledNode("a"), CalledNode("a/b"), CalledNode("a/b", wait=True))
    start, duration = np.array([0, 1, 5], np.int64), np.array([9, 2, 2], np.int64)
    node, lane = np.array([0, 1, 2], np.int64), np.zeros(3, np.int64)
    assert callers_of(Timeline((LANE,), nodes, start, duration, node, lane)).tolist() == [NO_CALLER, 0, 0]


def test_an_empty_timeline_has_no_callers():
    none = np.empty(0, np.int64)
    assert callers_of(Timeline((), (), none, none, none, none)).tolist() == []
