"""Sleeps as waits, full collections as rows."""

from __future__ import annotations

import gc
import pickle
import threading
import time

import pytest

import ticktree
from ticktree.analysis.categories import Categories
from ticktree.instruments import pauses

SLEEP = time.sleep
MS = 1_000_000


@pytest.fixture
def recorder():
    recorder = ticktree.Recorder()
    pauses.PACING.install(recorder)
    pauses.GC.install(recorder)
    yield recorder
    pauses.PACING.uninstall()
    pauses.GC.uninstall()
    recorder.disable()


def test_a_sleep_is_a_wait_and_no_work_of_its_tick(recorder):
    for _ in recorder.loop("control", range(3), hz=100):
        time.sleep(0.012)  # longer than a tick may be; the work is next to nothing
    profile = recorder.snapshot()
    profile.check()
    node = profile.root.at("control/time.sleep")
    assert node.wait
    assert node.count == 3
    assert node.total_ns >= 36 * MS
    assert profile.loops["control"].stats.min_ns >= 12 * MS
    assert profile.loops["control"].waited_ns >= 36 * MS
    assert Categories({}).of(node.name) == "waiting"


def test_a_sleep_inside_a_wait_is_part_of_it(recorder):
    with recorder.section("mine", wait=True):
        time.sleep(0.001)
    assert not recorder.snapshot().root.at("mine").children


def test_sleep_is_as_it_was_otherwise(recorder):
    assert time.sleep is not SLEEP
    assert (time.sleep.__name__, time.sleep.__doc__, repr(time.sleep)) == (
        "sleep",
        SLEEP.__doc__,
        repr(SLEEP),
    )
    assert pickle.loads(pickle.dumps(time.sleep)) is time.sleep
    for wrong in ((), ("a",), (-1,), (1, 2)):
        with pytest.raises((TypeError, ValueError)) as ours:
            time.sleep(*wrong)
        with pytest.raises((TypeError, ValueError)) as theirs:
            SLEEP(*wrong)
        assert (type(ours.value), str(ours.value)) == (type(theirs.value), str(theirs.value))
    with pytest.raises(TypeError):
        time.sleep(seconds=0)

    class Clock:
        pause = time.sleep  # of a function of C, no method

    assert Clock().pause(0) is None
    pauses.PACING.uninstall()
    assert time.sleep is SLEEP


def test_a_full_collection_is_a_row_below_what_it_interrupts(recorder):
    with recorder.section("learn"):
        gc.collect()
        gc.collect(0)
        gc.collect(1)
    profile = recorder.snapshot()
    profile.check()
    pause = profile.root.at("learn/gc pause")
    assert pause.count == 1
    assert not pause.wait
    assert Categories({}).of(pause.name) is None


@pytest.mark.slow
def test_where_nothing_is_open_a_collection_has_no_row(recorder):
    with recorder.section("before"):
        pass
    gc.collect()
    thread = threading.Thread(target=gc.collect)
    with recorder.section("main"):
        thread.start()
        thread.join()
    assert "gc pause" not in {node.name for _, _, node in recorder.snapshot().root.walk()}


@pytest.mark.slow
def test_what_a_collection_finalises_may_have_sections_of_its_own(recorder):
    class Cycle:
        def __init__(self):
            self.itself = self

        def __del__(self):
            with recorder.section("finalise"):
                pass

    gc.collect()
    with recorder.section("learn"):
        Cycle()
        gc.collect()
    profile = recorder.snapshot()
    profile.check()
    assert profile.root.at("learn/gc pause/finalise").count == 1
    assert not profile.losses


def test_the_collector_is_told_of_no_longer():
    before = list(gc.callbacks)
    recorder = ticktree.Recorder()
    with_hooks = list(gc.callbacks)
    pauses.GC.install(recorder)
    assert len(gc.callbacks) == len(with_hooks) + 1
    pauses.GC.uninstall()
    assert gc.callbacks == with_hooks
    recorder.disable()
    assert gc.callbacks == before


def test_a_sleep_in_a_tick_is_a_wait_by_default_and_one_in_a_section_is_the_sections_own(recorded):
    profile = recorded(
        """
        import asyncio, select
        class Rate:
            def sleep(self):
                time.sleep(0.005)
        async def telemetry():
            for _ in ticktree.loop("telemetry", range(3)):
                await asyncio.sleep(0.005)
        def main():
            time.sleep(0.005)
            for _ in ticktree.loop("control", range(3), hz=100):
                with ticktree.section("observe"):
                    time.sleep(0.005)
                Rate().sleep()
                select.select([], [], [], 0.005)
            asyncio.run(telemetry())
        """
    )
    root = profile.root
    for path in ("control/time.sleep", "control/select.select", "telemetry/asyncio.sleep"):
        node = root.at(path)
        assert (node.wait, node.count) == (True, 3), path
        assert node.total_ns >= 3 * 4_900_000, path
    assert "time.sleep" not in root.children
    assert not root.at("control/observe").children
    assert root.at("control").self_ns < root.at("control").total_ns / 2


def test_collections_are_recorded_by_default_and_sleeps_on_demand(recorded):
    program = """
        import gc
        def main():
            time.sleep(0.02)
            with ticktree.section("learn"):
                gc.collect()
        """
    profile = recorded(program)
    assert profile.root.at("learn/gc pause").count == 1
    assert "time.sleep" not in profile.root.children
    profile = recorded(program, "--instrument", "default,sleep")
    assert profile.root.at("time.sleep").wait
    assert profile.root.at("time.sleep").total_ns >= 20_000_000
    assert profile.root.at("learn/gc pause").count == 1
