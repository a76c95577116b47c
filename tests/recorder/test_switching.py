from __future__ import annotations

import asyncio
import threading
import time

import pytest

import ticktree
from support.recorder.queries import counts, losses, node, times


def test_disabling_leaves_what_is_open_without_counting_it(recorder):
    with recorder.section("outer"):
        recorder.advance(3)
        with recorder.section("inner"):
            recorder.advance(2)
            recorder.disable()
            recorder.advance(100)
    assert counts(recorder) == {"outer": 0, "outer/inner": 0}
    assert times(recorder) == {"outer": 5, "outer/inner": 2}
    assert recorder.snapshot().root.open is None
    assert losses(recorder) == {}


def test_nothing_is_recorded_while_disabled(recorder):
    recorder.disable()
    with recorder.section("x"):
        recorder.advance(5)
    recorder.stage("x")
    recorder.tick("x")
    recorder.record_duration("x", 1.0)
    recorder.gauge("x", 1.0)
    recorder.gauge("x", float("nan"))
    for _ in recorder.loop("x", range(3)):
        pass
    assert recorder.timed(lambda: 7)() == 7
    profile = recorder.snapshot()
    assert counts(recorder) == {}
    assert (profile.gauges, profile.loops, profile.losses) == ({}, {}, {})


def test_enabling_again_continues_the_record(recorder):
    for _ in range(3):
        with recorder.section("x"):
            recorder.advance(2)
        recorder.disable()
        recorder.advance(100)
        recorder.enable()
    assert counts(recorder) == {"x": 3}
    assert recorder.snapshot().root.total_ns == 6
    assert recorder.snapshot().metadata["times_enabled"] == {4}


def test_enabling_twice_is_enabling_once(recorder):
    recorder.enable()
    with recorder.section("x"):
        recorder.enable()
        recorder.advance(1)
    assert counts(recorder) == {"x": 1}
    assert recorder.snapshot().root.open.count == 1


def test_a_leave_after_disable_and_enable_is_ignored_and_counted(recorder):
    with recorder.section("old"):
        recorder.advance(1)
        recorder.disable()
        recorder.enable()
        with recorder.section("new"):
            recorder.advance(2)
    assert counts(recorder) == {"old": 0, "new": 1}
    assert losses(recorder) == {"unmatched_leaves": 1}


def test_recording_may_be_enabled_by_a_thread_that_ends(recorder):
    def switch():
        recorder.disable()
        recorder.enable()
        recorder.advance(3)
        with recorder.section("there"):
            recorder.advance(2)

    with recorder.section("outer"):
        recorder.advance(10)
        thread = threading.Thread(target=switch)
        thread.start()
        thread.join()
        recorder.advance(100)
    with recorder.section("here"):
        recorder.advance(1)
    profile = recorder.snapshot()
    assert profile.root.total_ns == 116
    assert profile.root.open.count == 1
    assert profile.root.at("outer").self_ns == 10
    assert node(recorder, "here").count == 1


def test_sections_in_tasks_are_left_by_disabling_too(recorder):
    async def task(recorder):
        with recorder.section("task"):
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def main():
        with recorder.section("main"):
            tasks = [asyncio.create_task(task(recorder)) for _ in range(3)]
            await asyncio.sleep(0)
            recorder.advance(1)
            recorder.disable()
            await asyncio.gather(*tasks)

    asyncio.run(main())
    assert counts(recorder) == {"main": 0, "main/task": 0}
    assert node(recorder, "main/task").open is None


def test_disabling_inside_a_loop_ends_its_tick_and_the_loop_continues(recorder):
    recorders = []
    for tick in recorder.loop("loop", range(4)):
        recorders.append(tick)
        recorder.advance(1)
        if tick == 1:
            recorder.disable()
        if tick == 2:
            recorder.enable()
    assert recorders == [0, 1, 2, 3]
    loop = recorder.snapshot().loops["loop"]
    assert (loop.ticks, loop.incomplete) == (2, 1)


def test_reset_forgets_and_what_is_open_begins_now(recorder):
    with recorder.section("outer"):
        recorder.advance(10)
        with recorder.section("inner"):
            recorder.advance(20)
            recorder.reset()
            recorder.advance(3)
        recorder.advance(4)
    assert counts(recorder) == {"outer": 1, "outer/inner": 1}
    assert times(recorder) == {"outer": 7, "outer/inner": 3}
    assert recorder.snapshot().root.total_ns == 7


