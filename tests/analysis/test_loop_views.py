from __future__ import annotations

import threading
from contextlib import nullcontext
from dataclasses import replace

import pytest
from hypothesis import given, settings

import ticktree
from support.profile_strategies import profiles
from support.virtual_programs import MS, Program
from ticktree.analysis.context import Context
from ticktree.analysis.loops import Saving
from ticktree.profile import Profile
from ticktree.recorder import Calling


def view_of(profile):
    (view,) = Context(profile).loops
    return view


def own_ms(view):
    return {view.name_of(section): section.self_ns / MS for section in view.sections if section.self_ns}


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


def test_a_tick_is_the_sum_of_its_sections_self_times():
    view = view_of(trainer().profile())
    assert (view.path, view.ticks, view.tick_ns) == ("train", 10, 20 * MS)
    assert own_ms(view) == {"train": 1, "sample": 2, "update": 3, "update/forward": 10, "sleep": 4}
    calls = {section.path: section.calls for section in view.sections}
    assert calls == {
        "train": 1,
        "train/sample": 1,
        "train/update": 1,
        "train/update/forward": 2,
        "train/sleep": 1,
    }


def test_warm_up_ticks_are_excluded():
    view = view_of(trainer(warmup=3, slow_ticks=3).profile())
    assert (view.ticks, view.tick_ns) == (7, 20 * MS)
    assert own_ms(view)["update/forward"] == 10


def test_totals_include_descendants():
    totals = {section.path: section.total_ns / MS for section in view_of(trainer().profile()).sections}
    assert totals == {
        "train": 20,
        "train/sample": 2,
        "train/update": 13,
        "train/update/forward": 10,
        "train/sleep": 4,
    }


def test_waits_and_sections_in_them_are_marked():
    program = Program()
    for _ in program.loop("train", range(3)):
        with program.section("receive", wait=True):
            program.work("decode", 2)
        program.work("learn", 2)
    steps = {
        section.path: (section.is_wait, section.category) for section in view_of(program.profile()).sections
    }
    assert steps["train/receive"] == steps["train/receive/decode"] == (True, "waiting")
    assert steps["train/learn"] == (False, "training")


def test_a_section_without_a_category_has_its_nearest_ancestors():
    program = Program()
    with program.section("replay buffer"):
        for _ in program.loop("fetch", range(3)):
            with program.section("x"):
                program.work("y", 1)
            with program.section("model"):
                program.work("z", 1)
    categories = {section.node.name: section.category for section in view_of(program.profile()).sections}
    assert categories == {"fetch": "data", "x": "data", "y": "data", "model": "model", "z": "model"}


def test_a_loops_own_time_is_what_the_program_does_between_its_sections_whatever_the_loop_is_called():
    program = Program()
    for _ in program.loop("env", range(3)):
        program.work("env.step", 1)
        program.work("x", 2)
        program.take(5)
    view = view_of(program.profile())
    assert {section.node.name: section.category for section in view.sections} == {
        "env": None,
        "env.step": "environment",
        "x": None,
    }


def test_recorded_durations_are_concurrent():
    program = Program()
    for _ in program.loop("control", range(4)):
        program.work("act", 5)
        program.record_duration("server", 0.030)
    view = view_of(program.profile())
    (server,) = (section for section in view.sections if section.path == "control/server")
    assert (server.self_ns, server.concurrent_ns, server.is_parallel) == (0, 30 * MS, True)
    assert own_ms(view) == {"act": 5}


def test_sections_of_another_thread_are_concurrent():
    program = Program()

    def load():
        program.work("load", 7)

    for _ in program.loop("train", range(4)):
        with program.section("fetch"):
            thread = threading.Thread(target=load)
            thread.start()
            thread.join()
        program.work("learn", 5)
    view = view_of(program.profile())
    (load_step,) = (section for section in view.sections if section.node.name == "load")
    assert load_step.is_parallel
    assert load_step.self_ns == 0
    assert load_step.concurrent_ns == 7 * MS
    assert own_ms(view) == {"fetch": 7, "learn": 5}


