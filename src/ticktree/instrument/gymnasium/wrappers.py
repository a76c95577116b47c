"""gymnasium's wrappers, each with its own share: on demand, for every layer costs a call more."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ticktree.instrument.gymnasium.classes import METHODS, unwrap_methods, wrap_methods
from ticktree.instrument.methods import MethodWrapper
from ticktree.instrument.patches import Patches
from ticktree.recorder import drop_own_frames
from ticktree.recorder.site import NO_SITE

if TYPE_CHECKING:
    from ticktree.recorder import Recorder, Section

_RANK = 0

_patches = Patches()


def install(recorder: Recorder) -> None:
    """Wraps every class of envs and of their wrappers, of vectors too, when gymnasium is imported."""
    _patches.watch("gymnasium.core", lambda module: _follow(recorder, module.Env))
    _patches.watch("gymnasium.vector.vector_env", lambda module: _follow(recorder, module.VectorEnv))


def uninstall() -> None:
    """Puts everything back."""
    unwrap_methods(_RANK)
    _patches.undo()


def _follow(recorder: Recorder, base: type) -> None:
    running = {method: _Running() for method in METHODS}

    def make(function: Callable[..., Any], method: str) -> Any:
        return _Share(function, recorder, method, running[method])

    wrap_methods(base, _RANK, make)


class _Running(threading.local):
    """Which env's call is the innermost one of this thread."""

    env: Any = None


class _Share(MethodWrapper):
    """A method in a section called after the class of its env; what a class inherits and calls is part of it."""

    def __init__(
        self, function: Callable[..., Any], recorder: Recorder, method: str, running: _Running
    ) -> None:
        super().__init__(function)
        self._recorder = recorder
        self._method = method
        self._running = running
        self._sections: dict[str, Section] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        env, running = (args[0] if args else None), self._running
        around = running.env
        try:
            if env is None or around is env:
                return self._function(*args, **kwargs)
            running.env = env
            with self._section_of(type(env).__name__):
                return self._function(*args, **kwargs)
        except BaseException:
            drop_own_frames()
            raise
        finally:
            running.env = around

    def __reduce__(self) -> Any:
        # As recorder/wrapping/outermost.pxi has it: the function as it is, where the class travels by its value.
        qualname = getattr(self, "__qualname__", "<locals>")
        if self.__module__ == "__main__" or "<locals>" in qualname:
            return copy.copy, (self._function,)
        return qualname

    def _section_of(self, kind: str) -> Section:
        section = self._sections.get(kind)
        if section is None:
            code = getattr(_innermost(self._function), "__code__", None)
            site = (code.co_filename, code.co_firstlineno, code.co_name) if code is not None else NO_SITE
            section = self._recorder.timed_section(f"{kind}.{self._method}", site)
            self._sections[kind] = section
        return section


def _innermost(function: Any) -> Any:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function
