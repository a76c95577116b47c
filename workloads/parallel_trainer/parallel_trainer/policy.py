"""The policy as the environments meet it: observations in, actions out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

import ticktree

from .messages import Array, Spec
from .networks import GaussianActor

Weights = dict[str, Tensor]


class ActionInfo(NamedTuple):
    """An action, and what the learner must know of it."""

    observation: Array  # what it answers
    action: Array  # as drawn
    log_probability: float  # of that, under the policy that drew it
    for_environment: Array  # the same within the bounds and in the units of the task


class TorchPolicy:
    """Draws actions from an actor of its own: a learner in another thread may change the other one meanwhile."""

    def __init__(self, spec: Spec, seed: int) -> None:
        self.actor = GaussianActor(spec.observations, len(spec.low))
        self._middle = (spec.high + spec.low) / np.float32(2.0)
        self._reach = (spec.high - spec.low) / np.float32(2.0)
        # Its own: a learner in another thread would draw from the global one at moments that nobody can repeat.
        self._random = torch.Generator().manual_seed(seed)

    def load(self, weights: Weights) -> None:
        """Act from now on as these weights say."""
        self.actor.load_state_dict(weights)

    @ticktree.timed
    def evaluate(self, observations: Sequence[Array]) -> list[ActionInfo]:
        """Draw an action for each observation."""
        with torch.inference_mode():
            mean = self.actor(torch.from_numpy(np.stack(observations)))
            noise = torch.randn(mean.shape, generator=self._random)
            actions = mean + self.actor.log_std.exp() * noise
            log_probabilities = self.actor.log_probability(mean, actions).tolist()
        drawn = actions.numpy()
        return list(map(ActionInfo, observations, drawn, log_probabilities, self._bounded(drawn)))

    @ticktree.timed
    def likeliest(self, observation: Array) -> Array:
        """The action that is drawn most often, within the bounds and in the units of the task."""
        with torch.inference_mode():
            return self._bounded(self.actor(torch.from_numpy(observation[None])).numpy()[0])

    def _bounded(self, actions: Array) -> Array:
        bounded: Array = self._middle + self._reach * actions.clip(-1.0, 1.0)
        return bounded
