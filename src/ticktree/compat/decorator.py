"""The decorator: functions that are timed by whichever recorder is the one to use when they are called."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from ticktree.recorder import OFF_FOR_GOOD, Recorder
from ticktree.recorder import timed as timed_by
from ticktree.recorder.wrapping import leaving_no_frames

Function = TypeVar("Function", bound=Callable[..., Any])


def timed_on(
    recorder_now: Callable[[], Recorder | None], target: Any, name: str | None = None, *, memory: bool = False
) -> Any:
    """Make `target` a section.

    Args:
        recorder_now: Returns what is to record a call; None where nothing is.
        target: The function.
        name: The section's; by default the function's qualified name.
        memory: Whether to sample the memory that a call needs.

    Raises:
        TypeError: It cannot be called.
    """
    if isinstance(target, (staticmethod, classmethod)):
        return type(target)(timed_on(recorder_now, target.__func__, name, memory=memory))
    if not callable(target):
        raise TypeError(f"@timed wants a function, not {target!r}")
    return target if OFF_FOR_GOOD else _wrapped(target, _Variants(recorder_now, target, name, memory))


class _Variants:
    """A function as each recorder that was asked for times it."""

    def __init__(
        self,
        recorder_now: Callable[[], Recorder | None],
        function: Callable[..., Any],
        name: str | None,
        memory: bool,
    ) -> None:
        self._recorder_now = recorder_now
        self._function = function
        self._name = name
        self._memory = memory
        self._made: weakref.WeakKeyDictionary[Recorder, Callable[..., Any]] = weakref.WeakKeyDictionary()
        self._last: tuple[Recorder | None, Callable[..., Any]] = (None, function)

    def now(self) -> Callable[..., Any]:
        recorder = self._recorder_now()
        if recorder is None:
            return self._function
        known, variant = self._last
        if known is recorder:
            return variant
        made = self._made.get(recorder)
        variant = made or timed_by(recorder, self._name, memory=self._memory)(self._function)
        self._made[recorder] = variant
        self._last = (recorder, variant)
        return variant


def _wrapped(function: Callable[..., Any], variants: _Variants) -> Callable[..., Any]:
    """Return a function of the same kind: who inspects it must find a coroutine function to be one."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        @leaving_no_frames
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            return await variants.now()(*args, **kwargs)

        return coroutine
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        @leaving_no_frames
        def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            return (yield from variants.now()(*args, **kwargs))

        return generator

    @functools.wraps(function, assigned=_assigned(function))
    @leaving_no_frames
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return variants.now()(*args, **kwargs)

    return wrapper


def _assigned(function: Callable[..., Any]) -> list[str]:
    return [name for name in functools.WRAPPER_ASSIGNMENTS if hasattr(function, name)]
