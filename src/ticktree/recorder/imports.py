"""Doing something when a module is imported, without importing it for that.

The classes do without `importlib.abc`, whose import costs more than all of ticktree's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ticktree.recorder.wrapping import leaving_no_frames


class _Awaited:
    """The callbacks of one module: before it is made, and when it is loaded."""

    __slots__ = ("after", "before")

    def __init__(self) -> None:
        self.before: list[Callable[[], None]] = []
        self.after: list[Callable[[ModuleType], None]] = []


class _Finder:
    """Finds an awaited module the way it is always found, and puts the calls around its loader."""

    def __init__(self) -> None:
        self.awaited: dict[str, _Awaited] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.awaited:
            return None
        spec = self._found(fullname, path, target)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader, self, fullname)  # type: ignore[assignment]
        elif spec is not None:
            self.begins(fullname)  # a package without own code: this is its only event
        return spec

    def _found(self, *query: Any) -> ModuleSpec | None:
        for finder in sys.meta_path:
            if finder is self:
                continue
            if not hasattr(finder, "find_spec"):  # of a kind that is gone since 3.12
                if sys.version_info < (3, 12):
                    return None  # the interpreter knows how to ask it, and those that follow
                continue
            spec: ModuleSpec | None = finder.find_spec(*query)
            if spec is not None:
                return spec
        return None

    def begins(self, name: str) -> None:
        """It is not in `sys.modules` yet: the callback may still request a call when it is loaded."""
        awaited = self.awaited.get(name)
        while awaited is not None and awaited.before:
            _tell(awaited.before.pop(0))

    def is_there(self, name: str, module: ModuleType) -> None:
        """It has run to its end."""
        awaited = self.awaited.pop(name, None)
        for done in awaited.after if awaited is not None else ():
            _tell(done, module)


class _Loader:
    """A module's own loader, between calls."""

    def __init__(self, loader: Any, finder: _Finder, name: str) -> None:
        self._loader = loader
        self._finder = finder
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)  # all other attributes of a loader

    @leaving_no_frames
    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        self._finder.begins(self._name)
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    @leaving_no_frames
    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader  # what the module is to see as its own
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        # Only now: many a program asks whether there is such a module, and imports it later; or it fails, and is
        # imported again.
        self._finder.is_there(self._name, module)


_finder: Any = _Finder()


def when_imported(name: str, done: Callable[[ModuleType], None]) -> Callable[[], None]:
    """Calls `done` with the module: now, if it is imported, else when it is.

    What `done` raises is not the program's affair: another version of the library, say, is left as it is.

    Returns:
        What takes it back, if it is still waiting.
    """
    module = sys.modules.get(name)
    if module is not None:
        _tell(done, module)
        return _nothing
    _awaited(name).after.append(done)
    return partial(_forget, name, done)


def before_import(name: str, done: Callable[[], None]) -> Callable[[], None]:
    """Calls `done` before the module is imported: now, if it is already, else once when it is about to be.

    So what is called can itself await the module, and its submodules.

    Returns:
        What takes it back, if it is still waiting.
    """
    if name in sys.modules:
        _tell(done)
        return _nothing
    _awaited(name).before.append(done)
    return partial(_forget, name, done)


def await_nothing() -> None:
    """Forgets all that is awaited, and leaves the interpreter's finders as they were."""
    _finder.awaited.clear()
    _forget("", _nothing)


def _nothing() -> None:
    return


def _forget(name: str, done: Callable[..., None]) -> None:
    awaited = _finder.awaited.get(name)
    if awaited is not None:
        for waiting in (awaited.before, awaited.after):
            if done in waiting:
                waiting.remove(done)
        if not (awaited.before or awaited.after):
            _finder.awaited.pop(name, None)
    finders = sys.meta_path or []  # None while Python ends
    if not _finder.awaited and _finder in finders:
        finders.remove(_finder)


def _awaited(name: str) -> _Awaited:
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    awaited: _Awaited = _finder.awaited.setdefault(name, _Awaited())
    return awaited


def _tell(done: Callable[..., None], *module: ModuleType) -> None:
    try:
        done(*module)
    except Exception:  # the program's import continues
        return