def test_a_loop_in_a_loop_has_steps_of_its_own_and_is_one_of_the_outers():
    program = Program()
    for _ in program.loop("episode", range(2)):
        program.work("reset", 10)
        for _ in program.loop("step", range(5)):
            program.work("env", 3)
            program.work("policy", 1)
    context = Context(program.profile())
    outer, inner = context.loops
    assert own_ms(outer) == {"reset": 10, "step": 20}
    assert [section.is_loop for section in outer.sections] == [False, False, True]
    assert own_ms(inner) == {"env": 3, "policy": 1}


def test_without_a_loop_the_run_is_the_only_view():
    program = Program()
    with program.section("load"):
        program.take(30)
        program.work("parse", 12)
    program.take(8)
    view = view_of(program.profile())
    assert (view.loop, view.path, view.ticks, view.tick_ns) == (None, "", 1, 50 * MS)
    assert own_ms(view) == {"": 8, "load": 30, "load/parse": 12}


def test_a_loop_without_a_complete_tick_has_no_view():
    program = Program()
    for _ in program.loop("train", range(2)):
        program.work("learn", 5)
        break
    assert view_of(program.profile()).loop is None


def paced(name="sleep", body=None, *, work_ms=4, sleep_ms=6, **options):
    program = Program()
    for _ in program.loop("control", range(4), **options):
        with program.section(body) if body else nullcontext():
            program.work("act", work_ms)
            program.work(name, sleep_ms, wait=True)
    return view_of(program.profile())


@pytest.mark.parametrize("name", ["sleep", "time.sleep", "asyncio.sleep", "precise_sleep", "rate.sleep"])
@pytest.mark.parametrize("options", [{"hz": 100}, {}])
@pytest.mark.parametrize("body", [None, "step"])
def test_the_sleep_at_the_end_of_a_tick_is_slack_whoever_sleeps(name, options, body):
    assert paced(name, body, **options).slack_ns == 6 * MS


@pytest.mark.parametrize("name", ["Event.wait", "Condition.wait", "select.select"])
def test_a_wait_whose_time_is_over_is_slack_where_the_loop_itself_waits(name):
    assert paced(name, hz=100).slack_ns == paced(name).slack_ns == 6 * MS
    assert paced(name, "receive").slack_ns == 0
    assert paced("Queue.get").slack_ns == 0


def test_a_sleep_within_a_section_of_its_own_work_is_a_wait_and_no_slack():
    program = Program()
    for _ in program.loop("control", range(4), hz=100):
        with program.section("read sensor"):
            program.work("sleep", 2, wait=True)
        program.work("act", 5)
    view = view_of(program.profile())
    assert (view.slack_ns, view.busy_ns) == (0, 5 * MS)


def test_a_loop_that_holds_its_rate_gains_headroom_and_no_shorter_tick():
    for view in (paced(hz=100), paced()):
        saving = view.saving(3 * MS)
        assert (saving.ns, saving.headroom_ns, saving.limited_by_rate) == (0, 3 * MS, True)
    late = paced(work_ms=12, sleep_ms=1, hz=100).saving(5 * MS)
    assert (late.ns, late.limited_by_rate) == (3 * MS, True)  # 13 ms where 10 would do


def test_nothing_saves_more_than_the_work_of_a_tick():
    assert paced(hz=100).saving(50 * MS).removed_ns == 4 * MS
    assert view_of(trained(5, 5)).saving(50 * MS).ns == 10 * MS


def trained(*sections_ms):
    program = Program()
    for _ in program.loop("train", range(10)):
        for number, ms in enumerate(sections_ms):
            program.work(f"section {number}", ms)
    return program.profile()


def with_loops(*loops):
    """A profile with loops (name, milliseconds of work per tick, ticks, missed ticks), one after the other."""
    program = Program()
    for name, ms, ticks, _ in loops:
        for _ in program.loop(name, range(ticks), hz=1000 / ms):
            program.work("work", ms)
    profile = program.profile()
    missed = {name: number for name, _, _, number in loops}
    changed = {
        path: replace(loop, missed=missed[loop.name], longest_miss_run=missed[loop.name])
        for path, loop in profile.loops.items()
    }
    return replace(profile, loops=changed)


