from __future__ import annotations

import asyncio
import gc

import pytest

from support.recorder.queries import counts, losses, node, times


def items(recorder, name="items", count=3):
    with recorder.section(name):
        for item in range(count):
            recorder.advance(1)
            yield item


def test_the_consumers_sections_are_no_children_of_the_suspended_generators(recorder):
    with recorder.section("consumer"):
        for _ in items(recorder):
            with recorder.section("use"):
                recorder.advance(10)
    assert times(recorder) == {"consumer": 33, "consumer/items": 33, "consumer/use": 30}
    assert counts(recorder) == {"consumer": 1, "consumer/items": 1, "consumer/use": 3}
    assert node(recorder, "consumer").parallel
    assert losses(recorder) == {}


def test_a_generators_sections_are_children_of_its_own_when_it_continues(recorder):
    def generator():
        with recorder.section("outer"):
            yield
            with recorder.section("inner"):
                recorder.advance(2)
            yield

    with recorder.section("consumer"):
        for _ in generator():
            with recorder.section("use"):
                recorder.advance(1)
    assert set(counts(recorder)) == {"consumer", "consumer/outer", "consumer/outer/inner", "consumer/use"}


def test_two_generators_taken_in_turn_do_not_mix(recorder):
    for _ in zip(items(recorder, "a"), items(recorder, "b"), strict=False):
        recorder.advance(10)
    gc.collect()
    assert set(counts(recorder)) == {"a", "b"}
    assert losses(recorder) == {}


def test_a_generator_may_outlive_the_section_it_was_started_in(recorder):
    generator = items(recorder)
    with recorder.section("first"):
        next(generator)
    with recorder.section("second"):
        next(generator)
        with recorder.section("use"):
            recorder.advance(5)
    generator.close()
    assert counts(recorder) == {"first": 1, "first/items": 1, "second": 1, "second/use": 1}
    assert times(recorder) == {"first": 1, "first/items": 7, "second": 6, "second/use": 5}
    assert losses(recorder) == {}


def test_a_generator_that_is_dropped_leaves_its_section(recorder):
    with recorder.section("consumer"):
        next(items(recorder))
        gc.collect()
        with recorder.section("use"):
            pass
    assert counts(recorder) == {"consumer": 1, "consumer/items": 1, "consumer/use": 1}
    assert losses(recorder) == {}


def test_a_generator_dropped_out_of_order_leaves_its_own_section_only(recorder):
    first, second = items(recorder, "first"), items(recorder, "second")
    next(first)
    next(second)
    with recorder.section("use"):
        del first
        gc.collect()
        recorder.advance(4)
    assert node(recorder, "first").count == 1
    assert node(recorder, "second").open.count == 1
    assert times(recorder)["use"] == 4
    del second
    gc.collect()
    assert losses(recorder) == {}


def test_an_exception_thrown_into_a_generator_ends_its_section(recorder):
    generator = items(recorder)
    next(generator)
    with pytest.raises(LookupError), recorder.section("thrower"):
        generator.throw(LookupError)
    assert counts(recorder) == {"items": 1, "thrower": 1}


def test_yield_from_delegates_without_losing_the_outer_section(recorder):
    def outer():
        with recorder.section("outer"):
            yield from items(recorder, "inner", 2)
            yield from items(recorder, "inner", 2)

    with recorder.section("consumer"):
        for _ in outer():
            with recorder.section("use"):
                recorder.advance(1)
    assert counts(recorder)["consumer/outer/inner"] == 2
    assert counts(recorder)["consumer/use"] == 4


def test_a_section_entered_elsewhere_keeps_its_parent_next_to_a_sleeping_generator(recorder):
    """Its Python call has returned, and the next call may well be at the same address."""
    section = recorder.section("connection")

    def connect():
        section.__enter__()

    def query():
        with recorder.section("query"):
            recorder.advance(2)

    generator = items(recorder)
    connect()
    next(generator)
    with recorder.section("request"):
        query()
    section.__exit__(None, None, None)
    generator.close()
    assert counts(recorder)["connection/request/query"] == 1
    assert losses(recorder) == {}


def test_a_deep_recursion_of_generators_keeps_its_order(recorder):
    def walk(levels):
        with recorder.section("level"):
            recorder.advance(1)
            yield levels
            if levels:
                yield from walk(levels - 1)

    for _ in walk(20):
        with recorder.section("visit"):
            pass
    assert counts(recorder)["/".join(["level"] * 21)] == 1
    assert counts(recorder)["visit"] == 21


