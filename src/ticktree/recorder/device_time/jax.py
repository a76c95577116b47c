"""The time of whatever jax runs on. It has no events: there is nothing to do but wait for results.

So where the run waits anyway, and the section names its results, a call's time is that from its beginning until they
were there, by the host's clock: the device's work, what it waited behind, and handing it over.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from ticktree.recorder._native import Place
from ticktree.recorder.device_time.attendant import Attendant


class _Mark:
    def __init__(self) -> None:
        self.value: Any = None
        self.is_named = False
        self.began_ns = time.perf_counter_ns()
        self.took_ns: int | None = None


class JaxClock(Attendant):
    """The clock of results.

    Args:
        index: taken for the sake of others; results are where they are.
        waits: whether to wait for them.
    """

    def __init__(self, index: int | None, waits: bool) -> None:  # noqa: ARG002
        self.waits = waits

    def begin(self) -> _Mark | str:
        """Look at the clock."""
        if "jax" not in sys.modules:
            return "library"
        return _Mark() if self.waits else "clock"

    def results(self, mark: _Mark, value: Any) -> None:
        """Take note of what to wait for."""
        mark.value, mark.is_named = value, True

    def wait(self, mark: _Mark) -> None:
        """Wait for the results, where they were named."""
        if mark.is_named:
            sys.modules["jax"].block_until_ready(mark.value)
            mark.took_ns = time.perf_counter_ns() - mark.began_ns

    def end(self, mark: _Mark, place: Place) -> str | None:
        """Book how long that took."""
        if mark.took_ns is None:
            return "clock"
        place.recorder.book(place, ("jax",), mark.took_ns, "device")
        return "measured"
