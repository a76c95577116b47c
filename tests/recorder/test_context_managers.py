"""`@contextmanager` makes a generator a block: it sleeps while the block runs, but the block is in its sections."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, asynccontextmanager, contextmanager

from support.recorder.queries import counts, losses, times


def managers(recorder):
    @contextmanager
    def transaction(name="transaction"):
        with recorder.section(name):
            recorder.advance(1)
            yield

    return transaction


def test_the_block_of_a_context_manager_is_inside_its_section(recorder):
    with managers(recorder)():
        with recorder.section("query"):
            recorder.advance(2)
        recorder.advance(1)
    assert times(recorder) == {"transaction": 4, "transaction/query": 2}
    assert losses(recorder) == {}


def test_context_managers_of_generators_nest(recorder):
    transaction = managers(recorder)

    @contextmanager
    def outer():
        with recorder.section("outer"), transaction("inner"):
            yield

    with outer(), transaction("innermost"), recorder.section("query"):
        recorder.advance(2)
    assert counts(recorder) == {
        "outer": 1,
        "outer/inner": 1,
        "outer/inner/innermost": 1,
        "outer/inner/innermost/query": 1,
    }
    assert losses(recorder) == {}


def test_in_a_generator_the_block_sleeps_when_the_generator_does(recorder):
    transaction = managers(recorder)

    def generator():
        with transaction():
            with recorder.section("query"):
                pass
            yield

    with recorder.section("consumer"):
        for _ in generator():
            with recorder.section("use"):
                recorder.advance(1)
    assert set(counts(recorder)) == {
        "consumer",
        "consumer/transaction",
        "consumer/transaction/query",
        "consumer/use",
    }
    assert losses(recorder) == {}


def test_an_exit_stack_takes_them_too(recorder):
    with ExitStack() as stack:
        stack.enter_context(managers(recorder)())
        with recorder.section("query"):
            recorder.advance(2)
    assert times(recorder) == {"transaction": 3, "transaction/query": 2}
    assert losses(recorder) == {}


def test_an_async_context_manager_is_a_block_as_well(recorder):
    @asynccontextmanager
    async def session():
        with recorder.section("session"):
            await asyncio.sleep(0)
            yield

    async def main():
        async with session():
            with recorder.section("query"):
                await asyncio.sleep(0)
                recorder.advance(2)

    asyncio.run(main())
    assert times(recorder) == {"session": 2, "session/query": 2}
    assert losses(recorder) == {}
