from __future__ import annotations

import pytest

from support.recorder.queries import counts, losses, node, times


def test_a_stage_ends_the_stage_before_it(recorder):
    with recorder.section("step"):
        recorder.stage("observe")
        recorder.advance(3)
        recorder.stage("act")
        recorder.advance(4)
    assert times(recorder) == {"step": 7, "step/observe": 3, "step/act": 4}
    assert counts(recorder) == {"step": 1, "step/observe": 1, "step/act": 1}
    assert losses(recorder) == {}


def test_sections_inside_a_stage_nest_under_it(recorder):
    with recorder.section("step"):
        recorder.stage("observe")
        with recorder.section("camera"):
            recorder.advance(5)
        recorder.stage("act")
    assert times(recorder) == {"step": 5, "step/observe": 5, "step/observe/camera": 5, "step/act": 0}


def test_the_section_around_ends_the_last_stage_as_a_completed_call(recorder):
    for _ in range(3):
        with recorder.section("step"):
            recorder.stage("act")
            recorder.advance(2)
    assert counts(recorder)["step/act"] == 3
    assert node(recorder, "step/act").stats.sum_ns == 6


def test_an_exception_ends_the_stage_too(recorder):
    def fail():
        recorder.stage("act")
        raise ValueError

    with pytest.raises(ValueError), recorder.section("step"):
        fail()
    assert counts(recorder) == {"step": 1, "step/act": 1}
    assert losses(recorder) == {}


def test_a_stage_may_have_the_name_of_the_section_around_it(recorder):
    with recorder.section("act"):
        recorder.stage("act")
        recorder.advance(2)
    with recorder.section("next"):
        recorder.advance(1)
    assert counts(recorder) == {"act": 1, "act/act": 1, "next": 1}
    assert times(recorder) == {"act": 2, "act/act": 2, "next": 1}


def test_a_tick_may_have_the_name_of_the_section_around_it(recorder):
    with recorder.section("env"):
        recorder.tick("env")
        recorder.advance(2)
        recorder.tick("env")
        recorder.advance(3)
    assert counts(recorder) == {"env": 1, "env/env": 1}
    assert node(recorder, "env").open is None


def test_a_stage_of_a_called_function_ends_the_callers_stage(recorder):
    def act():
        recorder.stage("act")
        recorder.advance(2)

    with recorder.section("step"):
        recorder.stage("observe")
        recorder.advance(1)
        act()
        recorder.advance(1)
    assert times(recorder) == {"step": 4, "step/observe": 1, "step/act": 3}


def test_stages_without_a_section_around_them_follow_one_another(recorder):
    for name in ("load", "train", "save"):
        recorder.stage(name)
        recorder.advance(1)
    assert counts(recorder) == {"load": 1, "train": 1, "save": 0}
    assert node(recorder, "save").open.age_ns == 1


def test_stages_of_two_tasks_do_not_end_each_other(recorder):
    import asyncio

    async def step(name):
        with recorder.section(name):
            recorder.stage("first")
            await asyncio.sleep(0)
            recorder.stage("second")
            await asyncio.sleep(0)

    async def main():
        await asyncio.gather(step("a"), step("b"))

    asyncio.run(main())
    stages = ("first", "second")
    assert counts(recorder) == {"a": 1, "b": 1, **{f"{task}/{stage}": 1 for task in "ab" for stage in stages}}


def test_a_stage_at_the_top_of_a_task_is_ended_once_the_task_is_gone(recorder):
    import asyncio

    async def handle():
        recorder.stage("parse")
        await asyncio.sleep(0)
        recorder.stage("reply")

    async def main():
        for _ in range(300):
            await asyncio.create_task(handle())

    asyncio.run(main())
    reply = node(recorder, "reply")
    assert reply.count + reply.open.count == 300
    assert reply.open.count < 50  # no task is seen ending: they are looked for now and then
    assert losses(recorder) == {}


def test_a_stage_at_the_top_of_a_thread_ends_with_the_thread(recorder):
    import threading

    def work():
        recorder.stage("load")
        recorder.advance(2)

    for _ in range(3):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert losses(recorder) == {}
