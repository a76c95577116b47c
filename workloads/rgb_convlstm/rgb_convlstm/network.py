"""The network: from pictures and a state to features and the next state."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ticktree.compat.profiling import profile, profile_function

from .conv_lstm import ConvLstm, Memory


class Shape(NamedTuple):
    """What may be chosen about the network.

    Attributes:
        channels: of the encoder's last layer and of every ConvLSTM layer.
        layers: of the ConvLSTM.
        features: that go out.
    """

    channels: int = 16
    layers: int = 2
    features: int = 128


class ConvLstmNetwork(nn.Module):
    """Boundary, encoder, ConvLSTM with a way around it, mean over the board, projection.

    sb3-contrib asks an LSTM for `num_layers`, `hidden_size` and `input_size`, and keeps states of shape (layers,
    sequences, hidden size) in its rollout buffer. These are of the state laid flat.

    Args:
        picture: (channels, height, width) of what comes in; the sides are multiples of 4.
        shape: of the network.

    Raises:
        ValueError: a side is no multiple of 4.
    """

    def __init__(self, picture: tuple[int, int, int], shape: Shape) -> None:
        super().__init__()
        colours, height, width = picture
        if height % 4 or width % 4:
            raise ValueError(f"a picture's sides are multiples of 4 for this network, not {height} x {width}")
        self.picture = picture
        self.maps = (shape.channels, height // 4, width // 4)
        self.num_layers = shape.layers
        self.input_size = colours * height * width
        self.hidden_size = self.maps[0] * self.maps[1] * self.maps[2]
        # The first takes the border that was put around, so that both halve a side exactly.
        self._encoder = nn.Sequential(
            nn.Conv2d(colours + 1, shape.channels, 4, stride=2),
            nn.ReLU(),
            nn.Conv2d(shape.channels, shape.channels, 4, stride=2, padding=1),
            nn.ReLU(),
        )
        self._around = nn.Conv2d(shape.channels, shape.channels, 1)
        self._layers = ConvLstm(shape.channels, shape.layers)
        self._projection = nn.Linear(shape.channels, shape.features)
        for layer in (*self._encoder, self._around, self._projection):
            _begin(layer)

    @profile_function("convlstm_forward_pass", track_memory=True)
    def forward(self, pictures: Tensor, memory: Memory, starts: Tensor) -> tuple[Tensor, Memory]:
        """Return features of every picture, and the state after the last.

        Args:
            pictures: (sequences * steps, channels, height, width), a sequence's steps after one another.
            memory: the state of each sequence before its first step.
            starts: (sequences * steps,); 1 where an episode begins.
        """
        sequences = memory.hidden.shape[1]
        with profile("convlstm_boundary_padding"):
            bounded = _with_boundary(pictures)
        with profile("convlstm_conv_encoder"):
            encoded = self._encoder(bounded)
        with profile("convlstm_skip_connection"):
            around = self._around(encoded)
        with profile("convlstm_layers"):
            steps = encoded.reshape(sequences, -1, *self.maps)
            remembered, after = self._layers(steps, memory, starts.reshape(sequences, -1))
        with profile("convlstm_global_pooling"):
            pooled = (remembered.flatten(0, 1) + around).mean(dim=(2, 3))
        with profile("convlstm_projection"):
            features = functional.relu(self._projection(pooled))
        return features, after

    def unfold(self, states: tuple[Tensor, ...]) -> Memory:
        """Return flat states as the ConvLSTM has them."""
        hidden, cell = (state.reshape(*state.shape[:2], *self.maps) for state in states)
        return Memory(hidden, cell)

    @staticmethod
    def fold(memory: Memory) -> tuple[Tensor, Tensor]:
        """Return the state laid flat, as the rollout buffer keeps it."""
        return memory.hidden.flatten(2), memory.cell.flatten(2)


def _begin(layer: nn.Module) -> None:
    """Give a layer weights as the library gives them to its own networks."""
    if isinstance(layer, (nn.Conv2d, nn.Linear)):
        nn.init.orthogonal_(layer.weight, gain=math.sqrt(2))
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)


def _with_boundary(pictures: Tensor) -> Tensor:
    """Return the pictures one pixel wider on each side, with one more channel that is 1 there and 0 inside."""
    inside = torch.zeros_like(pictures[:, :1])
    boundary = functional.pad(inside, (1, 1, 1, 1), value=1.0)
    return torch.cat((functional.pad(pictures, (1, 1, 1, 1)), boundary), dim=1)
