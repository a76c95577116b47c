"""The time of CUDA devices, and of ROCm's, by events of torch.

A call's device time is that of the stream that was current when the call began, from the moment at which this stream
came to the call's beginning to the moment at which it had done all work enqueued by the call's end.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeAlias

from ticktree.recorder._native import Place
from ticktree.recorder.wrapping import wrap


class Attendant:
    """Called where calls of a section begin and end. What it does meanwhile is not the call's time.

    Args:
        index: of several devices of a kind the number of one; None for the current one, or for whichever there is.
        waits: whether `wait` is to be called: it waits for the device at the end of a call.
    """

    def __init__(self, index: int | None = None, waits: bool = False) -> None:
        self.waits = waits
        self._index = index

    def begin(self) -> Any:
        """Return what `end` is to be given for this call, None for nothing, or as a text why there is nothing.

        The texts: "library", "device", "clock" and "host" say why there is no device time, "graph" that the call is
        captured into a graph, "events" that no event was left.
        """
        return None

    def wait(self, mark: Any) -> None:
        """Wait until the call's work is done; the wait is still the call's time."""

    def results(self, mark: Any, value: Any) -> None:
        """Take note of what the call's work will give."""

    def end(self, mark: Any, place: Place) -> str | None:  # noqa: ARG002
        """The call has ended, at `place`; return "measured" where its time is or will be booked, else as `begin`."""
        return None

    def forget(self, mark: Any) -> None:
        """The call was ended without telling."""

    def failed(self) -> None:
        """Something here raised an exception."""


# Pool: events of one device, made ahead of their use, and used again when they are known.
#
# An event is made when it is first recorded, which is slow, and not allowed while a graph is captured: so each is
# recorded once when it comes here.

FIRST = 64
MOST = 8192
LOW = 8


DeviceEvent: TypeAlias = Any  # of torch: a mark in a device's queue of work


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


# Pending: calls whose device has not come to their end yet, so that their time is not known.
#
# They are kept by thread and stream. A stream comes to its events in the order in which they were recorded: where the
# oldest is not reached, none is.

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
        ms: float = start.elapsed_time(end)
        return max(0, round(ms * 1e6))


class DeviceLane(deque[DeviceCall]):
    """The calls of one thread on one stream, oldest first."""

    def resolve(self, most: int) -> None:
        """Book the calls whose end the device has come to, at most so many."""
        while self and most:
            # Taken out before the device is queried, since a query lets other threads run: of a thread that
            # has ended, and at the end of recording, several look at one lane, and a call is booked once.
            call = self.popleft()
            ns = None
            try:
                ns = call.ns()
            finally:
                if ns is None:
                    self.appendleft(call)
            if ns is None:
                return
            most -= 1
            call.pool.give(call.events)
            if not call.place.recorder.book(call.place, (call.name,), ns, "device"):
                call.place.recorder.lose("events")

    def give_up(self) -> None:
        """Count what is left as a loss."""
        while self:
            self.popleft().place.recorder.lose("events")


# How many graphs are being captured: meanwhile no thread in the process may query an event.
capturing = SimpleNamespace(open=0)
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


# By the device's number; made when it is first used, and again in forked children.
_pools: dict[int, Pool] = {}
# By the device's number and the stream's handle. torch makes an object each time it is asked for the current stream,
# which took 3 to 7 µs on a machine with an H200; to ask for the handle alone took 0.1 µs.
_streams: dict[tuple[int, int], Stream] = {}
_undo: list[Callable[[], None]] = []


class Stream(NamedTuple):
    """A stream with what its calls need.

    Attributes:
        own: torch's object.
        handle: CUDA's number for it.
        device: the device's number.
        name: the device's, as in rows.
        pool: the device's events.
    """

    own: Any
    handle: int
    device: int
    name: str
    pool: Pool


class Mark(NamedTuple):
    """A call in progress."""

    stream: Stream
    events: tuple[DeviceEvent, DeviceEvent]


