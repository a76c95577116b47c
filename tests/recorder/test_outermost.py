"""Functions of which only the outermost call on a thread is recorded, and ticks of loops that nobody marked."""

from __future__ import annotations

import asyncio
import os

import pytest

import ticktree
from ticktree.recorder import Layer, OutermostFunction, end_unmarked, is_inside, tick_unmarked

NO_SITE = ("", 0, "")


@pytest.fixture
def recorder():
    recorder = ticktree.Recorder(virtual_clock=True)
    yield recorder
    recorder.disable()


def paths(recorder):
    profile = recorder.snapshot()
    profile.check()
    return {path: node.count for path, _, node in profile.root.walk() if path}


def test_of_calls_that_wrap_each_other_the_outermost_is_a_row_whatever_lies_between(recorder):
    layer, section = Layer(), recorder.timed_section("call", NO_SITE)

    def inner(depth):
        with recorder.section("between"):
            return depth if depth == 3 else outer(depth + 1)

    outer = OutermostFunction(inner, section, layer)
    assert outer(0) == 3
    assert outer(3) == 3
    assert sum(count for path, count in paths(recorder).items() if path.endswith("call")) == 2


def test_calls_of_two_layers_are_rows_of_each_other(recorder):
    one = OutermostFunction(lambda: other(), recorder.timed_section("one", NO_SITE), Layer())
    other = OutermostFunction(lambda: 5, recorder.timed_section("other", NO_SITE), Layer())
    assert one() == 5
    assert paths(recorder) == {"one": 1, "one/other": 1}


def test_layers_that_are_given_up_make_room_for_others(recorder):
    for _ in range(200):
        layer, section = Layer(), recorder.timed_section("call", NO_SITE)
        inner = OutermostFunction(int, section, layer)
        assert OutermostFunction(lambda inner=inner: inner("3"), section, layer)() == 3
    assert paths(recorder) == {"call": 200}


def test_what_comes_before_is_called_once_and_its_mistakes_are_nobodys(recorder):
    seen = []

    def before(first):
        seen.append(first)
        raise ValueError("ours")

    layer, section = Layer(), recorder.timed_section("call", NO_SITE)
    inner = OutermostFunction(lambda first: first, section, layer, before)
    outer = OutermostFunction(inner, section, layer, before)
    assert outer("a") == "a"
    with pytest.raises(TypeError):
        outer()
    recorder.disable()
    assert outer("b") == "b"
    assert seen == ["a"]


def test_an_exception_leaves_the_layer(recorder):
    call = OutermostFunction(int, recorder.timed_section("call", NO_SITE), Layer())
    for _ in range(2):
        with pytest.raises(ValueError):
            call("x")
    assert paths(recorder) == {"call": 2}


def test_a_child_that_was_forked_inside_is_not_inside(recorder):
    layer, section = Layer(), recorder.timed_section("call", NO_SITE)
    inner = OutermostFunction(lambda: 1, section, layer)

    def fork():
        child = os.fork()
        if child:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        status = 1
        try:
            inner()
            status = (
                0
                if sum(count for path, count in paths(recorder).items() if path.endswith("call")) == 1
                else 2
            )
        finally:
            os._exit(status)

    assert OutermostFunction(fork, section, layer)() == 0


def test_unmarked_ticks_are_where_nothing_else_is_open(recorder):
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


def test_what_the_program_marks_ends_them_for_good(recorder):
    loop = recorder.timed_section("env", NO_SITE)
    assert tick_unmarked(loop)
    with recorder.section("mine"):
        assert not tick_unmarked(loop)
    assert not tick_unmarked(loop)
    assert paths(recorder) == {"env": 0, "mine": 1}


def test_unmarked_ticks_of_tasks_do_not_stand_between_their_sections(recorder):
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
    found = paths(recorder)
    assert found["env/rows"] == 6
    assert not recorder.snapshot().losses
