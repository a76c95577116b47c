"""Threads: joining them, their events, barriers and conditions, and the futures of `concurrent.futures`."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.waits import make_signal, make_wait, success_is_result
from ticktree.recorder import Channel, Recorder, Wait

# The `id` of the events that `Thread.start` waits for now, and of their conditions: they are not the program's, and
# the thread that sets them is not recorded yet.
_start_event_ids: set[int] = set()


def wrap(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wrap what is written in Python; `threading.Lock` is not, and cannot be wrapped."""
    _wrap_starting(patches, module)
    _wrap_threads(patches, recorder, module)
    _wrap_events(patches, recorder, module)


def _wrap_starting(patches: Patches, module: ModuleType) -> None:
    def make_start(start: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any) -> Any:
            event = getattr(self, "_started", None)
            ids = {id(event), id(getattr(event, "_cond", None))}
            _start_event_ids.update(ids)
            try:
                return start(self)
            finally:
                _start_event_ids.difference_update(ids)

        return wrapper

    patches.wrap_own(module, "Thread.start", make_start)


def _wrap_threads(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    ends = Channel(recorder, "thread end", own=True)

    def make_run(run: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any) -> Any:
            try:
                return run(self)
            finally:
                if recorder.knows_thread:
                    ends.wakes(id(self))

        return wrapper

    def success(thread: Any) -> Callable[[Any], bool]:
        return lambda _: _has_ended(thread)

    patches.wrap_own(module, "Thread._bootstrap_inner", make_run)
    join = make_wait(ends, "Thread.join", id, unless=_has_ended, success=success)
    patches.wrap_own(module, "Thread.join", join)


def _has_ended(thread: Any) -> bool:
    """Return whether there is nothing to wait for: it has ended, or is no thread."""
    try:
        return not thread.is_alive()
    except Exception:  # `join` reports the error
        return True


def _is_start_event(event: Any) -> bool:
    return id(event) in _start_event_ids


def _is_no_wait(event: Any) -> bool:
    return event.is_set() or id(event) in _start_event_ids


def _wrap_events(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    events, barriers = Channel(recorder, "event", own=True), Channel(recorder, "barrier", own=True)
    conditions = Channel(recorder, "condition", own=True)

    def make_notify(notify: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, n: int = 1) -> Any:  # each `put` of a queue calls it
            if getattr(self, "_waiters", True) and id(self) not in _start_event_ids:
                conditions.wakes(id(self))
            return notify(self, n)

        return wrapper

    wait_at_barrier, signal_arrival = make_wait(barriers, "Barrier.wait", id), make_signal(barriers, id)
    for path, make in {
        "Event.wait": make_wait(events, "Event.wait", id, unless=_is_no_wait, success=success_is_result),
        "Event.set": make_signal(events, id, unless=_is_start_event),
        "Barrier.wait": lambda wait: signal_arrival(wait_at_barrier(wait)),  # the last to arrive wakes all
        "Condition.wait": make_wait(
            conditions, "Condition.wait", id, unless=_is_start_event, success=success_is_result
        ),
        "Condition.notify": make_notify,
    }.items():
        patches.wrap_own(module, path, make)


def wrap_futures(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wrap futures: getting a result that exists is no wait."""
    futures = Channel(recorder, "future", own=True)
    wait = Wait(futures, "Future.result")

    def make_result(result: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, timeout: float | None = None) -> Any:
            try:
                if self.done():
                    return result(self, timeout)
                # If it raises the work's own exception, the wait succeeded.
                return wait.call(result, (self, timeout), id(self), _is_done(self), raising=True)
            finally:
                del self  # or the exception, which its future has, would keep itself alive

        return wrapper

    patches.wrap_own(module, "Future.result", make_result)
    patches.wrap_own(module, "Future.exception", make_result)
    patches.wrap_own(module, "Future.set_result", make_signal(futures, id))
    patches.wrap_own(module, "Future.set_exception", make_signal(futures, id))


def _is_done(future: Any) -> Callable[[Any], bool]:
    return lambda _: future.done()
