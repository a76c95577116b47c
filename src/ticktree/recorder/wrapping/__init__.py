"""Wrapping a function of another module, and putting it back."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from ticktree.recorder._native import drop_own_frames

# As in inspect, whose import costs more than all of ticktree's.
_CO_GENERATOR, _CO_COROUTINE = 0x20, 0x80

Function = TypeVar("Function", bound=Callable[..., Any])


def stand_for(function: Any, call: Any) -> Callable[..., Any]:
    """Return a wrapper of `function` that calls `call`; tracebacks do not show ticktree's frames.

    It is of the kind that `call` is of: a function, a coroutine function or a generator function.
    """
    # What Python says of arguments that do not fit names the function.
    call.__qualname__ = getattr(function, "__qualname__", call.__qualname__)
    return functools.wraps(function)(leaving_no_frames(call))


def leaving_no_frames(call: Function) -> Function:
    """Make a function one whose frames, and ticktree's below it, are in no traceback of what it raises.

    Its arguments are let go of then: an exception may keep its callers' frames, and an argument the exception.
    Arguments that do not fit are refused by a coroutine or a generator as it begins, not as it is made.
    """
    made: Any = functools.wraps(call)(_leaving_none(call))
    return made  # type: ignore[no-any-return]


def _leaving_none(call: Any) -> Callable[..., Any]:
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
    """Replace a function of a class or a module: its callers call `hook` with it and the arguments.

    Returns:
        What puts it back.
    """
    original = getattr(owner, name)
    wrapper = functools.wraps(original)(_plain(functools.partial(hook, original)))

    def undo() -> None:
        # Other code may have wrapped it again meanwhile; that then stays, and ours under it does no harm.
        if getattr(owner, name) is wrapper:
            setattr(owner, name, original)

    setattr(owner, name, wrapper)
    return undo
