"""Device time: how long a GPU worked for a section, by its own clock, in addition to the host's time.

Events are recorded on the device's stream when a call begins and ends, and read later: nothing ever waits for a
device, unless the user requests it (`--device-sync`). No library is imported and no device is woken. This file has the
devices without a clock of their own, and the device in use; cuda.py has the devices with a clock.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from ticktree.recorder._native import Place
from ticktree.recorder.device_time.cuda import Attendant, CudaClock, is_built
from ticktree.recorder.pending_device_time import waits_for_devices


class _Mark:
    def __init__(self) -> None:
        self.value: Any = None
        self.is_named = False
        self.began_ns = time.perf_counter_ns()
        self.took_ns: int | None = None


class JaxClock(Attendant):
    """The host's clock until results are ready, on whatever device they are."""

    def begin(self) -> _Mark | str:
        """Read the clock."""
        if "jax" not in sys.modules:
            return "library"
        return _Mark() if self.waits else "clock"

    def results(self, mark: _Mark, value: Any) -> None:
        """Note the results to wait for."""
        mark.value, mark.is_named = value, True

    def wait(self, mark: _Mark) -> None:
        """Wait for the results, if they were named."""
        if mark.is_named:
            sys.modules["jax"].block_until_ready(mark.value)
            mark.took_ns = time.perf_counter_ns() - mark.began_ns

    def end(self, mark: _Mark, place: Place) -> str | None:
        """Book the time until then."""
        if mark.took_ns is None:
            return "clock"
        place.recorder.book(place, ("jax",), mark.took_ns, "device")
        return "measured"


# The time of Apple's GPUs, only if the run waits for devices anyway: the time of an event of `torch.mps` can only be
# read by waiting for the whole queue.


class MpsClock(Attendant):
    """The clock of the only device. If it waits, then at both ends of a call."""

    def __init__(self, index: int | None, waits: bool) -> None:
        super().__init__(index, waits)
        self._free: list[tuple[Any, Any]] = []

    def begin(self) -> tuple[Any, Any] | str | None:
        """Wait for earlier work, and record an event."""
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
        """Wait until the queue has done the call's work."""
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


class CpuClock(Attendant):
    """No clock: a call's work on the processor is done when it returns, so that the host's time is its time."""

    def __init__(self, index: int | None, waits: bool) -> None:  # noqa: ARG002 - there is nothing to wait for
        super().__init__(index)

    def begin(self) -> str:
        """Return "host": there is no other clock."""
        return "host"


class AutoClock(Attendant):
    """The clock of the device that the program uses, if it uses one; a missing device is no loss."""

    def __init__(self, waits: bool) -> None:
        super().__init__(waits=waits)
        self._clocks: list[Attendant] = [CudaClock(None, waits)] + ([MpsClock(None, waits)] if waits else [])

    @staticmethod
    def is_possible() -> bool:
        """Return whether a device may still be used: not if torch was built without any."""
        torch = sys.modules.get("torch")
        if torch is None or not hasattr(torch, "version") or not hasattr(torch, "backends"):
            return True
        return is_built(torch) or bool(torch.backends.mps.is_built())

    def begin(self) -> tuple[Attendant, Any] | str | None:
        """Begin with the first device in use."""
        for clock in self._clocks:
            mark = clock.begin()
            if mark in ("graph", "events"):
                return str(mark)
            if mark is not None and not isinstance(mark, str):
                return clock, mark
        return None

    def wait(self, mark: tuple[Attendant, Any]) -> None:
        """Wait for that device."""
        mark[0].wait(mark[1])

    def end(self, mark: tuple[Attendant, Any], place: Place) -> str | None:
        """End with that device."""
        return mark[0].end(mark[1], place)

    def forget(self, mark: tuple[Attendant, Any]) -> None:
        """Forget it."""
        mark[0].forget(mark[1])

    def failed(self) -> None:
        """Stop using all devices: any of them may be in a bad state."""
        for clock in self._clocks:
            clock.failed()


def clocks_of(device: str) -> list[Attendant]:
    """Return the clock of a device as programs name it: "cuda", "cuda:1", "mps", "cpu", "jax", "auto".

    No clock for "auto" if no device can be used any more, so that such sections cost no more than others.

    Raises:
        ValueError: No device has that name.
    """
    kind, _, index = device.partition(":")
    if kind == "auto":
        return [AutoClock(waits_for_devices())] if AutoClock.is_possible() else []
    clock = _CLOCKS.get(kind)
    if clock is None or (index and not index.isdecimal()):
        kinds = ", ".join(map(repr, _CLOCKS))
        raise ValueError(
            f"device must be {kinds} or 'auto', or of several one such as 'cuda:1', not {device!r}"
        )
    return [clock(int(index) if index else None, waits_for_devices())]


_CLOCKS: dict[str, Callable[[int | None, bool], Attendant]] = {
    "cuda": CudaClock,
    "mps": MpsClock,
    "cpu": CpuClock,
    "jax": JaxClock,
}
