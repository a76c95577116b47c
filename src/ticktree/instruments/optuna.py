"""Optuna: the parts of `study.optimize`. Ticks are trials, including the choice of their parameters."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument, Target
from ticktree.instruments.ticks import ticks_within
from ticktree.recorder import Layer, Recorder
from ticktree.recorder.site import NO_SITE

_TRIAL = "trial"
# The layer tells which study a thread optimizes; the list has one entry per study that any thread optimizes.
_optimizing, _studies = Layer(), list[None]()

_SUGGESTIONS = ("suggest_float", "suggest_int", "suggest_categorical")
_TARGETS = [
    *(Target(f"optuna.trial:Trial.{name}", "suggest", layer="suggest") for name in _SUGGESTIONS),
    *(Target(f"optuna.trial:Trial.{name}", name) for name in ("report", "should_prune")),
    Target("optuna.study:Study.tell", "tell"),
]


def _wrap_studies(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    section = recorder.timed_section("optimize", NO_SITE)
    asking = recorder.timed_section("ask", NO_SITE)
    around = ticks_within(recorder, section, _TRIAL)

    def optimize(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        _studies.append(None)
        try:
            return around(function, *args, **kwargs)
        finally:
            _studies.pop()

    def begin_trial(_study: Any) -> None:
        if _studies:
            recorder.tick(_TRIAL)

    patches.section(module, "Study.optimize", section, _optimizing, subclasses=True, around=optimize)
    patches.section(module, "Study.ask", asking, None, begin_trial, subclasses=True)


def _wrap_storages(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Wrap the last call that a thread of `optimize(n_jobs=...)` makes: there its trial ends."""
    section = recorder.timed_section("remove_session", NO_SITE)

    def end_trial(_storage: Any) -> None:
        if _studies and _optimizing.within is None:
            recorder.tick(_TRIAL)

    patches.section(module, "BaseStorage.remove_session", section, None, end_trial, subclasses=True)


INSTRUMENT = Instrument(
    "optuna",
    tested=">=5.0.0,<5.1",
    targets=_TARGETS,
    hooks={"optuna.study": _wrap_studies, "optuna.storages": _wrap_storages},
)
