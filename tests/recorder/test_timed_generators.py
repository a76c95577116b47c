"""@timed on generators, coroutines and async generators."""

from __future__ import annotations

import asyncio
import inspect

import pytest

from support.recorder.queries import counts, losses, times


def test_a_timed_generator_is_timed_only_while_it_runs(recorder):
    @recorder.timed("load")
    def load():
        for item in range(3):
            recorder.advance(2)
            yield item

    with recorder.section("train"):
        for _ in load():
            with recorder.section("use"):
                recorder.advance(100)
    assert times(recorder) == {"train": 306, "train/load": 6, "train/use": 300}
    assert counts(recorder)["train/load"] == 4  # one call per resumption, the last of which found the end
    assert losses(recorder) == {}


def test_a_timed_generators_sections_hang_under_it(recorder):
    @recorder.timed("load")
    def load():
        with recorder.section("open"):
            recorder.advance(1)
        yield 1
        with recorder.section("decode"):
            recorder.advance(1)

    list(load())
    assert counts(recorder) == {"load": 2, "load/open": 1, "load/decode": 1}


def test_a_timed_generator_delegates_send_throw_close_and_return(recorder):
    log = []

    @recorder.timed("generator")
    def generator():
        try:
            log.append((yield "first"))
            try:
                yield "second"
            except KeyError as error:
                log.append(error.args)
                yield "caught"
            return "result"
        finally:
            log.append("closed")

    running = generator()
    assert next(running) == "first"
    assert running.send("sent") == "second"
    assert running.throw(KeyError("thrown")) == "caught"
    with pytest.raises(StopIteration) as stop:
        next(running)
    assert stop.value.value == "result"
    assert log == ["sent", ("thrown",), "closed"]
    running = generator()
    next(running)
    running.close()
    assert log[3:] == ["closed"]
    assert losses(recorder) == {}


def test_a_timed_generators_value_reaches_yield_from(recorder):
    @recorder.timed("inner")
    def inner():
        yield 1
        return "value"

    def outer():
        return (yield from inner())

    running = outer()
    assert next(running) == 1
    with pytest.raises(StopIteration) as stop:
        next(running)
    assert stop.value.value == "value"


def test_an_exception_of_a_timed_generator_is_the_programs_own(recorder):
    @recorder.timed("generator")
    def generator():
        yield 1
        raise LookupError("mine")

    running = generator()
    next(running)
    with pytest.raises(LookupError, match="mine"):
        next(running)
    with pytest.raises(StopIteration):
        next(running)
    assert counts(recorder) == {"generator": 2}


def test_a_timed_generator_that_will_not_close_says_so(recorder):
    @recorder.timed("stubborn")
    def stubborn():
        try:
            yield
        except GeneratorExit:
            yield

    running = stubborn()
    next(running)
    with pytest.raises(RuntimeError, match="ignored GeneratorExit"):
        running.close()


def test_the_kinds_of_functions_are_still_told_apart(recorder):
    async def coroutine(): ...

    def generator():
        yield

    async def async_generator():
        yield

    def plain(): ...

    tests = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    for function in (coroutine, generator, async_generator, plain):
        timed = recorder.timed(function)
        assert [test(timed) for test in tests] == [test(function) for test in tests]
        assert timed.__qualname__ == function.__qualname__
        assert inspect.signature(timed) == inspect.signature(function)
        assert timed.__wrapped__ is function


def test_a_timed_coroutine_is_timed_from_entry_to_exit_awaits_included(recorder):
    @recorder.timed("fetch")
    async def fetch(value):
        recorder.advance(1)
        await asyncio.sleep(0)
        recorder.advance(1)
        return value

    async def main():
        return await asyncio.gather(*(fetch(value) for value in range(3)))

    assert asyncio.run(main()) == [0, 1, 2]
    assert counts(recorder) == {"fetch": 3}
    assert losses(recorder) == {}


def test_a_timed_coroutine_raises_what_it_raises_and_can_be_cancelled(recorder):
    @recorder.timed("fails")
    async def fails():
        raise KeyError("mine")

    @recorder.timed("forever")
    async def forever():
        await asyncio.Event().wait()

    async def main():
        with pytest.raises(KeyError, match="mine"):
            await fails()
        task = asyncio.create_task(forever())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert counts(recorder) == {"fails": 1, "forever": 1}


def test_a_timed_async_method_is_bound(recorder):
    class Client:
        @recorder.timed("get")
        async def get(self, x):
            return (self, x)

    client = Client()
    assert asyncio.run(client.get(1)) == (client, 1)


def test_a_timed_async_generator_is_timed_only_while_it_runs(recorder):
    @recorder.timed("load")
    async def load():
        for item in range(3):
            recorder.advance(2)
            await asyncio.sleep(0)
            yield item

    async def main():
        values = []
        with recorder.section("train"):
            async for item in load():
                values.append(item)
                with recorder.section("use"):
                    recorder.advance(100)
        return values

    assert asyncio.run(main()) == [0, 1, 2]
    assert times(recorder) == {"train": 306, "train/load": 6, "train/use": 300}
    assert losses(recorder) == {}


def test_a_timed_async_generator_delegates_asend_athrow_and_aclose(recorder):
    log = []

    @recorder.timed("generator")
    async def generator():
        try:
            log.append((yield "first"))
            try:
                yield "second"
            except KeyError:
                yield "caught"
        finally:
            await asyncio.sleep(0)
            log.append("closed")

    async def main():
        running = generator()
        assert await running.__anext__() == "first"
        assert await running.asend("sent") == "second"
        assert await running.athrow(KeyError("thrown")) == "caught"
        await running.aclose()
        with pytest.raises(StopAsyncIteration):
            await running.__anext__()

    asyncio.run(main())
    assert log == ["sent", "closed"]
    assert losses(recorder) == {}


def test_a_timed_async_generator_that_is_dropped_is_finalised_by_its_loop(recorder):
    log = []

    @recorder.timed("generator")
    async def generator():
        try:
            yield 1
            yield 2
        finally:
            await asyncio.sleep(0)
            log.append("closed")

    async def main():
        async for _ in generator():
            break
        for _ in range(10):
            await asyncio.sleep(0)

    asyncio.run(main())
    assert log == ["closed"]
    recorder.snapshot().check()
