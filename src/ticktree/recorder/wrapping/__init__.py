"""Wrap a function of another module, and restore it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from ticktree.recorder._native import drop_own_frames

# As in inspect, whose import costs more than all of ticktree's.
_CO_GENERATOR, _CO_COROUTINE = 0x20, 0x80

Function = TypeVar("Function", bound=Callable[..., Any])


def make_wrapper(function: Any, call: Any) -> Callable[..., Any]:
    """Return a wrapper of `function` that calls `call`; tracebacks do not show ticktree's frames.

    Like `call`, it is a function, a coroutine function or a generator function.
    """
    # Python's error message about wrong arguments contains the name.
    call.__qualname__ = getattr(function, "__qualname__", call.__qualname__)
    return functools.wraps(function)(without_own_frames(call))


def without_own_frames(call: Function) -> Function:
    """Return a wrapper that removes its frame, and ticktree's below it, from the traceback of an exception.

    It then releases its arguments: an exception may keep its callers' frames, and an argument the exception. A
    coroutine or generator refuses wrong arguments when it begins, not when it is created.
    """
    wrapper: Any = functools.wraps(call)(_wrapper_of(call))
    return wrapper  # type: ignore[no-any-return]


def _wrapper_of(call: Any) -> Callable[..., Any]:
    if call.__code__.co_flags & _CO_COROUTINE:

        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            try:
                return await call(*args, **kwargs)
            except BaseException:
                del args, kwargs
                drop_own_frames()
                raise

        return coroutine
    if call.__code__.co_flags & _CO_GENERATOR:

        def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            try:
                return (yield from call(*args, **kwargs))
            except BaseException:
                del args, kwargs
                drop_own_frames()
                raise

        return generator

    return _plain(call)


def _plain(call: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return call(*args, **kwargs)
        except BaseException:
            del args, kwargs
            drop_own_frames()
            raise

    return wrapper


def wrap(owner: Any, name: str, hook: Callable[..., Any]) -> Callable[[], None]:
    """Replace a function of a class or module: its callers call `hook` with the function and the arguments.

    Returns:
        A function that restores it.
    """
    original = getattr(owner, name)
    wrapper = functools.wraps(original)(_plain(functools.partial(hook, original)))

    def undo() -> None:
        # Other code may have wrapped it again; that wrapper then stays, and ours inside does no harm.
        if getattr(owner, name) is wrapper:
            setattr(owner, name, original)

    setattr(owner, name, wrapper)
    return undo
