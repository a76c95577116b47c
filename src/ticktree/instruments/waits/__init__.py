"""Waits for queues, pipes, locks, threads, processes, programs and futures, and what ended them.

A call that may block is a wait with its own row inside an open section and on the main thread; elsewhere, such as
in helper threads that wait all the time, it has no row. Nor has a call that is part of another wait.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Make, Patches
from ticktree.instruments.targets import Hook, Instrument
from ticktree.recorder import Channel, Recorder, Wait

# The functions that wrap modules of the standard library; imported with those, because many processes import few.
_WRAPPERS = {
    "threading": ("threads", "wrap"),
    "queue": ("queues", "wrap"),
    "concurrent.futures._base": ("threads", "wrap_futures"),
    "multiprocessing.connection": ("pipes", "wrap"),
    "multiprocessing.queues": ("queues", "wrap_shared"),
    "multiprocessing.synchronize": ("locks", "wrap"),
    "subprocess": ("processes", "wrap_programs"),
    "multiprocessing.process": ("processes", "wrap"),
}

Key = str | int | tuple[int, ...] | None


def make_wait(
    channel: Channel,
    name: str,
    key: Callable[[Any], Key],
    *,
    unless: Callable[[Any], bool] | None = None,
    success: Callable[[Any], Callable[[Any], object] | None] = lambda _: None,
) -> Make:
    """Make a method a wait.

    Args:
        channel: The channel of the signals that end it.
        name: The row's name.
        key: Returns an object's key on the channel.
        unless: Whether a call on an object is no wait, or of no interest.
        success: Returns, for an object, a function that tells from a result whether the wait succeeded (`Wait.call`).
    """
    wait = Wait(channel, name)

    def make(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            if unless is not None and unless(self):
                return function(self, *args, **kwargs)
            call = partial(function, **kwargs) if kwargs else function
            return wait.call(call, (self, *args), key(self), success(self))

        return wrapper

    return make


def success_is_result(_: Any) -> Callable[[Any], object]:
    """Return the `success` of a method that returns whether the wait succeeded."""
    return bool


def make_signal(
    channel: Channel, key: Callable[[Any], Key], *, unless: Callable[[Any], bool] | None = None
) -> Make:
    """Make a method signal before it runs: a waiting thread may be awake before this one."""

    def make(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            if unless is None or not unless(self):
                channel.wakes(key(self))
            return function(self, *args, **kwargs)

        return wrapper

    return make


def _hook(file: str, function: str) -> Hook:
    def wrap(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
        getattr(import_module(f"{__name__}.{file}"), function)(patches, recorder, module)

    return wrap


# Locks that are created until everything is restored keep a wrapper that does nothing.
INSTRUMENT = Instrument("", hooks={name: _hook(*location) for name, location in _WRAPPERS.items()})
