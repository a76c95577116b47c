"""stable-baselines3 and sb3-contrib: what an algorithm's `learn` does, in their own terms.

Ticks are iterations: one rollout and the training on it. The policy's forward pass is a row of `torch`.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument, Target
from ticktree.instruments.ticks import ticks_within
from ticktree.recorder import Layer, Recorder, Section, SectionsByObject
from ticktree.recorder.site import NO_SITE

ITERATION = "iteration"

_COMMON = "stable_baselines3.common"
_CALLBACK_METHODS = (
    *("on_training_start", "on_rollout_start", "on_step", "on_rollout_end", "on_training_end"),
)
_BATCHES = {
    f"{_COMMON}.buffers": "RolloutBuffer DictRolloutBuffer",
    "sb3_contrib.common.recurrent.buffers": "RecurrentRolloutBuffer RecurrentDictRolloutBuffer",
    "sb3_contrib.common.maskable.buffers": "MaskableRolloutBuffer MaskableDictRolloutBuffer",
}


def _methods(owner: str, title: str, *names: str, layer: str = "", required: bool = True) -> list[Target]:
    """Methods of a class and its subclasses; `title` is put before their names."""
    return [
        Target(f"{_COMMON}.{owner}.{name}", f"{title}{name}", True, layer=layer, required=required)
        for name in names
    ]


_TARGETS = [
    # Which of them an algorithm has depends on its kind.
    *_methods("base_class:BaseAlgorithm", "", "train", "evaluate_candidates", required=False),
    *_methods(
        "policies:BaseModel",
        "policy ",
        "predict",
        "evaluate_actions",
        "predict_values",
        layer="policy",
        required=False,
    ),
    *_methods("vec_env.base_vec_env:VecEnv", "VecEnv ", "reset", "step", layer="VecEnv"),
    # What DummyVecEnv does in these two is nothing, and the environments' own steps.
    Target(f"{_COMMON}.vec_env.subproc_vec_env:SubprocVecEnv.step_async", "VecEnv step_async"),
    Target(f"{_COMMON}.vec_env.subproc_vec_env:SubprocVecEnv.step_wait", "VecEnv step_wait", wait=True),
    *_methods("buffers:BaseBuffer", "buffer ", "add", "sample"),
    *_methods("buffers:BaseBuffer", "", "compute_returns_and_advantage", required=False),
    # A generator of batches: each is a call.
    *(
        Target(f"{module}:{name}.get", "buffer get")
        for module, names in _BATCHES.items()
        for name in names.split()
    ),
    Target(f"{_COMMON}.logger:Logger.dump", "logger dump"),
    Target(f"{_COMMON}.evaluation:evaluate_policy", "evaluate_policy"),
    Target(f"{_COMMON}.utils:polyak_update", "polyak_update"),
]


def _wrap_learning(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    learning, section = Layer(), recorder.timed_section("learn", NO_SITE)

    def begin_iteration(_algorithm: Any) -> None:
        if learning.within is not None:
            recorder.tick(ITERATION)

    around = ticks_within(recorder, section, ITERATION)
    patches.section(module, "BaseAlgorithm.learn", section, learning, subclasses=True, redirection=around)
    for name in ("collect_rollouts", "_do_one_update"):  # the latter is ARS's iteration
        patches.section(
            module,
            f"BaseAlgorithm.{name}",
            recorder.timed_section(name.strip("_"), NO_SITE),
            before=begin_iteration,
            subclasses=True,
            required=False,
        )


def _wrap_callbacks(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    layer, own = Layer(), recorder.timed_section("callback", NO_SITE)

    def section_of(callback: Any) -> Section | None:
        if isinstance(callback, module.CallbackList):
            return None  # those in it have theirs
        if isinstance(callback, module.ConvertCallback):
            if callback.callback is None:
                return None
            return recorder.timed_section(
                f"callback {getattr(callback.callback, '__name__', 'function')}", NO_SITE
            )
        return recorder.timed_section(f"callback {type(callback).__name__}", NO_SITE)

    choice = SectionsByObject(section_of)
    for name in _CALLBACK_METHODS:
        patches.section(module, f"BaseCallback.{name}", own, layer, choice=choice)


INSTRUMENT = Instrument(
    "stable-baselines3",
    tested=">=2.6.0,<2.10",
    targets=_TARGETS,
    hooks={f"{_COMMON}.base_class": _wrap_learning, f"{_COMMON}.callbacks": _wrap_callbacks},
)
