from __future__ import annotations

import numpy as np
import pytest
import torch
from visual_sac.agent import SacAgent, SacConfig, seed_everything
from visual_sac.networks import ConvLayer
from visual_sac.replay_buffer import RingBuffer
from visual_sac.train import Rollout, fill, train

from support.thorough import thorough
from support.workloads.dot_task import SIDE, STEPS, DotTask

CPU = torch.device("cpu")
OBS_SHAPE = (1, SIDE, SIDE)
CONFIG = SacConfig(
    conv_layers=(ConvLayer(16, 4, 2), ConvLayer(32, 3, 1)),
    hidden_dim=256,
    lr=2e-3,
    gamma=0.7,
    init_alpha=0.05,
    tau=0.02,
)
RANDOM_RETURN = -6.5  # random actions earn -7.4 to -8.1
STATED_RETURN = -3.0  # knowing where dot and target are, one can earn -0.35


def _mean_return(choose, seed):
    returns = []
    task = DotTask()
    for episode in range(30):
        observation, _ = task.reset(seed=1000 * (seed + 1) + episode)
        rewards = []
        for _ in range(STEPS):
            observation, reward, *_ = task.step(choose(observation))
            rewards.append(reward)
        returns.append(sum(rewards))
    return float(np.mean(returns))


def _train(seed):
    seed_everything(seed)
    buffer = RingBuffer(4000, OBS_SHAPE, 2, CPU, seed)
    agent = SacAgent(OBS_SHAPE, 2, CPU, CONFIG)
    rollout = Rollout(DotTask(), buffer, seed)
    fill(rollout, 2000, seed)
    train(rollout, agent, 1500, 128, lambda update, metrics: None)
    return agent


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=thorough), pytest.param(2, marks=thorough)])
def test_it_learns_to_steer_a_dot_to_a_target_it_only_sees(seed):
    random = np.random.default_rng(seed)
    assert _mean_return(lambda _: random.uniform(-1.0, 1.0, 2), seed) < RANDOM_RETURN
    agent = _train(seed)
    assert _mean_return(lambda observation: agent.act(observation, deterministic=True), seed) > STATED_RETURN
