"""The time of CUDA and ROCm devices, by events of torch.

A call's device time is that of the stream that was current when the call began: from the moment the stream reached the
beginning of the call until it had done all work enqueued before the call's end.
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
    """Called when calls of a section begin and end. Its own time is not the call's.

    Args:
        index: the number of the device among those of its kind; None for the current one, or any.
        waits: whether `wait` is called, which waits for the device at the end of a call.
    """

    def __init__(self, index: int | None = None, waits: bool = False) -> None:
        self.waits = waits
        self._index = index

    def begin(self) -> Any:
        """Return a mark for `end`; None if there is nothing to measure; or a text with the reason.

        The texts: "library", "device", "clock" and "host" say why there is no device time, "graph" that the call is
        captured into a graph, "events" that no event was left.
        """
        return None

    def wait(self, mark: Any) -> None:
        """Wait until the call's work is done; the wait is still the call's time."""

    def results(self, mark: Any, value: Any) -> None:
        """Note the results of the call's work."""

    def end(self, mark: Any, place: Place) -> str | None:  # noqa: ARG002
        """End the call at `place`; return "measured" if its time is or will be booked, else a text as in `begin`."""
        return None

    def forget(self, mark: Any) -> None:
        """Forget a call that the section around it has ended."""

    def failed(self) -> None:
        """Handle an exception that one of these methods raised."""


# Event pools: events of one device, created in advance, and reused after they were read.
#
# The first record of an event creates it, which is slow, and not allowed while a graph is captured: so the pool
# records each event once.

FIRST_EVENTS = 64
MAX_EVENTS = 8192
MIN_FREE_EVENTS = 8


DeviceEvent: TypeAlias = Any  # of torch: a mark in a device's queue of work


class EventPool:
    """Events that no call uses.

    Args:
        make: creates an event and records it.
    """

    def __init__(self, make: Callable[[], DeviceEvent]) -> None:
        self._make = make
        self._free: list[DeviceEvent] = []
        self.count = 0
        self._grow(FIRST_EVENTS)

    def take(self) -> tuple[DeviceEvent, DeviceEvent] | None:
        """Return two events; None if no two are left."""
        free = self._free
        if len(free) < 2:
            return None
        return free.pop(), free.pop()

    def give(self, pair: tuple[DeviceEvent, DeviceEvent]) -> None:
        """Take two events back."""
        self._free.extend(pair)

    def refill(self) -> None:
        """Double the number of events if nearly all are in use: between calls, and rarely."""
        if len(self._free) < MIN_FREE_EVENTS and self.count < MAX_EVENTS:
            self._grow(self.count)

    def _grow(self, number: int) -> None:
        for _ in range(number):
            self._free.append(self._make())
            self.count += 1


# Pending calls: their device has not reached their end yet, so their time is unknown.
#
# They are stored by thread and stream. A stream reaches its events in the order of their recording: if it has not
# reached the oldest, it has reached none.

# Calls to book at the end of each call: more than one, so that the backlog shrinks.
CALLS_PER_END = 2


class DeviceCall(NamedTuple):
    """A call that has ended on the host."""

    place: Place
    name: str
    events: tuple[DeviceEvent, DeviceEvent]
    pool: EventPool

    def ns(self) -> int | None:
        """Return how long the device took; None until it has reached the end."""
        start, end = self.events
        if not end.query():
            return None
        # A device's clock may go back a little between two immediately consecutive events.
        ms: float = start.elapsed_time(end)
        return max(0, round(ms * 1e6))


class DeviceLane(deque[DeviceCall]):
    """The calls of one thread on one stream, oldest first."""

    def resolve(self, limit: int) -> None:
        """Book the calls whose end the device has reached, at most `limit`."""
        while self and limit:
            # Removed before the query, which lets other threads run: for a thread that has ended, and at the end of
            # recording, several threads resolve one lane, and a call must be booked once.
            call = self.popleft()
            ns = None
            try:
                ns = call.ns()
            finally:
                if ns is None:
                    self.appendleft(call)
            if ns is None:
                return
            limit -= 1
            call.pool.give(call.events)
            if not call.place.recorder.book(call.place, (call.name,), ns, "device"):
                call.place.recorder.lose("events")

    def give_up(self) -> None:
        """Count the remaining calls as losses."""
        while self:
            self.popleft().place.recorder.lose("events")


# `open`: how many graphs are being captured; meanwhile no thread in the process may query an event.
capturing = SimpleNamespace(open=0)
_lanes: dict[tuple[int, str, int], DeviceLane] = {}
_parent_objects: list[object] = []


def lane_of(name: str, stream: int) -> DeviceLane:
    """Return the calling thread's lane for a stream of a device."""
    key = (threading.get_ident(), name, stream)
    lane = _lanes.get(key)
    if lane is None:
        poll()  # here, because this is rare, and books the calls of threads that have ended
        lane = _lanes.setdefault(key, DeviceLane())
    return lane


def poll() -> None:
    """Book the finished calls of the calling thread, and of threads that have ended."""
    if not capturing.open:
        _resolve(all_threads=False)


def settle() -> None:
    """Book the finished calls at the end of recording; the others are losses. Nothing waits for a device."""
    if not capturing.open:
        _resolve(all_threads=True)
    for lane in list(_lanes.values()):
        lane.give_up()
    _lanes.clear()


