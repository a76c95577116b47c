"""Encoder, squashed Gaussian actor and critic, with the floating-point operations of each layer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

import ticktree

LOG_STD_MIN, LOG_STD_MAX = -20.0, 2.0


class ConvLayer(NamedTuple):
    """One convolution: its output channels, the side of its square kernel, and its stride."""

    out_channels: int
    kernel_size: int
    stride: int


# Mnih et al., Human-level control through deep reinforcement learning, Nature 518 (2015).
NATURE_CNN = (ConvLayer(32, 8, 4), ConvLayer(64, 4, 2), ConvLayer(64, 3, 1))


def linear_flops(*layers: nn.Linear) -> int:
    """Floating-point operations for one row: a multiplication and an addition per weight."""
    return sum(2 * layer.in_features * layer.out_features for layer in layers)


class Encoder(nn.Module):
    """Images (batch, channels, side, side) in [0, 1] to flat features (batch, `feature_dim`)."""

    def __init__(
        self, in_channels: int, image_size: int, conv_layers: Sequence[ConvLayer] = NATURE_CNN
    ) -> None:
        super().__init__()
        self.convs = nn.ModuleList()
        self.flops: list[int] = []  # of one image, by layer
        channels, side = in_channels, image_size
        for out_channels, kernel_size, stride in conv_layers:
            self.convs.append(nn.Conv2d(channels, out_channels, kernel_size, stride))
            side = (side - kernel_size) // stride + 1
            if side < 1:
                raise ValueError("the image is too small for these convolutions")
            # A multiplication and an addition per weight, per output pixel.
            self.flops.append(2 * channels * kernel_size**2 * out_channels * side**2)
            channels = out_channels
        self.feature_dim = channels * side**2

    def forward(self, obs: Tensor) -> Tensor:
        """Run every convolution, each followed by a ReLU."""
        x = obs
        for number, (conv, flops) in enumerate(zip(self.convs, self.flops, strict=True), 1):
            with ticktree.section(f"conv{number}") as section:
                x = F.relu(conv(x))
                section.work(flops=flops * len(obs))
        return torch.flatten(x, start_dim=1)


class Actor(nn.Module):
    """Images to a Gaussian, and from that to actions in (-1, 1) with their log-probabilities."""

    def __init__(self, encoder: Encoder, action_dim: int, hidden_dim: int = 512) -> None:
        super().__init__()
        self.encoder = encoder
        self.fc1 = nn.Linear(encoder.feature_dim, hidden_dim)
        self.mean = nn.Linear(hidden_dim, action_dim)
        self.log_std = nn.Linear(hidden_dim, action_dim)

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log standard deviation, each (batch, action_dim), before squashing."""
        features = self.encoder(obs)
        with ticktree.section("fc") as section:
            x = F.relu(self.fc1(features))
            section.work(flops=linear_flops(self.fc1, self.mean, self.log_std) * len(obs))
            return self.mean(x), self.log_std(x).clamp(LOG_STD_MIN, LOG_STD_MAX)

    def sample(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Draw an action per image, differentiably; return it and its log-probability, (batch, 1)."""
        mean, log_std = self(obs)
        with ticktree.section("draw"):
            noise = torch.randn_like(mean)
            x = mean + log_std.exp() * noise
            log_prob = -0.5 * noise.square() - log_std - 0.5 * math.log(2.0 * math.pi)
            # log(1 - tanh(x)^2) written so that it stays finite where tanh(x) rounds to one.
            log_prob -= 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))
            return x.tanh(), log_prob.sum(dim=1, keepdim=True)


class Critic(nn.Module):
    """Images and actions to Q values (batch, 1)."""

    def __init__(self, encoder: Encoder, action_dim: int, hidden_dim: int = 512) -> None:
        super().__init__()
        self.encoder = encoder
        self.fc1 = nn.Linear(encoder.feature_dim + action_dim, hidden_dim)
        self.fc2 = nn.Linear(hidden_dim, 1)

    def forward(self, obs: Tensor, actions: Tensor) -> Tensor:
        """Q value of each action in the state that its image shows."""
        features = self.encoder(obs)
        with ticktree.section("fc") as section:
            q: Tensor = self.fc2(F.relu(self.fc1(torch.cat([features, actions], dim=1))))
            section.work(flops=linear_flops(self.fc1, self.fc2) * len(obs))
        return q