def test_a_loop_that_misses_ticks_comes_first_and_is_never_hidden():
    profile = with_loops(("wrist", 20, 100, 0), ("control", 2, 100, 16), ("front", 20, 100, 0))
    context = Context(profile)
    assert [view.name for view in context.loops] == ["control", "front", "wrist"]
    assert [view.name for view in context.main_loops] == ["control", "front"]
    context = Context(with_loops(("a", 2, 100, 20), ("b", 2, 100, 20), ("c", 2, 100, 20), ("d", 90, 100, 0)))
    assert [view.name for view in context.main_loops] == ["a", "b", "c"]


def test_a_loop_that_waits_and_misses_its_rate_comes_first():
    program = Program()
    for name, hz in (("camera", 100), ("follow", 100), ("held", 50)):
        for _ in program.loop(name, range(50), hz=hz):
            program.work("work", 9 if name == "camera" else 1)
            if name != "camera":
                program.work("Queue.put", 19, wait=True)
    context = Context(program.profile())
    assert [(view.name, view.misses, view.lags, view.fails) for view in context.loops] == [
        ("follow", False, True, True),
        ("camera", False, False, False),
        ("held", False, False, False),
    ]
    assert [view.name for view in context.main_loops] == ["follow", "camera"]
    follow = context.main_loops[0]
    assert follow.saving(19 * MS).ns == 10 * MS  # it would hold its rate


def test_equally_busy_loops_keep_their_order_from_run_to_run():
    for wrist, front in ((20, 21), (21, 20)):
        profile = with_loops(("wrist", wrist, 100, 0), ("front", front, 100, 0), ("slow", 90, 100, 0))
        assert [view.name for view in Context(profile).loops] == ["slow", "front", "wrist"]


def test_one_missed_tick_in_a_thousand_is_ignored():
    (view, _) = Context(with_loops(("a", 2, 1000, 1), ("b", 9, 1000, 0))).loops
    assert (view.name, view.misses) == ("b", False)


def test_of_a_subtraction_that_leaves_nothing_but_rounding_no_rate_is_known():
    assert Saving(1e9, 1e9, 1e9 - 1e-3).free_hz is None
    assert Saving(0.0, 0.0, 0.0).hz is None


def test_an_empty_profile_has_no_views():
    assert Context(Profile.empty()).loops == []


@pytest.mark.slow
@settings(max_examples=60)
@given(profiles())
def test_own_times_waits_and_what_ticktree_cost_are_the_tick_to_the_last(profile):
    for view in Context(profile).loops:
        parts = [section.self_ns for section in view.sections] + [
            section.recorder_ns for section in view.sections
        ]
        assert min(parts) >= 0
        assert sum(parts) == pytest.approx(view.tick_ns, rel=1e-9)
        assert all(section.concurrent_ns >= 0 for section in view.sections)
        assert len({section.path for section in view.sections}) == len(view.sections)
        assert 0 <= view.slack_ns <= view.tick_ns * (1 + 1e-9)
        assert -1e-6 * view.tick_ns <= view.busy_ns <= view.tick_ns


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
    view = view_of(program.profile())
    steps = {section.path: section for section in view.sections}
    assert [steps[path].has_sections for path in ("train/update", "train/ask")] == [False, True]
    assert steps["train"].has_sections
    assert not steps["train/ask/server@remote"].has_sections


@pytest.mark.parametrize("episodes", [4, 40])
def test_the_warm_up_of_an_inner_loop_is_in_the_outer_ticks(episodes):
    """Its first call compiles: not of 4 episodes, but of the steps a part of the first is set aside."""
    recorder = ticktree.Recorder(virtual_clock=True)
    for episode in recorder.loop("episode", range(episodes)):
        for step in recorder.loop("step", range(6)):
            with recorder.section("act"):
                recorder.advance((10 if episode or step else 300) * MS)
        if episode == 20:
            for batch in recorder.loop("evaluate", range(20)):
                recorder.advance((2 if batch else 200) * MS)
    recorder.disable()
    profile = recorder.snapshot()
    context = Context(profile)
    episode = context.view_of("episode")
    step = profile.loops["episode/step"]
    assert step.warmup_ticks > 0
    assert "episode" not in own_ms(episode)
    assert step.stats.max_ns == 10 * MS
    if episodes > 20:
        evaluate = profile.loops["episode/evaluate"]
        assert (evaluate.warmup_ticks, evaluate.stats.count) == (0, 20)
