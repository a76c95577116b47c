"""The steps that wait for the next update of the policy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .messages import Array
from .trajectory import Trajectory


class Batch(NamedTuple):
    """Steps to learn from."""

    observations: Tensor
    actions: Tensor
    log_probabilities: Tensor
    advantages: Tensor
    returns: Tensor


class UpdateBuffer:
    """Trajectories with what was worked out about them, until they have been learned from."""

    def __init__(self) -> None:
        self._parts: list[tuple[Array, ...]] = []
        self.steps = 0

    def append(self, trajectory: Trajectory, advantages: Array, returns: Array) -> None:
        """Keep a trajectory."""
        seen = (trajectory.observations, trajectory.actions, trajectory.log_probabilities)
        self._parts.append((*seen, advantages, returns))
        self.steps += trajectory.steps

    def take(self) -> Batch:
        """Everything in it, advantages brought to mean 0 and deviation 1; it is empty afterwards."""
        columns = [np.concatenate(column) for column in zip(*self._parts, strict=True)]
        whole = Batch(*map(torch.from_numpy, columns))
        self._parts, self.steps = [], 0
        spread = whole.advantages.std(correction=0)
        return whole._replace(advantages=(whole.advantages - whole.advantages.mean()) / (spread + 1e-8))


def minibatches(batch: Batch, size: int, random: np.random.Generator) -> Iterator[Batch]:
    """Split into parts of this size, the last perhaps smaller: each step is in exactly one, in random order."""
    order = torch.from_numpy(random.permutation(len(batch.advantages)))
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        yield Batch(*(column[chosen] for column in batch))
