"""Ticks of loops that the program does not mark."""

from __future__ import annotations

import asyncio
import threading
import weakref

from support.crashing_programs import counts
from ticktree.recorder import UnmarkedLoop, is_inside
from ticktree.recorder._native import end_unmarked, tick_unmarked

NO_SITE = ("", 0, "")


class Thing:
    """An object with methods."""


def test_unmarked_ticks_are_recorded_while_nothing_else_is_open(recorder):
    loop = recorder.timed_section("env", NO_SITE)
    assert tick_unmarked(loop)
    recorder.advance(5)
    assert is_inside(recorder)
    assert tick_unmarked(loop)
    instrument = recorder.timed_section("rows", NO_SITE)
    with instrument:
        assert not tick_unmarked(loop)
    recorder.advance(2)
    end_unmarked(loop)
    assert not is_inside(recorder)
    profile = recorder.snapshot()
    profile.check()
    assert (profile.loops["env"].ticks, profile.loops["env"].incomplete) == (1, 1)
    assert profile.root.at("env").total_ns == 7


def test_a_tick_that_begins_in_a_generator_lasts_until_the_next(recorder):
    loop = recorder.timed_section("env", NO_SITE)
    learn = recorder.timed_section("learn", NO_SITE)

    def steps():
        for _ in range(2):
            tick_unmarked(loop)
            recorder.advance(1)
            yield 1

    for _ in range(3):
        assert sum(steps()) == 2
        with learn:
            recorder.advance(10)
    tick_unmarked(loop)
    profile = recorder.snapshot()
    profile.check()
    assert profile.loops["env"].ticks == 6
    assert profile.root.at("env").total_ns == 3 * 12
    assert counts(recorder.snapshot()) == {"env": 6, "env/learn": 3}


def test_the_steps_of_a_threads_first_env_are_its_ticks(recorder):
    loop = UnmarkedLoop(recorder.timed_section("env", NO_SITE), lambda: True)
    env, other = Thing(), Thing()

    def step(*things):
        for env in things:
            loop.begins(env)
            recorder.advance(1)

    def ticks():
        profile = recorder.snapshot()
        profile.check()
        return sum(loop.ticks for path, loop in profile.loops.items() if path.endswith("env"))

    step(env, other, other, env)
    assert ticks() == 1  # the next one's has not ended
    for _ in range(3):  # each a thread of its own, though it may have the last one's number
        thread = threading.Thread(target=step, args=(other, other))
        thread.start()
        thread.join()
    assert ticks() == 4
    loop.is_over(other)  # of another thread
    assert is_inside(recorder)
    loop.is_over(env)
    assert not is_inside(recorder)
    step(other, other)
    assert ticks() == 5
    reference = weakref.ref(other)
    del other
    assert reference() is None
    step(env, env)
    assert ticks() == 7


def test_another_processs_loop_has_no_ticks(recorder):
    loop = UnmarkedLoop(recorder.timed_section("env", NO_SITE), lambda: False)
    env = Thing()
    loop.begins(env)
    loop.begins(env)
    assert not is_inside(recorder)


def test_a_section_of_the_program_ends_unmarked_ticks_for_good(recorder):
    loop = recorder.timed_section("env", NO_SITE)
    assert tick_unmarked(loop)
    with recorder.section("mine"):
        assert not tick_unmarked(loop)
    assert not tick_unmarked(loop)
    assert counts(recorder.snapshot()) == {"env": 0, "mine": 1}


def test_unmarked_ticks_of_tasks_do_not_come_between_their_sections(recorder):
    loop = recorder.timed_section("env", NO_SITE)
    rows = recorder.timed_section("rows", NO_SITE)

    async def work():
        for _ in range(3):
            tick_unmarked(loop)
            with rows:
                await asyncio.sleep(0)

    async def main():
        await asyncio.gather(work(), work())

    asyncio.run(main())
    call_counts = counts(recorder.snapshot())
    assert call_counts["env/rows"] == 6
    assert not recorder.snapshot().losses
