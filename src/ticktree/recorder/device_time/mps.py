"""The time of Apple's GPUs. To read it is to wait: so only where the run waits anyway.

What an event of `torch.mps` knows of time can only be asked for by waiting for the whole queue.
"""

from __future__ import annotations

import sys
from typing import Any

from ticktree.recorder._native import Place
from ticktree.recorder.device_time.attendant import Attendant


class MpsClock(Attendant):
    """The clock of the one device there is.

    Args:
        index: taken for the sake of others; there is one device.
        waits: whether to wait for the device at both ends of a call.
    """

    def __init__(self, index: int | None, waits: bool) -> None:  # noqa: ARG002
        self.waits = waits
        self._free: list[tuple[Any, Any]] = []

    def begin(self) -> tuple[Any, Any] | str | None:
        """Wait for what was asked for before, and record where the queue is now."""
        torch = sys.modules.get("torch")
        if torch is None:
            return "library"
        if not torch.backends.mps.is_available():
            return "device"
        if not self.waits:
            return "clock"
        torch.mps.synchronize()
        event = torch.mps.event.Event
        events = self._free.pop() if self._free else (event(enable_timing=True), event(enable_timing=True))
        events[0].record()
        return events

    def wait(self, mark: tuple[Any, Any]) -> None:
        """Wait until the queue has done what the call asked of it."""
        mark[1].record()
        mark[1].synchronize()

    def end(self, mark: tuple[Any, Any], place: Place) -> str | None:
        """Book the time between the two events."""
        ns = max(0, round(mark[0].elapsed_time(mark[1]) * 1e6))
        self._free.append(mark)
        place.recorder.book(place, ("mps",), ns, "device")
        return "measured"

    def forget(self, mark: tuple[Any, Any]) -> None:
        """Take the events back."""
        self._free.append(mark)
