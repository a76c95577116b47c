"""Pending: calls whose device has not come to their end yet, so that their time is not known.

They are kept by thread and stream. A stream comes to its events in the order in which they were recorded: where the
oldest is not reached, none is.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from typing import NamedTuple

from ticktree.recorder._native import Place
from ticktree.recorder.device_time.pool import DeviceEvent, Pool

# At the end of each call: more than are added, so that what has piled up goes.
AT_ONCE = 2


class DeviceCall(NamedTuple):
    """A call that has ended on the host."""

    place: Place
    name: str
    events: tuple[DeviceEvent, DeviceEvent]
    pool: Pool

    def ns(self) -> int | None:
        """Return how long the device took; None while it has not come to the end."""
        start, end = self.events
        if not end.query():
            return None
        # A device's clock may step back a little between two events that follow each other at once.
        return max(0, round(start.elapsed_time(end) * 1e6))


class DeviceLane:
    """The calls of one thread on one stream, oldest first."""

    def __init__(self) -> None:
        self._calls: deque[DeviceCall] = deque()

    def add(self, call: DeviceCall) -> None:
        """Take a call in."""
        self._calls.append(call)

    def resolve(self, most: int) -> None:
        """Book the calls whose end the device has come to, at most so many."""
        calls = self._calls
        while calls and most:
            # Taken out before the device is asked, for that lets other threads run: of a thread that has ended, and at
            # the end of recording, several look at one lane, and a call is booked once.
            call = calls.popleft()
            ns = None
            try:
                ns = call.ns()
            finally:
                if ns is None:
                    calls.appendleft(call)
            if ns is None:
                return
            most -= 1
            call.pool.give(call.events)
            if not call.place.recorder.book(call.place, (call.name,), ns, "device"):
                call.place.recorder.lose("events")

    def give_up(self) -> None:
        """Count what is left as a loss."""
        while self._calls:
            self._calls.popleft().place.recorder.lose("events")

    def __len__(self) -> int:
        return len(self._calls)


class Capturing:
    """How many graphs are being captured: meanwhile nobody in the process may ask for an event."""

    def __init__(self) -> None:
        self.open = 0


capturing = Capturing()
_lanes: dict[tuple[int, str, int], DeviceLane] = {}
_graveyard: list[object] = []


def lane_of(name: str, stream: int) -> DeviceLane:
    """Return the calling thread's lane for a stream of a device."""
    key = (threading.get_ident(), name, stream)
    lane = _lanes.get(key)
    if lane is None:
        poll()  # here, because it is rare, and what threads left that have ended is to go
        lane = _lanes.setdefault(key, DeviceLane())
    return lane


def poll() -> None:
    """Book what is known by now of the calling thread's calls, and of those of threads that have ended."""
    if not capturing.open:
        _resolve(everybody=False)


def settle() -> None:
    """Book what is known at the end of recording; the rest is a loss. Nothing waits for a device."""
    if not capturing.open:
        _resolve(everybody=True)
    for lane in list(_lanes.values()):
        lane.give_up()
    _lanes.clear()


def _resolve(*, everybody: bool) -> None:
    # The numbers alone: among the frames is this one, and what it held would hold every thread's variables.
    alive = set(sys._current_frames())
    here = threading.get_ident()
    for key, lane in list(_lanes.items()):
        if everybody or key[0] == here or key[0] not in alive:
            try:
                lane.resolve(len(lane))
            except Exception:  # the device is in a bad state, or its library is gone by now
                lane.give_up()
        if not lane and key[0] not in alive:
            _lanes.pop(key, None)


def _forget_parents() -> None:
    """In a forked child: the device is its parent's. Not even to let its events go is safe."""
    _graveyard.append(dict(_lanes))
    _lanes.clear()
    capturing.open = 0


os.register_at_fork(after_in_child=_forget_parents)
