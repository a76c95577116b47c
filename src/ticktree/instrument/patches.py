"""Wrapping functions of other people's classes, and putting them back."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from ticktree.recorder.imports import when_imported
from ticktree.recorder.wrapping import stand_for

_ABSENT = object()
_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE


class Patches:
    """What one instrument has wrapped."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def watch(self, module: str, done: Callable[[ModuleType], None]) -> None:
        """Calls `done` with a module as soon as it is imported, until all is undone."""
        self._undo.append(when_imported(module, done))

    def wrap(self, owner: Any, name: str, make: Callable[[Any], Callable[..., Any]]) -> None:
        """Replaces a function of a class or a module by `make(function)`; none where there is none of that name.

        Nor where the class cannot be changed: one that is written in C.
        """
        original = vars(owner).get(name, _ABSENT)
        function = original.__func__ if isinstance(original, staticmethod) else original
        if not callable(function) or (isinstance(owner, type) and owner.__flags__ & _IMMUTABLE):
            return
        made = make(function)
        is_python = isinstance(made, FunctionType)
        wrapper = stand_for(function, made) if is_python else functools.wraps(function)(made)
        self.put(owner, name, staticmethod(wrapper) if isinstance(original, staticmethod) else wrapper)

    def wrap_at(self, module: ModuleType, path: str, make: Callable[[Any], Callable[..., Any]]) -> None:
        """Replaces `Class.method` of a module; none where another version of it has no such class."""
        owner, _, name = path.rpartition(".")
        kind = getattr(module, owner, None)
        if isinstance(kind, type):
            self.wrap(kind, name, make)

    def wrap_own(self, module: ModuleType, path: str, make: Callable[[Any], Callable[..., Any]]) -> None:
        """Replaces a function or `Class.method` that a module itself defines.

        What another library has put there instead (gevent, eventlet, a test's double) is left alone: nothing is known
        of it.
        """
        owner, _, name = path.rpartition(".")
        known = getattr(module, owner or name, None)
        if getattr(known, "__module__", None) == module.__name__:
            self.wrap(known if owner else module, name, make)

    def put(self, owner: Any, name: str, ours: Any) -> None:
        """Puts `ours` in the place of an attribute of a class or a module, or where there was none."""
        original = vars(owner).get(name, _ABSENT)

        def undo() -> None:
            # Somebody may have wrapped it again meanwhile; theirs then stays.
            if vars(owner).get(name) is not ours:
                return
            if original is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, original)

        setattr(owner, name, ours)
        self._undo.append(undo)

    def undo(self) -> None:
        """Puts everything back."""
        while self._undo:
            self._undo.pop()()
