"""stable-baselines3 and sb3-contrib: what an algorithm's `learn` does, in their own terms.

Ticks are iterations: one rollout and the training on it. The policy's forward pass is a row of `torch`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from ticktree.instrument.methods import ClassHierarchy, Guard, Method, Sections, simply
from ticktree.instrument.patches import Patches
from ticktree.recorder.site import site_of
from ticktree.recorder.timed import in_section

if TYPE_CHECKING:
    from ticktree.recorder import Recorder, Section

ITERATION = "iteration"

_patches = Patches()

_CALLBACK_METHODS = (
    "on_training_start",
    "on_rollout_start",
    "on_step",
    "on_rollout_end",
    "on_training_end",
)
_ROLLOUT_BUFFERS = {
    "stable_baselines3.common.buffers": ("RolloutBuffer", "DictRolloutBuffer"),
    "sb3_contrib.common.recurrent.buffers": ("RecurrentRolloutBuffer", "RecurrentDictRolloutBuffer"),
    "sb3_contrib.common.maskable.buffers": ("MaskableRolloutBuffer", "MaskableDictRolloutBuffer"),
}


def install(recorder: Recorder) -> None:
    """Wraps each part when it is imported."""
    common = "stable_baselines3.common"
    parts: dict[str, Callable[[Recorder, ModuleType], None]] = {
        f"{common}.base_class": _wrap_algorithms,
        f"{common}.policies": _wrap_policies,
        f"{common}.vec_env.base_vec_env": _wrap_envs,
        f"{common}.vec_env.subproc_vec_env": _wrap_workers,
        f"{common}.callbacks": _wrap_callbacks,
        f"{common}.buffers": _wrap_buffers,
        f"{common}.logger": _wrap_logger,
        f"{common}.evaluation": _wrap_evaluation,
        f"{common}.utils": _wrap_utils,
    }
    for name, wrap in parts.items():
        _patches.watch(name, partial(wrap, recorder))
    for name, buffers in _ROLLOUT_BUFFERS.items():
        _patches.watch(name, partial(_wrap_batches, recorder, buffers))


def uninstall() -> None:
    """Puts everything back."""
    _patches.undo()


def _wrap_algorithms(recorder: Recorder, module: ModuleType) -> None:
    algorithms = ClassHierarchy(_patches, module.BaseAlgorithm)
    learning = Guard()
    algorithms.wrap("learn", lambda _: _Learning(recorder), learning)
    for name in ("collect_rollouts", "_do_one_update"):  # the latter is ARS's iteration
        algorithms.wrap(name, _beginning_ticks(recorder, name.strip("_"), learning))
    for name in ("train", "evaluate_candidates"):
        algorithms.wrap(name, simply(recorder, name))


class _Learning:
    """The section of a `learn` that ends its last iteration when it does."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._section = recorder.section("learn")

    def __enter__(self) -> None:
        self._section.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._recorder.tick(ITERATION)
        self._section.__exit__(kind, error, trace)


def _beginning_ticks(recorder: Recorder, name: str, learning: Guard) -> Sections:
    section = recorder.section(name)

    def begin(_: Any) -> Section:
        if learning.is_open:
            recorder.tick(ITERATION)
        return section

    return begin


def _wrap_policies(recorder: Recorder, module: ModuleType) -> None:
    policies, guard = ClassHierarchy(_patches, module.BaseModel), Guard()
    for name in ("predict", "evaluate_actions", "predict_values"):
        policies.wrap(name, simply(recorder, f"policy {name}"), guard)


def _wrap_envs(recorder: Recorder, module: ModuleType) -> None:
    envs, guard = ClassHierarchy(_patches, module.VecEnv), Guard()
    for name in ("reset", "step"):
        envs.wrap(name, simply(recorder, f"VecEnv {name}"), guard)


def _wrap_workers(recorder: Recorder, module: ModuleType) -> None:
    """What DummyVecEnv does in these two is nothing, and the environments' own steps."""
    for name, waits in (("step_async", False), ("step_wait", True)):
        sections = simply(recorder, f"VecEnv {name}", wait=waits)
        _patches.wrap(module.SubprocVecEnv, name, partial(Method, sections=sections, guard=Guard()))


def _wrap_callbacks(recorder: Recorder, module: ModuleType) -> None:
    guard = Guard()

    def of(callback: Any) -> Section | None:
        if isinstance(callback, module.CallbackList):
            return None  # those in it have theirs
        if isinstance(callback, module.ConvertCallback):
            if callback.callback is None:
                return None
            return recorder.section(f"callback {getattr(callback.callback, '__name__', 'function')}")
        return recorder.section(f"callback {type(callback).__name__}")

    for name in _CALLBACK_METHODS:
        _patches.wrap(module.BaseCallback, name, partial(Method, sections=of, guard=guard))


def _wrap_buffers(recorder: Recorder, module: ModuleType) -> None:
    buffers = ClassHierarchy(_patches, module.BaseBuffer)
    for name in ("add", "sample"):
        buffers.wrap(name, simply(recorder, f"buffer {name}"))
    buffers.wrap("compute_returns_and_advantage", simply(recorder, "compute_returns_and_advantage"))


def _wrap_batches(recorder: Recorder, buffers: tuple[str, ...], module: ModuleType) -> None:
    for name in buffers:  # a generator of batches, timed while it makes one
        _patches.wrap_at(module, f"{name}.get", _timed(recorder, "buffer get"))


def _wrap_logger(recorder: Recorder, module: ModuleType) -> None:
    _patches.wrap(module.Logger, "dump", _timed(recorder, "logger dump"))


def _wrap_evaluation(recorder: Recorder, module: ModuleType) -> None:
    _patches.wrap(module, "evaluate_policy", _timed(recorder, "evaluate_policy"))


def _wrap_utils(recorder: Recorder, module: ModuleType) -> None:
    _patches.wrap(module, "polyak_update", _timed(recorder, "polyak_update"))


def _timed(recorder: Recorder, name: str) -> Callable[[Any], Any]:
    """What makes a function, or a generator, a section where it is defined: as `ticktree.timed`, but nobody's mark."""
    return lambda function: in_section(function, recorder.timed_section(name, site_of(function)))
