"""An asyncio loop on a recorder's virtual clock: sleeping moves the clock, and nothing else does."""

from __future__ import annotations

import asyncio
import selectors
from typing import Any


class _Selector(selectors.SelectSelector):
    """Waits by moving the clock on; what files have to say is looked at without waiting."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if timeout and not ready:
            self.loop.pass_time(timeout)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """Runs on whole nanoseconds.

    Args:
        advance: Called with the nanoseconds that pass.
    """

    def __init__(self, advance: Any) -> None:
        selector = _Selector()
        selector.loop = self
        super().__init__(selector)
        self._advance = advance
        self.now_ns = 0
        # Two nanoseconds apart are two moments to the loop, whose heap compares floats of seconds.
        self._clock_resolution = 1e-10

    def time(self) -> float:
        return self.now_ns / 1e9

    def pass_time(self, seconds: float) -> None:
        self.move(max(1, round(seconds * 1e9)))

    def move(self, ns: int) -> None:
        """Lets time pass: a callback that works, or the loop that waits."""
        self.now_ns += ns
        self._advance(ns)
