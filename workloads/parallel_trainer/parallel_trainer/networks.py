"""The two networks: an actor that says what to do, a critic that says what to expect."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor, nn

HIDDEN = 64
SMALLEST_SCALE = 1e-3  # of an observation that never changes


class Normalizer(nn.Module):
    """Observations less their mean, by their standard deviation, as last told."""

    mean: Tensor
    scale: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("scale", torch.ones(size))

    def forward(self, observations: Tensor) -> Tensor:
        """Normalised observations, none beyond ten standard deviations."""
        return ((observations - self.mean) / self.scale).clamp(-10.0, 10.0)

    def tell(self, mean: Tensor, variance: Tensor) -> None:
        """Set what observations look like."""
        self.mean.copy_(mean)
        self.scale.copy_(variance.sqrt().clamp(min=SMALLEST_SCALE))


class GaussianActor(nn.Module):
    """Observations to a Gaussian over actions, whose width does not depend on what is seen."""

    def __init__(self, observations: int, actions: int) -> None:
        super().__init__()
        self.normalizer = Normalizer(observations)
        # A small last layer: at first all observations lead to about the same, which is to explore evenly.
        self.body = _layers(observations, actions, gain=0.01)
        self.log_std = nn.Parameter(torch.full((actions,), -0.5))

    def forward(self, observations: Tensor) -> Tensor:
        """The mean action for each observation, (batch, actions)."""
        mean: Tensor = self.body(self.normalizer(observations))
        return mean

    def log_probability(self, mean: Tensor, actions: Tensor) -> Tensor:
        """How likely each of these actions is around these means, (batch,)."""
        distance = (actions - mean) / self.log_std.exp()
        each = -0.5 * distance.square() - self.log_std - 0.5 * math.log(2.0 * math.pi)
        return each.sum(dim=-1)

    def entropy(self) -> Tensor:
        """How undecided it is, in nats."""
        return (self.log_std + 0.5 * math.log(2.0 * math.pi * math.e)).sum()


class Critic(nn.Module):
    """Observations to the return that is expected from there on."""

    def __init__(self, observations: int) -> None:
        super().__init__()
        self.normalizer = Normalizer(observations)
        self.body = _layers(observations, 1, gain=1.0)

    def forward(self, observations: Tensor) -> Tensor:
        """The expected return of each observation, (batch,)."""
        values: Tensor = self.body(self.normalizer(observations))
        return values.squeeze(-1)


def _layers(inputs: int, outputs: int, gain: float) -> nn.Sequential:
    sizes = (inputs, HIDDEN, HIDDEN)
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [_linear(before, after, math.sqrt(2.0)), nn.Tanh()]
    return nn.Sequential(*layers, _linear(HIDDEN, outputs, gain))


def _linear(inputs: int, outputs: int, gain: float) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer
