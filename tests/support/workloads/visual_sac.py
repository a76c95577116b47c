"""The workload's agent with networks small enough for tests, and buffers that need no environment."""

from __future__ import annotations

import torch
from visual_sac.agent import SacAgent, Settings, seed_everything
from visual_sac.buffers import Batch
from visual_sac.encoder import Convolution

CPU = torch.device("cpu")
SHAPE = (1, 12, 12)
SETTINGS = Settings(convolutions=(Convolution(8, 4, 2), Convolution(16, 3, 1)), hidden=64)


def make_agent(seed=0, **changes):
    seed_everything(seed)
    return SacAgent(SHAPE, 2, CPU, SETTINGS._replace(**changes))


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
        assert size == len(self.batch.states)
        return self.batch
