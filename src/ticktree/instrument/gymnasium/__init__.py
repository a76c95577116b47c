"""gymnasium: the calls of the outermost env, those of vectors of envs, and steps as ticks."""

from __future__ import annotations

from functools import cache, partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ticktree.instrument.gymnasium.classes import METHODS, unwrap_methods, wrap_methods
from ticktree.instrument.gymnasium.ticks import env_loop
from ticktree.instrument.patches import Patches
from ticktree.recorder import Layer, OutermostFunction
from ticktree.recorder.site import NO_SITE, site_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ticktree.recorder import Recorder, UnmarkedLoop

# Around what wrappers.py puts there.
_RANK = 1

# Of AsyncVectorEnv, each with whether it waits for the workers; their pipes say which of them it was.
_ASYNC = {"reset_async": False, "reset_wait": True, "step_async": False, "step_wait": True}

_patches = Patches()


def install(recorder: Recorder) -> None:
    """Wraps envs and vectors of envs when gymnasium is imported."""
    ticks = env_loop(recorder)
    _patches.watch("gymnasium.core", lambda module: _follow(recorder, ticks, module.Env, "env"))
    _patches.watch(
        "gymnasium.vector.vector_env", lambda module: _follow(recorder, ticks, module.VectorEnv, "envs")
    )
    _patches.watch("gymnasium.vector.async_vector_env", lambda module: _wrap_halves(recorder, ticks, module))


def uninstall() -> None:
    """Puts everything back."""
    unwrap_methods(_RANK)
    _patches.undo()


def _follow(recorder: Recorder, ticks: UnmarkedLoop, base: type, name: str) -> None:
    # Wrapped is each class, and of envs in wrappers only the outermost call counts: that is at no one place.
    sections = {method: recorder.timed_section(f"{name}.{method}", NO_SITE) for method in METHODS}
    before = {"step": ticks.begins, "close": ticks.is_over}

    def make(function: Callable[..., Any], method: str) -> Any:
        return OutermostFunction(function, sections[method], _layer(f"{name}.{method}"), before.get(method))

    wrap_methods(base, _RANK, make)


@cache
def _layer(_name: str) -> Layer:
    """Of each name one: there are not many in a process."""
    return Layer()


def _wrap_halves(recorder: Recorder, ticks: UnmarkedLoop, module: ModuleType) -> None:
    for name, waits in _ASYNC.items():
        before = ticks.begins if name == "step_async" else None  # called without `step` around it
        _patches.wrap(module.AsyncVectorEnv, name, partial(_half, recorder, waits, before))


def _half(recorder: Recorder, waits: bool, before: Callable[[Any], None] | None, method: Any) -> Any:
    section = recorder.timed_section(method.__name__, site_of(method), wait=waits)
    return OutermostFunction(method, section, _layer(method.__name__), before)
