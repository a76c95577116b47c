"""Doing something when a module is imported, without importing it for that.

The classes do without `importlib.abc`, whose import costs more than all of ticktree's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _Loader:
    """A module's own loader, followed by calls."""

    def __init__(self, loader: Any, watchers: list[Callable[[ModuleType], None]]) -> None:
        self._loader = loader
        self._watchers = watchers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)  # whatever else is asked of a loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader  # what the module is to see as its own
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        for done in self._watchers:
            _tell(done, module)


class _Finder:
    """Finds a watched module the way it is always found, and puts the call behind its loader."""

    def __init__(self) -> None:
        self.watched: dict[str, list[Callable[[ModuleType], None]]] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        watchers = self.watched.pop(fullname, None)
        if watchers is None:
            return None
        for finder in sys.meta_path:
            if finder is self:
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None and hasattr(spec.loader, "exec_module"):
                spec.loader = _Loader(spec.loader, watchers)  # type: ignore[assignment]
            if spec is not None:
                return spec
        self.watched[fullname] = watchers
        return None


_finder: Any = _Finder()


def when_imported(name: str, done: Callable[[ModuleType], None]) -> None:
    """Calls `done` with the module: now, if it is imported, else when it is.

    What `done` raises is not the program's affair: another version of the library, say, is left as it is.
    """
    module = sys.modules.get(name)
    if module is not None:
        _tell(done, module)
        return
    _finder.watched.setdefault(name, []).append(done)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def forget_import(name: str, done: Callable[[ModuleType], None]) -> None:
    """Takes back what was given to `when_imported`, if it is still waiting."""
    watchers = _finder.watched.get(name, [])
    if done in watchers:
        watchers.remove(done)
    if not watchers:
        _finder.watched.pop(name, None)
    if not _finder.watched and _finder in sys.meta_path:
        sys.meta_path.remove(_finder)


def _tell(done: Callable[[ModuleType], None], module: ModuleType) -> None:
    try:
        done(module)
    except Exception:  # the program's import goes on
        return
