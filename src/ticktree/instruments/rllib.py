"""RLlib: the parts of an algorithm's iteration, and the methods of its env runners and learners, each a role.

Supports its API since Ray 2.40: `EnvRunner`, `Learner`, `LearnerGroup`. Iterations are ticks.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument, methods
from ticktree.recorder import Recorder
from ticktree.recorder.site import NO_SITE

ITERATION = "iteration"
ENV_RUNNER, LEARNER = "EnvRunner", "Learner"

_ALGORITHM, _RUNNER = "ray.rllib.algorithms.algorithm", "ray.rllib.env.env_runner"
_LEARNER = "ray.rllib.core.learner.learner"
_GROUP = "ray.rllib.env.env_runner_group:EnvRunnerGroup"
_LEARNERS = "ray.rllib.core.learner.learner_group:LearnerGroup"

_TARGETS = [
    *methods(f"{_ALGORITHM}:Algorithm", "training_step", "evaluate"),
    *methods(f"{_RUNNER}:EnvRunner", "sample", "get_metrics"),
    # The base class has no state; env runners that have one define these.
    *methods(f"{_RUNNER}:EnvRunner", "get_state", "set_state", required=False),
    *methods(f"{_LEARNER}:Learner", "update", "get_state", "set_state"),
    *methods(f"{_LEARNER}:Learner", "before_gradient_based_update", "after_gradient_based_update"),
    # Nested calls: each is a row below its caller's.
    *methods(_LEARNERS, "update", "get_state", "set_state", title="learners "),
    *methods(_GROUP, "sync_weights", section="sync env runners"),
    *methods(_GROUP, "sync_env_runner_states", section="sync env runners' states"),
]


def _wrap_algorithms(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Wrap `train` in the class that defines it, which other trainables than RLlib's inherit too."""
    section = recorder.timed_section("train", NO_SITE)

    def make(train: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not isinstance(self, module.Algorithm):
                return train(self, *args, **kwargs)
            recorder.tick(ITERATION)
            with section:
                return train(self, *args, **kwargs)

        return wrapper

    trainable = next(kind for kind in module.Algorithm.__mro__ if "train" in vars(kind))
    patches.wrap(trainable, "train", make)


def _wrap_runners(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    make = _make_named(recorder, ENV_RUNNER, lambda runner: runner.worker_index)
    patches.wrap_in_subclasses(module, "EnvRunner.__init__", make)


def _wrap_learners(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    make = _make_named(recorder, LEARNER, lambda learner: learner._learner_index)
    patches.wrap(module, "Learner._set_learner_index_and_placement_group", make)
    patches.wrap_in_subclasses(module, "Learner.build", make)


def _make_named(recorder: Recorder, role: str, number: Callable[[Any], int | None]) -> Callable[..., Any]:
    """Make a method name its actor's process after the role and the number."""

    def make(function: Callable[..., Any], _owner: type | None = None) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = function(self, *args, **kwargs)
            if recorder.recording and _is_actor():
                recorder.name_process(f"{role}-{number(self) or 0}")
                recorder.role(role)
            return result

        return wrapper

    return make


def _is_actor() -> bool:
    """Return whether this process is an actor: the driver may have a runner and a learner too."""
    from ray._private import worker

    return not worker.global_worker.actor_id.is_nil()


INSTRUMENT = Instrument(
    "ray",
    tested=">=2.55.0,<2.61",
    targets=_TARGETS,
    hooks={_ALGORITHM: _wrap_algorithms, _RUNNER: _wrap_runners, _LEARNER: _wrap_learners},
    private=True,
)
