"""rsl_rl: the parts of a runner's `learn`. Ticks are its iterations: a rollout and the update that ends it."""

from __future__ import annotations

from ticktree.instruments.targets import Instrument, Target, methods
from ticktree.instruments.ticks import Training

_LEARNING = Training("iteration", ends_ticks=True)
_ALGORITHMS = ("rsl_rl.algorithms.ppo:PPO", "rsl_rl.algorithms.distillation:Distillation")
_RUNNER, _LOGGER = "rsl_rl.runners.on_policy_runner:OnPolicyRunner", "rsl_rl.utils.logger:Logger"

_TARGETS = [
    *methods(_RUNNER, "learn", make_options=_LEARNING.run),
    *methods(_RUNNER, "save"),
    *methods("rsl_rl.env.vec_env:VecEnv", "step", title="VecEnv "),
    *(Target(f"{_LOGGER}.{name}", f"logger {name}") for name in ("log", "process_env_step")),
]
for _algorithm in _ALGORITHMS:
    _TARGETS += methods(_algorithm, "act", "process_env_step", "compute_returns")
    _TARGETS += methods(_algorithm, "update", make_options=_LEARNING.end_tick)

INSTRUMENT = Instrument("rsl-rl-lib", tested=">=5.5.1,<5.6", targets=_TARGETS)
