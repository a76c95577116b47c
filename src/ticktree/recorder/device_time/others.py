"""Devices that have no clock of their own, and whichever device is in use."""

from __future__ import annotations

import sys
from typing import Any

from ticktree.recorder._native import Place
from ticktree.recorder.device_time.attendant import Attendant
from ticktree.recorder.device_time.cuda import CudaClock, is_built
from ticktree.recorder.device_time.mps import MpsClock


class CpuClock(Attendant):
    """Of the processor: what a call asked for is done when it returns, so that the host's time is its time.

    Args:
        index: taken for the sake of others.
        waits: likewise: there is nothing to wait for.
    """

    def __init__(self, index: int | None, waits: bool) -> None:
        pass

    def begin(self) -> str:
        """Say so."""
        return "host"


class WhatThereIs(Attendant):
    """The clock of the device that the program uses, if it uses one; of what is not there nothing is said.

    Args:
        waits: whether to wait for the device at both ends of a call.
    """

    def __init__(self, waits: bool) -> None:
        self.waits = waits
        self._clocks: list[Attendant] = [CudaClock(None, waits)] + ([MpsClock(None, waits)] if waits else [])

    @staticmethod
    def is_possible() -> bool:
        """Tell whether a device may still come into use: not where torch is there and was built without any."""
        torch = sys.modules.get("torch")
        if torch is None or not hasattr(torch, "version") or not hasattr(torch, "backends"):
            return True
        return is_built(torch) or bool(torch.backends.mps.is_built())

    def begin(self) -> tuple[Attendant, Any] | str | None:
        """Begin with the first that is in use."""
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
        """Whichever it was is in a bad state."""
        for clock in self._clocks:
            clock.failed()
