"""The model: RecurrentPPO with the policy and the environments that were asked for."""

from __future__ import annotations

from functools import partial
from typing import Any

from sb3_contrib import RecurrentPPO
from stable_baselines3.common.env_util import make_vec_env

from .environment import RicochetEnv
from .options import Options
from .policy import ConvLstmPolicy


def make_model(options: Options) -> RecurrentPPO:
    """Return it untrained."""
    policy: Any = ConvLstmPolicy
    given: dict[str, Any] = {"shape": options.shape}
    if not options.convlstm:
        policy = "CnnLstmPolicy" if options.rules.obs_mode == "rgb_image" else "MlpLstmPolicy"
        given = {"lstm_hidden_size": options.shape.features}
    make: Any = partial(RicochetEnv, options.rules)
    return RecurrentPPO(
        policy,
        make_vec_env(make, n_envs=options.envs, seed=options.seed),
        n_steps=options.rollout_steps,
        batch_size=options.batch,
        n_epochs=options.epochs,
        learning_rate=options.learning_rate,
        ent_coef=0.01,
        policy_kwargs=given,
        seed=options.seed,
        device=options.device,
    )
