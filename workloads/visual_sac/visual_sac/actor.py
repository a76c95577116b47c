"""The policy: a squashed Gaussian over actions."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

import ticktree

from .encoder import Encoder, flops_of

LOG_STD_RANGE = (-20.0, 2.0)


class VisualActor(nn.Module):
    """Images to a Gaussian, and from that to actions in (-1, 1) with their log-probabilities."""

    def __init__(self, encoder: Encoder, actions: int, hidden: int = 512) -> None:
        super().__init__()
        self.encoder = encoder
        self.fc1 = nn.Linear(encoder.features, hidden)
        self.mean = nn.Linear(hidden, actions)
        self.log_std = nn.Linear(hidden, actions)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and logarithm of the standard deviation, each (batch, actions), before squashing."""
        features = self.encoder(images)
        with ticktree.section("fc") as section:
            x = functional.relu(self.fc1(features))
            section.work(flops=flops_of(self.fc1, self.mean, self.log_std) * len(images))
            return self.mean(x), self.log_std(x).clamp(*LOG_STD_RANGE)

    def sample(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Draw an action for each image, differentiably.

        Returns the actions, (batch, actions), and their log-probabilities, (batch, 1).
        """
        mean, log_std = self(images)
        with ticktree.section("draw"):
            noise = torch.randn_like(mean)
            raw = mean + log_std.exp() * noise
            gaussian = -0.5 * noise.square() - log_std - 0.5 * math.log(2.0 * math.pi)
            # log(1 - tanh(x)^2) written so that it stays finite where tanh(x) rounds to one.
            squash = 2.0 * (math.log(2.0) - raw - functional.softplus(-2.0 * raw))
            return raw.tanh(), (gaussian - squash).sum(dim=1, keepdim=True)
