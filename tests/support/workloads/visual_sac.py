"""The workload's agent with networks small enough for tests, and buffers that need no environment."""

from __future__ import annotations

from dataclasses import replace

import torch
from visual_sac.agent import SacAgent, SacConfig, seed_everything
from visual_sac.networks import ConvLayer
from visual_sac.replay_buffer import Batch

CPU = torch.device("cpu")
SHAPE = (1, 12, 12)
CONFIG = SacConfig(conv_layers=(ConvLayer(8, 4, 2), ConvLayer(16, 3, 1)), hidden_dim=64)


def make_agent(seed=0, **changes):
    seed_everything(seed)
    return SacAgent(SHAPE, 2, CPU, replace(CONFIG, **changes))


def make_batch(size=64, done=0.0, seed=0):
    generator = torch.Generator().manual_seed(seed)

    def random(*shape):
        return torch.rand(shape, generator=generator)

    rewards, dones = 2.0 * random(size, 1) - 1.0, torch.full((size, 1), done)
    return Batch(random(size, *SHAPE), 2.0 * random(size, 2) - 1.0, rewards, random(size, *SHAPE), dones)


class FixedBuffer:
    """Gives the same batch every time."""

    def __init__(self, batch):
        self.batch = batch

    def sample(self, size):
        assert size == len(self.batch.obs)
        return self.batch
