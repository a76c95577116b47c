"""What a program waits for: queues, pipes, locks, threads, processes, programs and futures; and what woke it.

A call that may block is a wait with its own row inside an open section and on the main thread; elsewhere, as
in helper threads that wait all the time, it has no row. What is part of another wait has none either.
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

# What wraps a module of the standard library: imported with it, for many a process imports few of these.
_WRAPS = {
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


def waiting(
    channel: Channel,
    name: str,
    key: Callable[[Any], Key],
    *,
    unless: Callable[[Any], bool] | None = None,
    came: Callable[[Any], Callable[[Any], object] | None] = lambda _: None,
) -> Make:
    """Make a method a wait.

    Args:
        channel: On which what wakes it signals.
        name: Of the row.
        key: Which of the channel's an object is.
        unless: Whether a call on an object is no wait, or of no interest.
        came: Of an object: what tells of a result whether what was waited for has come, as `Wait.call` needs it.
    """
    wait = Wait(channel, name)

    def make(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            if unless is not None and unless(self):
                return function(self, *args, **kwargs)
            call = partial(function, **kwargs) if kwargs else function
            return wait.call(call, (self, *args), key(self), came(self))

        return wrapper

    return make


def by_result(_: Any) -> Callable[[Any], object]:
    """Of a method that returns whether what was waited for has come."""
    return bool


def signalling(
    channel: Channel, key: Callable[[Any], Key], *, unless: Callable[[Any], bool] | None = None
) -> Make:
    """Make a method one that signals first: one that waits may be awake before this thread."""

    def make(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            if unless is None or not unless(self):
                channel.wakes(key(self))
            return function(self, *args, **kwargs)

        return wrapper

    return make


def _hook(part: str, function: str) -> Hook:
    def wrap(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
        getattr(import_module(f"{__name__}.{part}"), function)(patches, recorder, module)

    return wrap


# Locks that are made until all is put back keep a wrapper that does nothing.
INSTRUMENT = Instrument("", hooks={name: _hook(*where) for name, where in _WRAPS.items()})
