"""Doing something when a module is imported, without importing it for that."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType


class _Loader(importlib.abc.Loader):
    """A module's own loader, followed by a call."""

    def __init__(self, loader: importlib.abc.Loader, done: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._done = done

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader  # what the module is to see as its own
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._done(module)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds a watched module the way it is always found, and puts the call behind its loader."""

    def __init__(self) -> None:
        self.watched: dict[str, Callable[[ModuleType], None]] = {}

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the finder's signature
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        done = self.watched.pop(fullname, None)
        if done is None:
            return None
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            self.watched[fullname] = done
            return None
        spec.loader = _Loader(spec.loader, done)
        return spec


_finder = _Finder()


def when_imported(name: str, done: Callable[[ModuleType], None]) -> None:
    """Calls `done` with the module: now, if it is imported, else when it is."""
    module = sys.modules.get(name)
    if module is not None:
        done(module)
        return
    _finder.watched[name] = done
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def forget_imports() -> None:
    """Waits for no module any more."""
    _finder.watched.clear()
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
