"""Callbacks for when a module is imported, without importing it.

The classes do not derive from `importlib.abc`, whose import costs more than all of ticktree's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NamedTuple

from ticktree.recorder.wrapping import without_own_frames


class _Callbacks(NamedTuple):
    """The callbacks of one module: before it is created, and after it is loaded."""

    before: list[Callable[[], None]]
    after: list[Callable[[ModuleType], None]]


class _Finder:
    """Finds an awaited module with the other finders, and wraps its loader with the calls."""

    def __init__(self) -> None:
        self.awaited: dict[str, _Callbacks] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.awaited:
            return None
        spec = self._find(fullname, path, target)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader, self, fullname)  # type: ignore[assignment]
        elif spec is not None:
            self.run_before(fullname)  # a package without own code: this is its only event
        return spec

    def _find(self, *query: Any) -> ModuleSpec | None:
        for finder in sys.meta_path:
            if finder is self:
                continue
            if not hasattr(finder, "find_spec"):  # an old kind, which 3.12 removed
                if sys.version_info < (3, 12):
                    return None  # the interpreter knows how to call it and those that follow
                continue
            spec: ModuleSpec | None = finder.find_spec(*query)
            if spec is not None:
                return spec
        return None

    def run_before(self, name: str) -> None:
        """Make the calls before it is in `sys.modules`: a callback may still request a call for when it is loaded."""
        callbacks = self.awaited.get(name)
        while callbacks is not None and callbacks.before:
            _call(callbacks.before.pop(0))

    def run_after(self, name: str, module: ModuleType) -> None:
        """Make the calls after it has been executed."""
        callbacks = self.awaited.pop(name, None)
        for done in callbacks.after if callbacks is not None else ():
            _call(done, module)


class _Loader:
    """A module's own loader, between calls."""

    def __init__(self, loader: Any, finder: _Finder, name: str) -> None:
        self._loader = loader
        self._finder = finder
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)  # all other attributes of a loader

    @without_own_frames
    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        self._finder.run_before(self._name)
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    @without_own_frames
    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader  # the module sees its own loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        # Not before: many programs only check whether the module exists, and import it later, or import it again after
        # a failure.
        self._finder.run_after(self._name, module)


_finder: Any = _Finder()


def when_imported(name: str, done: Callable[[ModuleType], None]) -> Callable[[], None]:
    """Calls `done` with the module: now, if it is imported, else when it is.

    What `done` raises does not reach the program: another version of the library, for example, is left unchanged.

    Returns:
        A function that cancels the call if it is still pending.
    """
    module = sys.modules.get(name)
    if module is not None:
        _call(done, module)
        return _do_nothing
    _callbacks_of(name).after.append(done)
    return partial(_cancel, name, done)


def before_import(name: str, done: Callable[[], None]) -> Callable[[], None]:
    """Calls `done` before the module is imported: now, if it is already, else once when it is about to be.

    So the callback can itself await the module, and its submodules.

    Returns:
        A function that cancels the call if it is still pending.
    """
    if name in sys.modules:
        _call(done)
        return _do_nothing
    _callbacks_of(name).before.append(done)
    return partial(_cancel, name, done)


def cancel_all() -> None:
    """Cancels all calls, and restores the interpreter's finders."""
    _finder.awaited.clear()
    _cancel("", _do_nothing)


def _do_nothing() -> None:
    return


def _cancel(name: str, done: Callable[..., None]) -> None:
    callbacks = _finder.awaited.get(name)
    if callbacks is not None:
        for pending in callbacks:
            if done in pending:
                pending.remove(done)
        if not any(callbacks):
            _finder.awaited.pop(name, None)
    finders = sys.meta_path or []  # None while Python ends
    if not _finder.awaited and _finder in finders:
        finders.remove(_finder)


def _callbacks_of(name: str) -> _Callbacks:
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    callbacks: _Callbacks = _finder.awaited.setdefault(name, _Callbacks([], []))
    return callbacks


def _call(done: Callable[..., None], *module: ModuleType) -> None:
    try:
        done(*module)
    except Exception:  # the program's import continues
        return