def test_reset_forgets_everything(recorder):
    for _ in recorder.loop("loop", range(20), hz=100, warmup=3):
        recorder.advance(20_000_000)
        with recorder.section("x", cpu=True, memory=True) as section:
            section.work(items=3)
    recorder.record_duration("r", 1.0)
    recorder.gauge("g", 5.0)
    recorder.gauge("g", -5.0)
    recorder.section("unmatched").__exit__(None, None, None)
    recorder.reset()
    profile = recorder.snapshot()
    profile.check()
    assert profile.root.total_ns == 0
    assert profile.losses == {}
    assert profile.gauges == {}
    assert not profile.root.children
    assert not profile.loops
    with recorder.section("loop"), recorder.section("x"):
        pass
    recorder.record_duration("r", 1.0)
    for _, _, item in recorder.snapshot().root.walk():
        assert (item.work, item.cpu, item.memory, item.warmup) == (None, None, None, None)
        assert sum(item.windows.counts.values()) == item.count < 2
    loop = recorder.snapshot().loops["loop"]
    assert (loop.ticks, loop.missed, loop.incomplete, loop.worst, loop.first_ticks) == (1, 0, 0, (), None)


def test_a_collection_before_a_reset_is_no_cause_of_a_tick_after_it(recorder):
    for tick in recorder.loop("loop", range(4), hz=1e9, warmup=0):
        recorder.advance(1)
        recorder.gc_pause(True)
        recorder.advance(10)
        recorder.gc_pause(False)
        if tick == 1:
            recorder.reset()
            recorder.advance(2)
    loop = recorder.snapshot().loops["loop"]
    assert [worst.causes["gc_ns"] for worst in loop.worst] == [10, 10, 0]


def test_cpu_time_before_a_reset_is_in_no_call_after_it():
    real = ticktree.Recorder()
    with real.section("work", cpu=True):
        until = time.thread_time() + 0.05
        while time.thread_time() < until:
            pass
        real.reset()
    assert node(real, "work").cpu is None
    with real.section("work", cpu=True):
        pass
    assert node(real, "work").cpu.samples == 1
    real.disable()


def test_reset_while_disabled_forgets_too(recorder):
    with recorder.section("x"):
        recorder.advance(5)
    recorder.disable()
    recorder.reset()
    assert recorder.snapshot().root.total_ns == 0
    recorder.enable()
    with recorder.section("x"):
        recorder.advance(1)
    assert counts(recorder) == {"x": 1}


def test_windows_after_a_reset_hold_what_came_after_it(recorder):
    recorder.advance(3_000_000_000)
    with recorder.section("x"):
        recorder.advance(1)
    recorder.reset()
    with recorder.section("x"):
        recorder.advance(1)
    assert node(recorder, "x").windows.count == 1


def test_a_snapshot_does_not_disturb_what_is_open(recorder):
    with recorder.section("outer"):
        recorder.advance(5)
        before = recorder.snapshot()
        assert before.root.at("outer").open.age_ns == 5
        assert before.root.at("outer").count == 0
        recorder.advance(5)
    assert node(recorder, "outer").stats.sum_ns == 10
    assert before.root.at("outer").total_ns == 5


def test_two_recorders_know_nothing_of_each_other(recorder):
    other = ticktree.Recorder(virtual_clock=True)
    with recorder.section("mine"):
        recorder.advance(1)
        with other.section("other"):
            other.advance(10)
            with recorder.section("inner"):
                recorder.advance(2)
    assert times(recorder) == {"mine": 3, "mine/inner": 2}
    assert times(other) == {"other": 10}
    other.disable()


def test_a_recorder_that_is_dropped_gives_its_memory_back():
    import gc
    import weakref

    def use():
        recorder = ticktree.Recorder(virtual_clock=True)

        @recorder.timed
        def function():
            pass

        with recorder.section("x"):
            function()
        recorder.disable()
        return weakref.ref(recorder)

    gone = [use() for _ in range(3)]
    gc.collect()
    assert [recorder() for recorder in gone] == [None] * 3


@pytest.mark.parametrize("wrong", [{"virtual_clock": True, "speed": 2}, {"clock": 1}])
def test_a_recorder_takes_no_unknown_option(wrong):
    with pytest.raises(TypeError):
        ticktree.Recorder(**wrong)
