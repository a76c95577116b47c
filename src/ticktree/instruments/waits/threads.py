"""Threads: joining them, what they wait for each other with, and the futures of `concurrent.futures`."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.waits import by_result, signalling, waiting
from ticktree.recorder import Channel, Recorder, Wait

# The events that threads' starters wait for now, and their conditions, by `id`: that a thread runs is no news of the
# program's, and the thread itself, which says so, is not known to anybody yet.
_quiet: set[int] = set()


def wrap(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wraps what is written in Python; `threading.Lock` is not, and cannot be wrapped."""
    _wrap_starting(patches, module)
    _wrap_threads(patches, recorder, module)
    _wrap_events(patches, recorder, module)


def _wrap_starting(patches: Patches, module: ModuleType) -> None:
    def make_start(start: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any) -> Any:
            started = getattr(self, "_started", None)
            inner = {id(started), id(getattr(started, "_cond", None))}
            _quiet.update(inner)
            try:
                return start(self)
            finally:
                _quiet.difference_update(inner)

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

    patches.wrap_own(module, "Thread._bootstrap_inner", make_run)
    join = waiting(
        ends, "Thread.join", id, unless=_has_ended, came=lambda thread: lambda _: _has_ended(thread)
    )
    patches.wrap_own(module, "Thread.join", join)


def _has_ended(thread: Any) -> bool:
    """Whether there is nothing to wait for: it has ended, or was never a thread."""
    try:
        return not thread.is_alive()
    except Exception:  # `join` says best what is wrong
        return True


def _is_quiet(thing: Any) -> bool:
    return id(thing) in _quiet


def _is_set(event: Any) -> bool:
    return event.is_set() or id(event) in _quiet


def _wrap_events(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    events, barriers = Channel(recorder, "event", own=True), Channel(recorder, "barrier", own=True)
    conditions = Channel(recorder, "condition", own=True)

    def make_notify(notify: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, n: int = 1) -> Any:  # each `put` of a queue calls it
            if getattr(self, "_waiters", True) and id(self) not in _quiet:
                conditions.wakes(id(self))
            return notify(self, n)

        return wrapper

    meeting, arriving = waiting(barriers, "Barrier.wait", id), signalling(barriers, id)
    for path, make in {
        "Event.wait": waiting(events, "Event.wait", id, unless=_is_set, came=by_result),
        "Event.set": signalling(events, id, unless=_is_quiet),
        "Barrier.wait": lambda meet: arriving(meeting(meet)),  # the last to arrive wakes all
        "Condition.wait": waiting(conditions, "Condition.wait", id, unless=_is_quiet, came=by_result),
        "Condition.notify": make_notify,
    }.items():
        patches.wrap_own(module, path, make)


def wrap_futures(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wraps futures: a result that is there already is no wait."""
    futures = Channel(recorder, "future", own=True)
    getting = Wait(futures, "Future.result")

    def make_result(result: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, timeout: float | None = None) -> Any:
            try:
                if self.done():
                    return result(self, timeout)
                # What it raises may be the work's own exception: waited for, and come.
                return getting.call(result, (self, timeout), id(self), _came(self), raising=True)
            finally:
                del self  # or the exception, which its future has, would keep itself alive

        return wrapper

    patches.wrap_own(module, "Future.result", make_result)
    patches.wrap_own(module, "Future.exception", make_result)
    patches.wrap_own(module, "Future.set_result", signalling(futures, id))
    patches.wrap_own(module, "Future.set_exception", signalling(futures, id))


def _came(future: Any) -> Callable[[Any], bool]:
    return lambda _: future.done()
