from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from profile_strategies import profiles
from virtual_programs import MS, Program

from ticktree.analysis.bottlenecks.wording import step_name
from ticktree.analysis.survey import Survey
from ticktree.profile import Profile
from ticktree.recorder import Calling


def frame_of(profile):
    (frame,) = Survey(profile).frames
    return frame


def own_ms(frame):
    return {frame.name_of(step): step.self_ns / MS for step in frame.steps if step.self_ns}


def trainer(warmup=0, slow_ticks=0) -> Program:
    program = Program()
    for tick in program.loop("train", range(10), warmup=warmup):
        factor = 50 if tick < slow_ticks else 1
        program.take(1)
        program.work("sample", 2 * factor)
        with program.section("update"):
            program.take(3)
            for _ in range(2):
                program.work("forward", 5 * factor)
        program.work("sleep", 4, wait=True)
    return program


def test_a_tick_is_the_own_times_of_its_sections():
    frame = frame_of(trainer().profile())
    assert (frame.path, frame.ticks, frame.tick_ns) == ("train", 10, 20 * MS)
    assert own_ms(frame) == {"train": 1, "sample": 2, "update": 3, "update/forward": 10, "sleep": 4}
    calls = {step.path: step.calls for step in frame.steps}
    assert calls == {
        "train": 1,
        "train/sample": 1,
        "train/update": 1,
        "train/update/forward": 2,
        "train/sleep": 1,
    }


def test_what_is_warm_up_is_not_in_it():
    frame = frame_of(trainer(warmup=3, slow_ticks=3).profile())
    assert (frame.ticks, frame.tick_ns) == (7, 20 * MS)
    assert own_ms(frame)["update/forward"] == 10


def test_totals_are_with_all_below():
    totals = {step.path: step.total_ns / MS for step in frame_of(trainer().profile()).steps}
    assert totals == {
        "train": 20,
        "train/sample": 2,
        "train/update": 13,
        "train/update/forward": 10,
        "train/sleep": 4,
    }


def test_waits_and_what_is_in_them_are_told_apart():
    program = Program()
    for _ in program.loop("train", range(3)):
        with program.section("receive", wait=True):
            program.work("decode", 2)
        program.work("learn", 2)
    steps = {step.path: (step.is_wait, step.category) for step in frame_of(program.profile()).steps}
    assert steps["train/receive"] == steps["train/receive/decode"] == (True, "waiting")
    assert steps["train/learn"] == (False, "training")


def test_what_has_no_category_is_of_its_nearest_ancestors():
    program = Program()
    with program.section("replay buffer"):
        for _ in program.loop("fetch", range(3)):
            with program.section("x"):
                program.work("y", 1)
            with program.section("model"):
                program.work("z", 1)
    categories = {step.node.name: step.category for step in frame_of(program.profile()).steps}
    assert categories == {"fetch": "data", "x": "data", "y": "data", "model": "model", "z": "model"}


def test_what_was_only_recorded_ran_beside_the_loop():
    program = Program()
    for _ in program.loop("control", range(4)):
        program.work("act", 5)
        program.record_duration("server", 0.030)
    frame = frame_of(program.profile())
    (server,) = (step for step in frame.steps if step.path == "control/server")
    assert (server.self_ns, server.beside_ns, server.is_parallel) == (0, 30 * MS, True)
    assert own_ms(frame) == {"act": 5}


def test_another_threads_sections_ran_beside_the_loop():
    program = Program()

    def load():
        program.work("load", 7)

    for _ in program.loop("train", range(4)):
        with program.section("fetch"):
            thread = threading.Thread(target=load)
            thread.start()
            thread.join()
        program.work("learn", 5)
    frame = frame_of(program.profile())
    (load_step,) = (step for step in frame.steps if step.node.name == "load")
    assert load_step.is_parallel
    assert load_step.self_ns == 0
    assert load_step.beside_ns == 7 * MS
    assert own_ms(frame) == {"fetch": 7, "learn": 5}


def test_a_loop_in_a_loop_has_steps_of_its_own_and_is_one_of_the_outers():
    program = Program()
    for _ in program.loop("episode", range(2)):
        program.work("reset", 10)
        for _ in program.loop("step", range(5)):
            program.work("env", 3)
            program.work("policy", 1)
    seen = Survey(program.profile())
    outer, inner = seen.frames
    assert own_ms(outer) == {"reset": 10, "step": 20}
    assert [step.is_loop for step in outer.steps] == [False, False, True]
    assert own_ms(inner) == {"env": 3, "policy": 1}
    assert (outer.weight, inner.weight) == (1, pytest.approx(40 / 60))
    assert [step.path for step in seen.steps] == [step.path for frame in seen.frames for step in frame.steps]


def test_without_a_loop_the_run_is_what_there_is():
    program = Program()
    with program.section("load"):
        program.take(30)
        program.work("parse", 12)
    program.take(8)
    frame = frame_of(program.profile())
    assert (frame.loop, frame.path, frame.ticks, frame.tick_ns) == (None, "", 1, 50 * MS)
    assert own_ms(frame) == {"": 8, "load": 30, "load/parse": 12}


def test_a_loop_that_never_completed_a_tick_is_none():
    program = Program()
    for _ in program.loop("train", range(2)):
        program.work("learn", 5)
        break
    assert frame_of(program.profile()).loop is None


def test_the_sleep_of_a_loop_with_a_rate_is_slack_and_of_one_without_it_is_not():
    def slack(**options):
        program = Program()
        for _ in program.loop("control", range(4), **options):
            program.work("act", 4)
            program.work("sleep", 6, wait=True)
        return frame_of(program.profile()).slack_ns

    assert slack(hz=100) == 6 * MS
    assert slack() == 0


def test_of_nothing_there_is_nothing():
    assert Survey(Profile.empty()).frames == []


@settings(max_examples=60)
@given(profiles())
def test_own_times_waits_and_what_ticktree_cost_are_the_tick_to_the_last(profile):
    for frame in Survey(profile).frames:
        parts = [step.self_ns for step in frame.steps] + [step.recorder_ns for step in frame.steps]
        assert min(parts) >= 0
        assert sum(parts) == pytest.approx(frame.tick_ns, rel=1e-9)
        assert all(step.beside_ns >= 0 for step in frame.steps)
        assert len({step.path for step in frame.steps}) == len(frame.steps)
        assert 0 < frame.weight <= 1


def test_what_a_device_did_beside_a_section_is_no_section_in_it_and_what_a_server_did_meanwhile_is():
    program = Program()
    for _ in program.loop("train", range(10)):
        with program.section("update"):
            program.take(5)
            program.recorder.book(program.recorder.place(), ("cuda:0",), 4 * MS, "device")
        with program.section("ask", wait=True):
            calling = Calling(program.recorder)
            program.take(5)
            calling.graft("server", 4 * MS)
    frame = frame_of(program.profile())
    steps = {step.path: step for step in frame.steps}
    assert [step_name(frame, steps[path]) for path in ("train/update", "train/ask")] == [
        "update",
        "ask, outside its sections",
    ]
    assert steps["train"].has_sections
    assert not steps["train/ask/server@remote"].has_sections
