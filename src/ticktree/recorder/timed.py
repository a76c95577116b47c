"""`@timed`: functions, methods, coroutines and generators as sections."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import AbstractContextManager
from typing import Any

from ticktree.recorder._native import (
    AttendedSection,
    Recorder,
    Section,
    TimedFunction,
    drop_own_frames,
    mark_by_hand,
)
from ticktree.recorder.gil import IS_OFF
from ticktree.recorder.site import site_of

Timer = AbstractContextManager[Any]


def timed(recorder: Recorder, target: Any = None, /, *, name: str | None = None, **options: Any) -> Any:
    """Makes a function a section: `@timed`, or `@timed("name", memory=True)`.

    Plain functions and methods are timed from call to return, coroutines from entry to exit with what they
    await, generators only while they run: each resumption is one call. Name, signature and docstring stay.

    Args:
        recorder: The recorder.
        target: The function, or a name for it instead of its qualified name.
        name: The same name, if it is not the first argument.
        options: Those of `timed_section`: wait, memory, cpu, device.

    Raises:
        TypeError: If the decorated object is not a function, or the name is not a str.
        ValueError: If there is no such device.
    """
    if isinstance(target, str):
        if name is not None:
            raise TypeError(f"timed() got two names: {target!r} and {name!r}")
        target, name = None, target
    if not (name is None or isinstance(name, str)):
        raise TypeError(f"timed(name=...) must be a str, not {name!r}")
    if target is None:
        return lambda function: decorate(recorder, function, name, **options)
    return decorate(recorder, target, name, **options)


def decorate(recorder: Recorder, function: Any, name: str | None, **options: Any) -> Any:
    """Return a function, static method or class method as a section; see `timed`."""
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(decorate(recorder, function.__func__, name, **options))
    if isinstance(function, type):
        # The wrapper would not be a type: isinstance and subclassing would fail.
        raise TypeError(
            f"{function.__qualname__} is a class: decorate its methods, such as {function.__qualname__}.__init__"
        )
    if not callable(function):
        raise TypeError(f"a function can be decorated, not {function!r}")
    name = name or str(getattr(function, "__qualname__", None) or repr(function))
    section = recorder.timed_section(name, site_of(function), **options)
    if IS_OFF:  # checked here, not at each call, so that off costs nothing
        return function
    mark_by_hand(recorder)
    return wrap_in_section(function, section)


def wrap_in_section(function: Callable[..., Any], section: Section) -> Any:
    """Return a function of the same kind that runs in a section; see `timed`."""
    import inspect  # here, because it would cost programs under `ticktree run` without decorators 9 ms

    if inspect.iscoroutinefunction(function):
        return _timed_coroutine(function, section)
    if inspect.isasyncgenfunction(function):
        return _timed_async_generator(function, section)
    if inspect.isgeneratorfunction(function):
        return timed_generator(function, section)
    if isinstance(section, AttendedSection):
        return _timed_plain(function, section)
    return functools.update_wrapper(TimedFunction(function, section), function)


def _timed_plain(function: Callable[..., Any], section: Timer) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            with section:
                return function(*args, **kwargs)
        except BaseException:
            drop_own_frames()
            raise

    return wrapper


def _timed_coroutine(function: Callable[..., Any], section: Timer) -> Callable[..., Any]:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            with section:
                return await function(*args, **kwargs)
        except BaseException:
            drop_own_frames()
            raise

    return wrapper


def timed_generator(function: Callable[..., Any], section: Timer) -> Callable[..., Any]:
    """Return a generator function that is in a section while it runs: each resumption is one call."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        try:
            generator = function(*args, **kwargs)
            resume, value = generator.send, None
            while True:
                try:
                    with section:
                        item = resume(value)
                except StopIteration as stop:
                    return stop.value
                try:
                    resume, value = generator.send, (yield item)
                except GeneratorExit:
                    with section:
                        generator.close()
                    raise
                except BaseException as error:
                    drop_own_frames()
                    resume, value = generator.throw, error
        except BaseException:
            drop_own_frames()
            raise

    return wrapper


def _timed_async_generator(function: Callable[..., Any], section: Timer) -> Callable[..., Any]:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        try:
            generator = function(*args, **kwargs)
            resume, value = generator.asend, None
            while True:
                try:
                    with section:
                        item = await resume(value)
                except StopAsyncIteration:
                    return
                try:
                    resume, value = generator.asend, (yield item)
                except GeneratorExit:
                    with section:
                        await generator.aclose()
                    raise
                except BaseException as error:
                    drop_own_frames()
                    resume, value = generator.athrow, error
        except BaseException:
            drop_own_frames()
            raise

    return wrapper
