"""Pool: events of one device, made ahead of their use, and used again when they are known.

An event is made when it is first recorded, which is slow, and not allowed while a graph is captured: so each is
recorded once when it comes here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

FIRST = 64
MOST = 8192
LOW = 8


class DeviceEvent(Protocol):
    """A mark in a device's queue of work."""

    def query(self) -> bool:
        """Tell whether the device has come to it."""

    def elapsed_time(self, end: DeviceEvent, /) -> float:
        """Return the milliseconds from here to `end`; both are known to have been reached."""


class Pool:
    """Events that no call has in use.

    Args:
        make: makes one that has been recorded.
    """

    def __init__(self, make: Callable[[], DeviceEvent]) -> None:
        self._make = make
        self._free: list[DeviceEvent] = []
        self.made = 0
        self._grow(FIRST)

    def take(self) -> tuple[DeviceEvent, DeviceEvent] | None:
        """Return two events; None where there are none left."""
        free = self._free
        if len(free) < 2:
            return None
        return free.pop(), free.pop()

    def give(self, pair: tuple[DeviceEvent, DeviceEvent]) -> None:
        """Take two events back."""
        self._free.extend(pair)

    def refill(self) -> None:
        """Make as many more as there are, if nearly all are in use: between calls, and rarely."""
        if len(self._free) < LOW and self.made < MOST:
            self._grow(self.made)

    def _grow(self, number: int) -> None:
        for _ in range(number):
            self._free.append(self._make())
            self.made += 1
