"""stable-baselines3 and sb3-contrib: the parts of an algorithm's `learn`, in the libraries' own terms.

Ticks are iterations: one rollout and the training on it. The policy's forward pass is a row of `torch`.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument, Target, methods
from ticktree.instruments.ticks import Training
from ticktree.recorder import Layer, Recorder, Section, SectionsByObject
from ticktree.recorder.site import NO_SITE

_COMMON = "stable_baselines3.common"
_CALLBACK_METHODS = ("on_training_start", "on_rollout_start", "on_step", "on_rollout_end", "on_training_end")
_BATCHES = {
    f"{_COMMON}.buffers": "RolloutBuffer DictRolloutBuffer",
    "sb3_contrib.common.recurrent.buffers": "RecurrentRolloutBuffer RecurrentDictRolloutBuffer",
    "sb3_contrib.common.maskable.buffers": "MaskableRolloutBuffer MaskableDictRolloutBuffer",
}


_LEARNING = Training("iteration")
_ALGORITHM, _BUFFER = f"{_COMMON}.base_class:BaseAlgorithm", f"{_COMMON}.buffers:BaseBuffer"
_WORKERS = f"{_COMMON}.vec_env.subproc_vec_env:SubprocVecEnv"
_POLICY_METHODS = ("predict", "evaluate_actions", "predict_values")

_TARGETS = [
    *methods(_ALGORITHM, "learn", make_options=_LEARNING.run),
    # An algorithm has some of these methods.
    *methods(_ALGORITHM, "train", "evaluate_candidates", required=False),
    *methods(_ALGORITHM, "collect_rollouts", required=False, make_options=_LEARNING.begin_tick),
    *methods(
        _ALGORITHM,
        "_do_one_update",  # ARS's iteration
        section="do_one_update",
        required=False,
        make_options=_LEARNING.begin_tick,
    ),
    *methods(
        f"{_COMMON}.policies:BaseModel", *_POLICY_METHODS, title="policy ", layer="policy", required=False
    ),
    *methods(f"{_COMMON}.vec_env.base_vec_env:VecEnv", "reset", "step", title="VecEnv ", layer="VecEnv"),
    # DummyVecEnv does nothing in the former, and in the latter only the environments' own steps.
    Target(f"{_WORKERS}.step_async", "VecEnv step_async"),
    Target(f"{_WORKERS}.step_wait", "VecEnv step_wait", wait=True),
    *methods(_BUFFER, "add", "sample", title="buffer "),
    *methods(_BUFFER, "compute_returns_and_advantage", required=False),
    # A generator of batches: each batch is a call.
    *(
        Target(f"{module}:{name}.get", "buffer get")
        for module, names in _BATCHES.items()
        for name in names.split()
    ),
    Target(f"{_COMMON}.logger:Logger.dump", "logger dump"),
    Target(f"{_COMMON}.evaluation:evaluate_policy", "evaluate_policy"),
    Target(f"{_COMMON}.utils:polyak_update", "polyak_update"),
]


def _wrap_callbacks(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    layer, default = Layer(), recorder.timed_section("callback", NO_SITE)

    def callback_section(callback: Any) -> Section | None:
        if isinstance(callback, module.CallbackList):
            return None  # its callbacks have sections
        name = type(callback).__name__
        if isinstance(callback, module.ConvertCallback):
            if callback.callback is None:
                return None
            name = getattr(callback.callback, "__name__", "function")
        return recorder.timed_section(f"callback {name}", NO_SITE)

    choice = SectionsByObject(callback_section)
    for name in _CALLBACK_METHODS:
        patches.section(module, f"BaseCallback.{name}", default, layer, choice=choice)


INSTRUMENT = Instrument(
    "stable-baselines3",
    tested=">=2.6.0,<2.10",
    targets=_TARGETS,
    hooks={f"{_COMMON}.callbacks": _wrap_callbacks},
)
