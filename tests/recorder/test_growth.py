"""Memory is bounded by the number of distinct nodes, not by the number of calls."""

from __future__ import annotations

import asyncio
import gc
import sys
import weakref
from contextlib import suppress
from contextvars import copy_context

import pytest

import ticktree
from ticktree.recorder._native import tick_unmarked
from ticktree.run.reading.image import Image


def by_name(recorder):
    with recorder.section("x"), recorder.section("y"):
        pass


def with_options(recorder):
    with recorder.section("waits", wait=True) as section:
        section.work(items=1, bytes=2.5)


def stages(recorder):
    with recorder.section("x"):
        recorder.stage("a")
        recorder.stage("b")


def loops(recorder):
    for tick in recorder.loop("loop", iter(range(5)), hz=100, warmup=2):
        recorder.advance(tick)
        if tick == 3:
            break


def boundaries(recorder):
    with recorder.section("x"):
        recorder.tick("env")
        recorder.tick("env", hz=20)


def values(recorder):
    recorder.record_duration("r", 1e-6)
    recorder.gauge("g", 3)
    recorder.record_duration("r", -1)
    recorder.gauge("g", float("nan"))
    with suppress(TypeError):
        recorder.record_duration("r", "bad")


def exceptions(recorder):
    try:
        with recorder.section("x"):
            raise KeyError
    except KeyError:
        pass


def generators(recorder):
    def generator():
        with recorder.section("generator"):
            yield
            yield

    sleepers = [generator() for _ in range(3)]
    for suspended in sleepers:
        next(suspended)
    with recorder.section("x"):
        next(sleepers[0])


def contexts(recorder):
    with recorder.section("x"):
        copy_context().run(by_name, recorder)


def out_of_order(recorder):
    outer, inner = recorder.section("outer"), recorder.section("inner")
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)


def switching(recorder):
    with recorder.section("x"):
        recorder.disable()
        recorder.enable()
    recorder.reset()


def tasks(recorder):
    async def task():
        with recorder.section("task"):
            await asyncio.sleep(0)

    async def main():
        await asyncio.gather(*(task() for _ in range(10)))

    asyncio.run(main())


def unmarked(recorder):
    tick_unmarked(recorder.timed_section("env", ("", 0, "")))


def with_a_device(recorder):
    with recorder.section("x", device="cpu"):
        pass


ACTS = pytest.mark.parametrize(
    "act",
    [
        *(by_name, with_options, stages, loops, boundaries, values, exceptions, generators, contexts),
        *(out_of_order, switching, tasks, unmarked, with_a_device),
    ],
)


@pytest.mark.slow
@ACTS
def test_doing_it_again_and_again_keeps_nothing(act):
    recorder = ticktree.Recorder(virtual_clock=True)
    times = 50 if act is tasks else 1000

    def many():
        for _ in range(times):
            act(recorder)
        gc.collect()
        return sys.getallocatedblocks(), Image(recorder.image()).header.used_bytes

    many()
    blocks, used = many()
    more_blocks, more_used = many()
    assert more_used == used
    assert more_blocks - blocks < max(times / 2, 300)  # caches that are still filling
    recorder.disable()


@ACTS
def test_a_recorder_that_nobody_holds_is_gone_whatever_it_did(act):
    recorder = ticktree.Recorder(virtual_clock=True)
    act(recorder)
    recorder.disable()
    reference = weakref.ref(recorder)
    del recorder
    gc.collect()
    assert reference() is None


@pytest.mark.slow
def test_timed_functions_and_snapshots_keep_nothing():
    recorder = ticktree.Recorder(virtual_clock=True)

    @recorder.timed("timed")
    def timed(*args, **kwargs):
        return args

    def many():
        for _ in range(1000):
            timed(1, a=2)
        for _ in range(20):
            recorder.snapshot()
        gc.collect()
        return sys.getallocatedblocks()

    many()
    blocks = many()
    assert many() - blocks < 400
    recorder.disable()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="resident memory is read from /proc")
def test_a_million_calls_take_no_more_memory_than_a_thousand(run_python):
    run_python(
        """
        import ticktree
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096
        recorder = ticktree.Recorder()
        def calls(number):
            for _ in range(number):
                with recorder.section("outer"), recorder.section("inner"):
                    pass
        calls(1000)
        before = resident()
        calls(1_000_000)
        assert resident() - before < 1 << 20, resident() - before
        recorder.disable()
        """
    )
