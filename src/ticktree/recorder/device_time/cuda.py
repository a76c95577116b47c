"""The time of CUDA devices, and of ROCm's, by events of torch.

A call's device time is that of the stream that was current when the call began, from the moment at which this stream
came to the call's beginning to the moment at which it had done what was asked of it by the call's end.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from ticktree.recorder._native import Place
from ticktree.recorder.device_time.attendant import Attendant
from ticktree.recorder.device_time.pending import AT_ONCE, DeviceCall, capturing, lane_of
from ticktree.recorder.device_time.pool import DeviceEvent, Pool
from ticktree.recorder.wrapping import wrap

# By the device's number; made when it is first used, and by forked children anew.
_pools: dict[int, Pool] = {}
_graveyard: list[object] = []
_undo: list[Callable[[], None]] = []


class Mark(NamedTuple):
    """A call that goes on."""

    stream: Any
    events: tuple[Any, Any]
    pool: Pool


class CudaClock(Attendant):
    """The clock of one device, or of whichever is current.

    Args:
        index: the device's number; None for the current one's.
        waits: whether to wait for the device at both ends of a call.
    """

    def __init__(self, index: int | None, waits: bool) -> None:
        self.waits = waits
        self._index = index
        self._cuda: Any = None
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
        stream = cuda.current_stream(self._index)
        if self.waits:
            cuda.synchronize(stream.device_index)
        pool = _pools.get(stream.device_index)
        if pool is None:
            pool = _pools[stream.device_index] = Pool(functools.partial(_recorded, cuda, stream))
        events = pool.take()
        if events is None:
            return "events"
        events[0].record(stream)  # type: ignore[attr-defined]
        return Mark(stream, events, pool)

    def wait(self, mark: Mark) -> None:
        """Record where the stream is now, and wait until it has come there, with all others of its device."""
        if not (capturing.open or self._cuda.is_current_stream_capturing()):
            mark.events[1].record(mark.stream)
            self._cuda.synchronize(mark.stream.device_index)

    def end(self, mark: Mark, place: Place) -> str | None:
        """Record where the stream is now, and look at what has come to its end of the calls before."""
        stream, events, pool = mark
        if capturing.open or self._cuda.is_current_stream_capturing():
            pool.give(events)
            return "graph"
        if not self.waits:
            events[1].record(stream)
        name = f"cuda:{stream.device_index}"
        lane = lane_of(name, stream.cuda_stream)
        lane.add(DeviceCall(place, name, events, pool))
        lane.resolve(AT_ONCE)
        pool.refill()
        return "measured"

    def forget(self, mark: Mark) -> None:
        """Take the events back: the stream will come to one of them, for nobody."""
        mark.pool.give(mark.events)

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
        self._cuda = cuda
        return cuda


def is_built(torch: Any) -> bool:
    """Tell whether this torch can use CUDA or ROCm at all; to ask for devices would be to wake them."""
    return bool(torch.version.cuda or torch.version.hip)


def _recorded(cuda: Any, stream: Any) -> DeviceEvent:
    event: DeviceEvent = cuda.Event(enable_timing=True)
    event.record(cuda.current_stream(stream.device_index))  # type: ignore[attr-defined]
    return event


def _watch_captures(cuda: Any) -> None:
    """Know of every capture: an event that is asked for by whichever thread breaks it, and so the program."""
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
    """Put back what was wrapped; whoever measures next wraps it again."""
    while _undo:
        _undo.pop()()


def _forget_parents() -> None:
    _graveyard.append(dict(_pools))
    _pools.clear()


os.register_at_fork(after_in_child=_forget_parents)