class CudaClock(Attendant):
    """The clock of one device, or of whichever is current. If it waits, then at both ends of a call."""

    def __init__(self, index: int | None, waits: bool) -> None:
        super().__init__(index, waits)
        self._cuda: Any = None
        self._native: Any = None  # of torch, in C: without what its public functions add to each call
        self._lack: str | None = None
        self._broken = False

    def begin(self) -> Mark | str | None:
        """Record where the stream is now."""
        cuda = self._cuda or self._find()
        if cuda is None:
            return self._lack
        if not cuda.is_initialized():
            return None  # and it is not for us to begin with it
        if self._broken:
            return "events"
        if not _undo:
            _watch_captures(cuda)
        if capturing.open or cuda.is_current_stream_capturing():
            return "graph"
        stream = self._stream(cuda)
        if self.waits:
            cuda.synchronize(stream.device)
        events = stream.pool.take()
        if events is None:
            return "events"
        events[0].record(stream.own)
        return Mark(stream, events)

    def wait(self, mark: Mark) -> None:
        """Record where the stream is now, and wait until it has come there, with all others of its device."""
        if not (capturing.open or self._cuda.is_current_stream_capturing()):
            mark.events[1].record(mark.stream.own)
            self._cuda.synchronize(mark.stream.device)

    def end(self, mark: Mark, place: Place) -> str | None:
        """Record where the stream is now, and look at what has come to its end of the calls before."""
        stream, events = mark
        if capturing.open or self._cuda.is_current_stream_capturing():
            stream.pool.give(events)
            return "graph"
        if not self.waits:
            events[1].record(stream.own)
        lane = lane_of(stream.name, stream.handle)
        lane.append(DeviceCall(place, stream.name, events, stream.pool))
        lane.resolve(AT_ONCE)
        stream.pool.refill()
        return "measured"

    def forget(self, mark: Mark) -> None:
        """Take the events back: the stream will still reach one of them, and its time is not read."""
        mark.stream.pool.give(mark.events)

    def failed(self) -> None:
        """Ask no more of a device in a bad state."""
        self._broken = True

    def _find(self) -> Any:
        torch = sys.modules.get("torch")
        self._lack = "library" if torch is None else None
        cuda = getattr(torch, "cuda", None)
        # While it is being imported, it is not all there.
        if cuda is None or not hasattr(cuda, "is_current_stream_capturing") or not hasattr(torch, "version"):
            return None
        if not is_built(torch):
            self._lack = "device"
            return None
        _watch_captures(cuda)
        self._native = getattr(torch, "_C", None)
        self._cuda = cuda
        return cuda

    def _stream(self, cuda: Any) -> Stream:
        """Return the device's current stream."""
        handle_of = getattr(self._native, "_cuda_getCurrentRawStream", None)
        if handle_of is not None:
            device = cuda.current_device() if self._index is None else self._index
            known = _streams.get((device, handle_of(device)))
            if known is not None:
                return known
        own = cuda.current_stream(self._index)
        device, handle = own.device_index, own.cuda_stream
        pool = _pools.get(device)
        if pool is None:
            make = getattr(self._native, "_CudaEventBase", cuda.Event)
            pool = _pools[device] = Pool(functools.partial(_recorded, make, own))
        stream = _streams[device, handle] = Stream(own, handle, device, f"cuda:{device}", pool)
        return stream


def is_built(torch: Any) -> bool:
    """Tell whether this torch can use CUDA or ROCm at all; to ask for devices would be to wake them."""
    return bool(torch.version.cuda or torch.version.hip)


def _recorded(make: Callable[..., DeviceEvent], stream: Any) -> DeviceEvent:
    event = make(enable_timing=True)
    event.record(stream)
    return event


def _watch_captures(cuda: Any) -> None:
    """Know of every capture: a query of an event, by any thread, breaks the capture, and so the program."""
    graph = getattr(cuda, "CUDAGraph", None)
    if graph is None or _undo:
        return

    def begin(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        capturing.open += 1
        try:
            return original(*args, **kwargs)
        except BaseException:
            capturing.open -= 1
            raise

    def end(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        try:
            return original(*args, **kwargs)
        finally:
            capturing.open = max(0, capturing.open - 1)  # it may have begun before it was watched

    _undo.append(wrap(graph, "capture_begin", begin))
    _undo.append(wrap(graph, "capture_end", end))


def unwatch() -> None:
    """Put back what was wrapped; the next measurement wraps it again."""
    while _undo:
        _undo.pop()()


def _forget_parents() -> None:
    """In a forked child: the device is its parent's. Not even to let its events go is safe."""
    _graveyard.extend((dict(_lanes), dict(_pools), dict(_streams)))
    for of_parent in (_lanes, _pools, _streams):
        of_parent.clear()
    capturing.open = 0


os.register_at_fork(after_in_child=_forget_parents)