async def async_items(recorder, count=3):
    with recorder.section("items"):
        for item in range(count):
            recorder.advance(1)
            await asyncio.sleep(0)
            yield item


def test_an_async_generator_is_distinguished_from_its_consumer(recorder):
    async def main():
        with recorder.section("consumer"):
            async for _ in async_items(recorder):
                with recorder.section("use"):
                    recorder.advance(10)
                    await asyncio.sleep(0)

    asyncio.run(main())
    assert times(recorder) == {"consumer": 33, "consumer/items": 33, "consumer/use": 30}
    assert losses(recorder) == {}


def test_an_async_generator_finalised_in_a_foreign_context_leaves_what_it_entered(recorder):
    async def main():
        with recorder.section("consumer"):
            async for _ in async_items(recorder):
                break
        recorder.advance(5)

    asyncio.run(main())  # the loop's shutdown closes the generator in another task
    gc.collect()
    assert counts(recorder) == {"consumer": 1, "consumer/items": 1}
    assert losses(recorder) in ({}, {"foreign_leaves": 1})


def test_a_leave_in_a_foreign_context_is_counted_and_finds_its_own_frame(recorder):
    from contextvars import copy_context

    generator = items(recorder)
    copy_context().run(next, generator)
    copy_context().run(generator.close)
    assert counts(recorder) == {"items": 1}
    assert losses(recorder) == {"foreign_leaves": 1}
    with recorder.section("next"):
        recorder.advance(1)
    assert counts(recorder) == {"items": 1, "next": 1}


def test_a_stage_of_a_generator_without_a_section_is_ended_by_the_consumers(recorder):
    def generator():
        recorder.stage("load")
        yield 1
        recorder.stage("decode")
        yield 2

    for _ in range(3):
        with recorder.section("consumer"):
            for _ in generator():
                recorder.advance(1)
    assert counts(recorder) == {"consumer": 3, "consumer/load": 3, "consumer/decode": 3}
    assert node(recorder, "consumer/decode").open is None


def test_a_stage_inside_a_sleeping_generators_section_sleeps_with_it(recorder):
    def generator():
        with recorder.section("own"):
            recorder.stage("load")
            yield

    loader = generator()
    with recorder.section("consumer"):
        next(loader)
    recorder.advance(3)
    loader.close()
    assert times(recorder)["consumer/own/load"] == 3
    assert counts(recorder) == {"consumer": 1, "consumer/own": 1, "consumer/own/load": 1}


def test_a_stage_that_a_sleeping_generators_helper_began_sleeps_too(recorder):
    def helper():
        recorder.stage("load")

    def generator():
        with recorder.section("own"):
            helper()
            yield

    loader = generator()
    with recorder.section("consumer"):
        next(loader)
        with recorder.section("use"):
            recorder.advance(1)
        recorder.stage("next")
    recorder.advance(3)
    loader.close()
    expected = {
        "consumer": 1,
        "consumer/own": 1,
        "consumer/own/load": 1,
        "consumer/use": 1,
        "consumer/next": 1,
    }
    assert counts(recorder) == expected
    assert times(recorder)["consumer/own/load"] == 4


def test_a_section_that_a_sleeping_generators_helper_entered_sleeps_too(recorder):
    section = recorder.section("connection")

    def connect():
        section.__enter__()

    def generator():
        with recorder.section("own"):
            connect()
            yield
            section.__exit__(None, None, None)

    loader = generator()
    with recorder.section("consumer"):
        next(loader)
        with recorder.section("use"):
            recorder.advance(1)
    next(loader, None)
    assert set(counts(recorder)) == {"consumer", "consumer/own", "consumer/own/connection", "consumer/use"}
    assert losses(recorder) == {}


def test_a_loop_in_a_sleeping_generator_continues_across_its_consumers_sections(recorder):
    def load():
        for item in recorder.loop("load", range(6)):
            recorder.advance(1)
            yield item

    loader = load()
    for _ in range(4):
        with recorder.section("step"):
            next(loader)
            recorder.advance(10)
    loop = recorder.snapshot().loops["step/load"]
    assert (loop.ticks, loop.incomplete, loop.busy_ns) == (3, 0, 33)
    loader.close()
    assert recorder.snapshot().loops["step/load"].incomplete == 1
    assert losses(recorder) == {}
