from __future__ import annotations

import contextvars
import gc
import threading
import weakref
from contextvars import copy_context

from support.recorder.queries import counts, losses, node, times


def test_a_section_in_context_run_is_a_child_of_the_section_around_it(recorder):
    def inside():
        with recorder.section("inner"):
            recorder.advance(3)

    with recorder.section("outer"):
        copy_context().run(inside)
        recorder.advance(1)
    assert times(recorder) == {"outer": 4, "outer/inner": 3}
    assert node(recorder, "outer").self_ns == 1
    assert not node(recorder, "outer").parallel


def test_context_run_inside_context_run_is_a_child_of_the_inner_one(recorder):
    def down(levels):
        recorder.record_duration("seen", 0)
        with recorder.section("level"):
            recorder.advance(1)
            if levels:
                copy_context().run(down, levels - 1)

    down(3)
    assert times(recorder)["level/level/level/level"] == 1
    assert times(recorder)["level"] == 4
    assert counts(recorder)["level/level/level/seen"] == 1


def test_the_same_context_entered_again_is_a_child_of_where_it_is_entered(recorder):
    def inside():
        with recorder.section("inner"):
            recorder.advance(1)

    context = copy_context()
    for name in ("a", "b", "a"):
        with recorder.section(name):
            context.run(inside)
    assert counts(recorder) == {"a": 2, "a/inner": 2, "b": 1, "b/inner": 1}


def test_a_coroutine_driven_by_hand_is_a_child_of_its_driver(recorder):
    async def asleep(name):
        with recorder.section(name):
            recorder.advance(1)
            await Pause()

    first, second = asleep("first"), asleep("second")
    contexts = copy_context(), copy_context()
    with recorder.section("outer"):
        contexts[0].run(first.send, None)
        contexts[1].run(second.send, None)
    assert counts(recorder) == {"outer": 1, "outer/first": 0, "outer/second": 0}
    for context, coroutine in zip(contexts, (first, second), strict=True):
        context.run(coroutine.close)
    assert counts(recorder) == {"outer": 1, "outer/first": 1, "outer/second": 1}


def test_a_sleeping_coroutine_is_not_the_parent_of_a_later_context_run(recorder):
    async def asleep():
        with recorder.section("asleep"):
            await Pause()

    def inside():
        with recorder.section("inner"):
            recorder.advance(2)

    def outside(coroutine, context):
        with recorder.section("outer"):
            context.run(coroutine.send, None)
            copy_context().run(inside)

    coroutine, context = asleep(), copy_context()
    with recorder.section("main"):
        copy_context().run(outside, coroutine, context)
    assert times(recorder)["main/outer/inner"] == 2
    context.run(coroutine.close)


def test_a_context_is_released_when_its_last_section_is_left(recorder):
    class Mark:
        pass

    variable = contextvars.ContextVar("variable")

    def inside():
        mark = Mark()
        variable.set(mark)
        with recorder.section("inner"):
            pass
        return weakref.ref(mark)

    marks = [copy_context().run(inside) for _ in range(5)]
    gc.collect()
    assert [mark() for mark in marks] == [None] * 5


def test_a_context_that_ends_in_another_thread_is_counted_not_mixed_up(recorder):
    section = recorder.section("shared")
    context = copy_context()
    context.run(section.__enter__)
    thread = threading.Thread(target=lambda: context.run(section.__exit__, None, None, None))
    thread.start()
    thread.join()
    assert losses(recorder) == {"unmatched_leaves": 1}
    assert counts(recorder) == {"shared": 0}
    context.run(section.__exit__, None, None, None)
    assert counts(recorder) == {"shared": 1}


def test_a_section_open_before_the_thread_has_a_context_is_found_again(recorder):
    """A thread's context is NULL until some library first needs one."""

    def work():
        with recorder.section("outer"):
            variable = contextvars.ContextVar("variable")
            variable.set(1)
            with recorder.section("inner"):
                recorder.advance(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert counts(recorder) == {"outer": 1, "outer/inner": 1}
    assert losses(recorder) == {}


class Pause:
    """Suspends a coroutine once."""

    def __await__(self):
        yield
