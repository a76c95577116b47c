"""rsl_rl: what a runner's `learn` does. Ticks are its iterations, each a rollout and the update that ends it."""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument, Target
from ticktree.instruments.ticks import ticks_after, ticks_within
from ticktree.recorder import Layer, Recorder
from ticktree.recorder.site import NO_SITE

ITERATION = "iteration"

_ALGORITHMS = {"rsl_rl.algorithms.ppo": "PPO", "rsl_rl.algorithms.distillation": "Distillation"}
_RUNNER = "rsl_rl.runners.on_policy_runner"

_TARGETS = [
    *(
        Target(f"{module}:{name}.{method}", method, subclasses=True)
        for module, name in _ALGORITHMS.items()
        for method in ("act", "process_env_step", "compute_returns")
    ),
    Target("rsl_rl.env.vec_env:VecEnv.step", "VecEnv step", subclasses=True),
    Target(f"{_RUNNER}:OnPolicyRunner.save", "save", subclasses=True),
    Target("rsl_rl.utils.logger:Logger.log", "logger log"),
    Target("rsl_rl.utils.logger:Logger.process_env_step", "logger process_env_step"),
]


@lru_cache(maxsize=1)
def _learning(recorder: Recorder) -> Layer:  # noqa: ARG001 (each recorder has its own)
    """Where it is known which runner learns."""
    return Layer()


def _wrap_algorithm(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    section, learning = recorder.timed_section("update", NO_SITE), _learning(recorder)
    after = ticks_after(recorder, section, ITERATION, lambda: learning.within is not None)
    path = f"{_ALGORITHMS[module.__name__]}.update"
    patches.section(module, path, section, subclasses=True, redirection=after)


def _wrap_runner(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    section = recorder.timed_section("learn", NO_SITE)
    around = ticks_within(recorder, section, ITERATION, begins=True)
    patches.section(
        module, "OnPolicyRunner.learn", section, _learning(recorder), subclasses=True, redirection=around
    )


INSTRUMENT = Instrument(
    "rsl-rl-lib",
    tested=">=5.5.1,<5.6",
    targets=_TARGETS,
    hooks={**dict.fromkeys(_ALGORITHMS, _wrap_algorithm), _RUNNER: _wrap_runner},
)
