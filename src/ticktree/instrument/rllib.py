"""RLlib: what an iteration of an algorithm consists of, and what its env runners and learners do, each a role.

Of its API since Ray 2.40: `EnvRunner`, `Learner`, `LearnerGroup`. Iterations are ticks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ticktree.instrument.methods import ClassHierarchy, Guard, simply
from ticktree.instrument.patches import Patches

if TYPE_CHECKING:
    from ticktree.recorder import Recorder

ITERATION = "iteration"
ENV_RUNNER, LEARNER = "EnvRunner", "Learner"
_RUNNERS_METHODS = ("sample", "get_state", "set_state", "get_metrics")
_LEARNERS_METHODS = (
    "update",
    "get_state",
    "set_state",
    "before_gradient_based_update",
    "after_gradient_based_update",
)
# One within the other: each is a row in the one around it.
_GROUPS_METHODS = ("update", "get_state", "set_state")
_ALGORITHMS_METHODS = ("training_step", "evaluate")

_patches = Patches()


def install(recorder: Recorder) -> None:
    """Wraps its classes, in each module that is or will be imported."""
    _patches.watch("ray.rllib.algorithms.algorithm", partial(_wrap_algorithms, recorder))
    _patches.watch("ray.rllib.env.env_runner", partial(_wrap_runners, recorder))
    _patches.watch("ray.rllib.env.env_runner_group", partial(_wrap_runner_groups, recorder))
    _patches.watch("ray.rllib.core.learner.learner", partial(_wrap_learners, recorder))
    _patches.watch("ray.rllib.core.learner.learner_group", partial(_wrap_learner_groups, recorder))


def uninstall() -> None:
    """Puts everything back."""
    _patches.undo()


def _wrap_algorithms(recorder: Recorder, module: ModuleType) -> None:
    algorithms = ClassHierarchy(_patches, module.Algorithm)
    for name in _ALGORITHMS_METHODS:
        algorithms.wrap(name, simply(recorder, name))
    section = recorder.section("train")

    def make(train: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not isinstance(self, module.Algorithm):  # another kind of trainable
                return train(self, *args, **kwargs)
            recorder.tick(ITERATION)
            with section:
                return train(self, *args, **kwargs)

        return wrapper

    trainable = next(kind for kind in module.Algorithm.__mro__ if "train" in vars(kind))
    _patches.wrap(trainable, "train", make)


def _wrap_runners(recorder: Recorder, module: ModuleType) -> None:
    runners = ClassHierarchy(_patches, module.EnvRunner)
    for name in _RUNNERS_METHODS:
        runners.wrap(name, simply(recorder, name))
    runners.wrap_by_owner(
        "__init__", lambda init, _: _named(recorder, init, ENV_RUNNER, lambda self: self.worker_index)
    )


def _wrap_runner_groups(recorder: Recorder, module: ModuleType) -> None:
    _wrap_group(recorder, module, "EnvRunnerGroup", "sync_weights", "sync env runners")
    _wrap_group(recorder, module, "EnvRunnerGroup", "sync_env_runner_states", "sync env runners' states")


def _wrap_learners(recorder: Recorder, module: ModuleType) -> None:
    learners = ClassHierarchy(_patches, module.Learner)
    for name in _LEARNERS_METHODS:
        learners.wrap(name, simply(recorder, name))
    _patches.wrap_at(
        module,
        "Learner._set_learner_index_and_placement_group",
        lambda found: _named(recorder, found, LEARNER, lambda self: self._learner_index),
    )
    learners.wrap_by_owner(
        "build", lambda build, _: _named(recorder, build, LEARNER, lambda self: self._learner_index)
    )


def _wrap_learner_groups(recorder: Recorder, module: ModuleType) -> None:
    for name in _GROUPS_METHODS:
        _wrap_group(recorder, module, "LearnerGroup", name, f"learners {name}")


def _wrap_group(recorder: Recorder, module: ModuleType, owner: str, name: str, title: str) -> None:
    kind = getattr(module, owner, None)
    if isinstance(kind, type):
        ClassHierarchy(_patches, kind).wrap(name, simply(recorder, title), Guard())


def _named(
    recorder: Recorder, function: Callable[..., Any], role: str, number: Callable[[Any], int | None]
) -> Callable[..., Any]:
    """The function, after which an actor's process is called by its role and its number."""

    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = function(self, *args, **kwargs)
        if recorder.recording and _is_actor():
            recorder.name_process(f"{role}-{number(self) or 0}")
            recorder.role(role)
        return result

    return wrapper


def _is_actor() -> bool:
    """Whether this process is an actor: the driver may have one of each of its own."""
    from ray._private import worker

    return not worker.global_worker.actor_id.is_nil()
