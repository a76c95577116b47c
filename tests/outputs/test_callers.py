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


def made_in(timeline):
    """(start, path) of each call and of the one it was made in, None where there is none."""

    def named(at):
        return int(timeline.start_ns[at]), timeline.spots[timeline.spot[at]].path

    callers = callers_of(timeline).tolist()
    return [(named(at), None if caller == NO_CALLER else named(caller)) for at, caller in enumerate(callers)]


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
    found = dict(made_in(timeline))
    began = min((start for start, _ in found), default=0) - min((start for start, _ in expected), default=0)
    assert {
        (start - began, path): caller and (caller[0] - began, caller[1])
        for (start, path), caller in found.items()
    } == expected


def test_a_caller_that_has_not_ended_or_was_overwritten_is_nobody():
    recorder = recorder_of(events=2)
    with recorder.section("a"), recorder.section("b"):
        pass
    with recorder.section("a"):
        recorder.advance(1)
        with recorder.section("b"):
            with recorder.section("c"):
                recorder.advance(1)
            assert [caller for _, caller in made_in(recorder.timeline())] == [None, None]
        ((_, caller_of_b), (_, caller_of_c)) = made_in(recorder.timeline())
        assert caller_of_b is None
        assert caller_of_c is not None


def test_a_duration_measured_elsewhere_was_handed_over_in_the_section_that_was_open_then():
    recorder = recorder_of()
    recorder.advance(1000)
    for _ in range(3):
        with recorder.section("poll"):
            recorder.advance(10)
            recorder.record_duration("net", 500e-9)
            recorder.advance(10)
    recorder.record_duration("net", 1e-9)
    found = {call: caller for call, caller in made_in(recorder.timeline()) if call[1].endswith("net")}
    calls = sorted(found)
    polls = sorted(call for call, _ in made_in(recorder.timeline()) if call[1] == "poll")
    assert [found[call] for call in calls if call[1] == "poll/net"] == polls
    assert [found[call] for call in calls if call[1] == "net"] == [None]


def test_what_another_thread_calls_is_nobodys_of_this_one():
    recorder = recorder_of()

    def work():
        with recorder.section("step"):
            recorder.advance(1)

    with recorder.section("main"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert all(caller is None for _, caller in made_in(recorder.timeline()))


def test_a_path_that_two_processes_mark_differently_is_one_place():
    spots = (CalledNode("a"), CalledNode("a/b"), CalledNode("a/b", wait=True))
    start, duration = np.array([0, 1, 5], np.int64), np.array([9, 2, 2], np.int64)
    spot, lane = np.array([0, 1, 2], np.int64), np.zeros(3, np.int64)
    assert callers_of(Timeline((LANE,), spots, start, duration, spot, lane)).tolist() == [NO_CALLER, 0, 0]


def test_of_nothing_nobody_is_the_caller():
    none = np.empty(0, np.int64)
    assert callers_of(Timeline((), (), none, none, none, none)).tolist() == []
