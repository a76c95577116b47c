"""The convolutions that actor and critics have in common, each network with weights of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

import ticktree


class Convolution(NamedTuple):
    """One layer: its output channels, the side of its square kernel, and its stride, in pixels."""

    channels: int
    kernel: int
    stride: int


NATURE = (Convolution(32, 8, 4), Convolution(64, 4, 2), Convolution(64, 3, 1))


class Encoder(nn.Module):
    """Images (batch, frames, side, side) in [0, 1] to flat features (batch, `features`)."""

    def __init__(self, frames: int, side: int, convolutions: Sequence[Convolution] = NATURE) -> None:
        super().__init__()
        layers, flops = [], []
        channels = frames
        for convolution in convolutions:
            layers.append(nn.Conv2d(channels, convolution.channels, convolution.kernel, convolution.stride))
            side = (side - convolution.kernel) // convolution.stride + 1
            if side < 1:
                raise ValueError("the image is too small for these convolutions")
            # A multiplication and an addition for each weight, at each place, in each output channel.
            flops.append(2 * channels * convolution.kernel**2 * convolution.channels * side**2)
            channels = convolution.channels
        self.layers = nn.ModuleList(layers)
        self.features = channels * side**2
        self.names = [f"conv{number}" for number in range(1, len(layers) + 1)]
        self.flops = flops  # of one image, layer by layer

    def forward(self, images: Tensor) -> Tensor:
        """Run every convolution, each followed by a ReLU."""
        x = images
        for layer, name, flops in zip(self.layers, self.names, self.flops, strict=True):
            with ticktree.section(name) as section:
                x = functional.relu(layer(x))
                section.work(flops=flops * len(images))
        return torch.flatten(x, start_dim=1)


def flops_of(*layers: nn.Linear) -> int:
    """Floating-point operations of fully connected layers, for one row: a multiplication and an addition a weight."""
    return sum(2 * layer.in_features * layer.out_features for layer in layers)
