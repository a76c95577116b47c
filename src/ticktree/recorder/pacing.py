"""The sleep of a loop that holds its rate in a coroutine: the event loop serves other tasks meanwhile."""

from __future__ import annotations

import time
from collections.abc import Generator
from types import coroutine
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ticktree.recorder._native import Recorder, Section


async def until_due(recorder: Recorder, sleeping: Section, due_ns: int) -> None:
    """Wait until a tick is due, and at least until other tasks have had a turn: also of a loop that is always late.

    The event loop's own clock wakes it, up to a millisecond late as `asyncio.sleep` is; due times stay on their grid:
    `due_ns` is of CLOCK_MONOTONIC, 0 where it is past. The section of the sleep is entered here because a coroutine
    that is cancelled is resumed in this frame, not in that of the `async for`.
    """
    if not due_ns:
        await _give_way()
        return
    with sleeping:
        if recorder.clock == "virtual":
            recorder.advance(due_ns - recorder.ticks)
            await _give_way()
        while recorder.clock != "virtual" and (left_ns := due_ns - time.monotonic_ns()) > 0:
            await _sleep(left_ns / 1e9)


async def _sleep(seconds: float) -> None:
    """As `asyncio.sleep`, whose calls may be recorded."""
    from asyncio import Future, get_running_loop

    def end(future: Future[None]) -> None:
        if not future.done():  # cancelled meanwhile
            future.set_result(None)

    running = get_running_loop()
    future = running.create_future()
    timer = running.call_later(seconds, end, future)
    try:
        await future
    finally:
        timer.cancel()


@coroutine
def _give_way() -> Generator[None, None, None]:
    yield
