"""gymnasium: the calls of the outermost env, those of vectors of envs, and steps as ticks."""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ticktree.instrument.gymnasium.classes import Classes
from ticktree.instrument.gymnasium.ticks import Ticks
from ticktree.instrument.patches import Patches
from ticktree.recorder import Layer, OutermostFunction

if TYPE_CHECKING:
    from collections.abc import Callable

    from ticktree.recorder import Recorder

METHODS = ("reset", "step", "render", "close")

# Of AsyncVectorEnv, each with whether it waits for the workers; their pipes say which of them it was.
_ASYNC = {"reset_async": False, "reset_wait": True, "step_async": False, "step_wait": True}

# Wrapped is each class, and of envs in wrappers only the outermost call counts: a section has no other place in the
# program, so it says none.
_NO_SITE = ("", 0, "")

_patches = Patches()
_classes: list[Classes] = []


def install(recorder: Recorder) -> None:
    """Wraps envs and vectors of envs when gymnasium is imported."""
    ticks = Ticks(recorder)
    _patches.watch("gymnasium.core", lambda module: _follow(recorder, ticks, module.Env, "env"))
    _patches.watch(
        "gymnasium.vector.vector_env", lambda module: _follow(recorder, ticks, module.VectorEnv, "envs")
    )
    _patches.watch(
        "gymnasium.vector.async_vector_env", lambda module: _wrap_halves(recorder, ticks, module)
    )


def uninstall() -> None:
    """Puts everything back."""
    while _classes:
        _classes.pop().undo()
    _patches.undo()


def _follow(recorder: Recorder, ticks: Ticks, base: type, name: str) -> None:
    sections = {method: recorder.timed_section(f"{name}.{method}", _NO_SITE) for method in METHODS}
    layers = {method: Layer() for method in METHODS}
    before = {"step": ticks.step_begins, "close": ticks.is_closed}

    def make(function: Callable[..., Any], method: str, _owner: type) -> Any:
        return OutermostFunction(function, sections[method], layers[method], before.get(method))

    classes = Classes(_patches, METHODS, make)
    _classes.append(classes)
    classes.follow(base)


def _wrap_halves(recorder: Recorder, ticks: Ticks, module: ModuleType) -> None:
    for name, waits in _ASYNC.items():
        before = ticks.step_begins if name == "step_async" else None  # called without `step` around it
        _patches.wrap(module.AsyncVectorEnv, name, partial(_half, recorder, waits, before))


def _half(recorder: Recorder, waits: bool, before: Callable[[Any], None] | None, method: Any) -> Any:
    code = method.__code__
    site = (code.co_filename, code.co_firstlineno, getattr(code, "co_qualname", code.co_name))
    section = recorder.timed_section(method.__name__, site, wait=waits)
    return OutermostFunction(method, section, Layer(), before)