def _resolve(*, all_threads: bool) -> None:
    # Only the thread ids: the dictionary includes this frame, and a reference to it would hold all threads' variables.
    alive = set(sys._current_frames())
    current = threading.get_ident()
    for key, lane in list(_lanes.items()):
        if all_threads or key[0] == current or key[0] not in alive:
            try:
                lane.resolve(len(lane))
            except Exception:  # the device is in a bad state, or its library is gone by now
                lane.give_up()
        if not lane and key[0] not in alive:
            _lanes.pop(key, None)


# By the device's number; created at its first use, and again in forked children.
_pools: dict[int, EventPool] = {}
# By the device's number and the stream's handle. torch creates an object for every query of the current stream, which
# took 3 to 7 µs on a machine with an H200; a query of the handle alone took 0.1 µs.
_streams: dict[tuple[int, int], Stream] = {}
_undo: list[Callable[[], None]] = []


class Stream(NamedTuple):
    """A stream, and its device.

    Attributes:
        torch_stream: torch's object.
        handle: CUDA's number for it.
        device: the device's number.
        name: the device's name, as in rows.
        pool: the device's events.
    """

    torch_stream: Any
    handle: int
    device: int
    name: str
    pool: EventPool


class Mark(NamedTuple):
    """A call in progress."""

    stream: Stream
    events: tuple[DeviceEvent, DeviceEvent]


class CudaClock(Attendant):
    """The clock of one device, or of the current one. If it waits, then at both ends of a call."""

    def __init__(self, index: int | None, waits: bool) -> None:
        super().__init__(index, waits)
        self._cuda: Any = None
        self._native: Any = None  # torch's C module: without the cost of its public functions
        self._missing: str | None = None
        self._has_failed = False

    def begin(self) -> Mark | str | None:
        """Record an event on the stream."""
        cuda = self._cuda or self._find()
        if cuda is None:
            return self._missing
        if not cuda.is_initialized():
            return None  # we must not initialize it
        if self._has_failed:
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
        events[0].record(stream.torch_stream)
        return Mark(stream, events)

    def wait(self, mark: Mark) -> None:
        """Record an event on the stream, and wait until all streams of its device have done their work."""
        if not (capturing.open or self._cuda.is_current_stream_capturing()):
            mark.events[1].record(mark.stream.torch_stream)
            self._cuda.synchronize(mark.stream.device)

    def end(self, mark: Mark, place: Place) -> str | None:
        """Record an event on the stream, and book earlier calls that have finished."""
        stream, events = mark
        if capturing.open or self._cuda.is_current_stream_capturing():
            stream.pool.give(events)
            return "graph"
        if not self.waits:
            events[1].record(stream.torch_stream)
        lane = lane_of(stream.name, stream.handle)
        lane.append(DeviceCall(place, stream.name, events, stream.pool))
        lane.resolve(CALLS_PER_END)
        stream.pool.refill()
        return "measured"

    def forget(self, mark: Mark) -> None:
        """Take the events back: the stream will still reach one of them, but its time is not read."""
        mark.stream.pool.give(mark.events)

    def failed(self) -> None:
        """Stop using a device in a bad state."""
        self._has_failed = True

    def _find(self) -> Any:
        torch = sys.modules.get("torch")
        self._missing = "library" if torch is None else None
        cuda = getattr(torch, "cuda", None)
        # It is incomplete while it is being imported.
        if cuda is None or not hasattr(cuda, "is_current_stream_capturing") or not hasattr(torch, "version"):
            return None
        if not is_built(torch):
            self._missing = "device"
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
            stream = _streams.get((device, handle_of(device)))
            if stream is not None:
                return stream
        torch_stream = cuda.current_stream(self._index)
        device, handle = torch_stream.device_index, torch_stream.cuda_stream
        pool = _pools.get(device)
        if pool is None:
            make = getattr(self._native, "_CudaEventBase", cuda.Event)
            pool = _pools[device] = EventPool(functools.partial(_make_event, make, torch_stream))
        stream = _streams[device, handle] = Stream(torch_stream, handle, device, f"cuda:{device}", pool)
        return stream


def is_built(torch: Any) -> bool:
    """Return whether this torch can use CUDA or ROCm at all; a query for devices would wake them."""
    return bool(torch.version.cuda or torch.version.hip)


def _make_event(make: Callable[..., DeviceEvent], stream: Any) -> DeviceEvent:
    event = make(enable_timing=True)
    event.record(stream)
    return event


def _watch_captures(cuda: Any) -> None:
    """Track captures of graphs: a query of an event by any thread breaks a capture, and so the program."""
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
            capturing.open = max(0, capturing.open - 1)  # it may have begun before it was wrapped

    _undo.append(wrap(graph, "capture_begin", begin))
    _undo.append(wrap(graph, "capture_end", end))


def unwatch() -> None:
    """Restore the wrapped functions; the next measurement wraps them again."""
    while _undo:
        _undo.pop()()


def _forget_parents() -> None:
    """Forget the parent's device in a forked child; not even freeing its events is safe."""
    for table in (_lanes, _pools, _streams):
        _parent_objects.append(dict(table))
        table.clear()
    capturing.open = 0


os.register_at_fork(after_in_child=_forget_parents)
