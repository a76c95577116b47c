"""Loops in coroutines: `async for` paces without blocking, and records the same as `for`."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect

import pytest

import ticktree
from support.recorder.queries import counts

MS = 1_000_000


async def play(recorder, durations, **options):
    starts = []
    async for index in recorder.loop("loop", range(len(durations)), **options):
        starts.append(recorder.ticks)
        recorder.stage("act")
        recorder.advance(durations[index])
    return starts


def play_plain(recorder, durations, **options):
    starts = []
    for index in recorder.loop("loop", range(len(durations)), **options):
        starts.append(recorder.ticks)
        recorder.stage("act")
        recorder.advance(durations[index])
    return starts


def account(loop):
    """Everything about a loop but what the operating system did meanwhile."""
    fields = {field.name: getattr(loop, field.name) for field in dataclasses.fields(loop)}
    del fields["causes"], fields["missed_causes"]
    return {**fields, "worst": [(tick.tick, tick.duration_ns, tick.breakdown) for tick in loop.worst]}


@pytest.mark.parametrize(
    "options",
    [
        {"hz": 100, "pace": True},
        {"hz": 30, "pace": "catch up"},
        {"hz": 100},
        {},
        {"hz": 100, "pace": True, "warmup": 2},
    ],
    ids=str,
)
def test_ticks_budgets_and_lateness_are_those_of_a_plain_loop(options):
    durations = [4 * MS, 12 * MS, 1 * MS, 31 * MS, 9 * MS, 2 * MS, 40 * MS, 3 * MS]
    profiles, starts = [], []
    for plays in (play_plain, lambda *args, **kwargs: asyncio.run(play(*args, **kwargs))):
        recorder = ticktree.Recorder(virtual_clock=True)
        starts.append(plays(recorder, durations, **options))
        profiles.append(recorder.snapshot())
        recorder.disable()
    plain, waited = profiles
    assert starts[0] == starts[1]
    assert account(waited.loops["loop"]) == account(plain.loops["loop"])
    assert (waited.loops["loop"].missed > 0) == ("hz" in options)
    assert {path: node.stats for path, _, node in waited.root.walk()} == {
        path: node.stats for path, _, node in plain.root.walk()
    }


def test_an_endless_loop_yields_its_ticks_and_a_break_leaves_the_last_one_incomplete(recorder):
    async def control():
        async for tick in recorder.loop("control", hz=100, pace=True):
            recorder.advance(MS)
            tick.origin(recorder.ticks / 1e9)
            if tick == 5:
                break

    asyncio.run(control())
    loop = recorder.snapshot().loops["control"]
    assert (loop.ticks, loop.incomplete) == (5, 1)


def test_other_tasks_run_while_it_sleeps_and_where_it_is_late(recorder):
    order = []

    async def other():
        while True:
            order.append("other")
            await asyncio.sleep(0)

    async def main():
        task = asyncio.create_task(other())
        async for tick in recorder.loop("control", range(4), hz=100, pace=True):
            order.append(tick)
            recorder.advance(25 * MS)  # every tick is late
        task.cancel()

    asyncio.run(main())
    for early, late in ((0, 1), (1, 2), (2, 3)):
        assert "other" in order[order.index(early) : order.index(late)]


def test_a_task_cancelled_in_its_sleep_ends_its_tick():
    recorder = ticktree.Recorder()

    async def main():
        async def control():
            async for _ in recorder.loop("control", hz=0.001, pace=True):
                pass

        task = asyncio.create_task(control())
        for _ in range(5):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with recorder.section("after"):
            pass

    asyncio.run(main())
    profile = recorder.snapshot()
    recorder.disable()
    assert (profile.loops["control"].ticks, profile.loops["control"].incomplete) == (0, 1)
    assert {path: node.count for path, _, node in profile.root.walk() if path}["after"] == 1
    assert profile.losses == {}


def test_it_holds_its_rate_on_a_real_clock():
    recorder = ticktree.Recorder()

    async def main():
        return [tick async for tick in recorder.loop("control", range(6), hz=100, pace=True)]

    assert asyncio.run(main()) == list(range(6))
    profile = recorder.snapshot()
    recorder.disable()
    assert profile.root.at("control").total_ns >= 50 * MS
    assert profile.root.at("control/sleep").wait


def test_a_plain_for_that_holds_its_rate_is_refused_in_a_coroutine(recorder):
    async def control():
        for _ in recorder.loop("control", range(3), hz=100, pace=True):
            pass

    async def generating():
        for tick in recorder.loop("control", range(3), hz=100, pace=True):
            yield tick

    async def main():
        await control()

    async def other():
        return [tick async for tick in generating()]

    for run in (main, other):
        with pytest.raises(RuntimeError, match=r"`for` over loop\('control', pace=") as caught:
            asyncio.run(run())
        assert str(caught.value).endswith("write `async for tick in loop('control', ...)`")
    assert counts(recorder) == {}


def test_plain_code_below_an_event_loop_may_block_as_in_a_cell_of_a_notebook(recorder):
    """A notebook's kernel runs a cell as plain code in a task of its event loop."""
    cell = compile("for tick in recorder.loop('cell', range(3), hz=100, pace=True): pass", "cell", "exec")

    async def kernel():
        exec(cell, {"recorder": recorder})

    asyncio.run(kernel())
    assert counts(recorder)["cell"] == 3


def test_a_cell_that_awaits_is_a_coroutine(recorder):
    source = "async for tick in recorder.loop('cell', range(3), hz=100, pace=True): pass"
    code = compile(source, "cell", "exec", flags=0x2000)  # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    assert code.co_flags & inspect.CO_COROUTINE
    asyncio.run(eval(code, {"recorder": recorder}))
    assert counts(recorder)["cell"] == 3


def test_a_loop_without_pace_is_iterated_in_a_coroutine_as_before(recorder):
    async def main():
        return list(recorder.loop("train", range(3), hz=100))

    assert asyncio.run(main()) == [0, 1, 2]
