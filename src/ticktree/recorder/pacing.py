"""The sleep of a loop that holds its rate in a coroutine: the event loop runs other tasks meanwhile."""

from __future__ import annotations

import time
from collections.abc import Generator
from types import coroutine
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ticktree.recorder._native import Recorder, Section


async def until_due(recorder: Recorder, sleep_section: Section, due_ns: int) -> None:
    """Wait until a tick is due, and at least until other tasks have had a turn, even if the loop is always late.

    The event loop's own clock wakes it, up to a millisecond late like `asyncio.sleep`; due times stay on their grid:
    `due_ns` is of CLOCK_MONOTONIC, 0 if it is past. The section of the sleep is entered here because a cancelled
    coroutine is resumed in this frame, not in that of the `async for`.
    """
    if not due_ns:
        await _yield_once()
        return
    with sleep_section:
        if recorder.clock == "virtual":
            recorder.advance(due_ns - recorder.ticks)
            await _yield_once()
        while recorder.clock != "virtual" and (remaining_ns := due_ns - time.monotonic_ns()) > 0:
            await _sleep(remaining_ns / 1e9)


async def _sleep(seconds: float) -> None:
    """Sleep like `asyncio.sleep`, whose calls may be recorded."""
    from asyncio import Future, get_running_loop

    def end(future: Future[None]) -> None:
        if not future.done():  # not cancelled meanwhile
            future.set_result(None)

    loop = get_running_loop()
    future = loop.create_future()
    timer = loop.call_later(seconds, end, future)
    try:
        await future
    finally:
        timer.cancel()


@coroutine
def _yield_once() -> Generator[None, None, None]:
    yield
