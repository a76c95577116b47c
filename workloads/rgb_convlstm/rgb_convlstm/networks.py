"""ConvLSTM (Shi et al., arXiv:1506.04214), and the network around it: from images and a state to features."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from ticktree.compat.profiling import profile, profile_function


class LstmState(NamedTuple):
    """Hidden and cell state of all layers: (layers, sequences, channels, height, width) each."""

    h: Tensor
    c: Tensor


class ConvLstmCell(nn.Module):
    """One layer at one step: an LSTM whose matrices are convolutions of 3 x 3."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.gates = nn.Conv2d(2 * channels, 4 * channels, 3, padding=1)
        assert self.gates.bias is not None
        with torch.no_grad():
            self.gates.bias[channels : 2 * channels] += 1.0  # of the forget gate: remember at first

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """Return the new hidden and cell state."""
        i, f, o, g = self.gates(torch.cat((x, h), dim=1)).chunk(4, dim=1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c


class ConvLstm(nn.Module):
    """ConvLSTM layers, run along sequences."""

    def __init__(self, channels: int, layers: int) -> None:
        super().__init__()
        self.cells = nn.ModuleList(ConvLstmCell(channels) for _ in range(layers))

    def forward(self, x: Tensor, state: LstmState, episode_starts: Tensor) -> tuple[Tensor, LstmState]:
        """Run along the sequences.

        Args:
            x: (sequences, steps, channels, height, width).
            state: The state before the first step.
            episode_starts: (sequences, steps); 1 where an episode begins, which clears the state.

        Returns:
            The last layer's hidden state at each step, shaped as `x`, and the state after the last step.
        """
        h, c = list(state.h), list(state.c)
        outputs = []
        for step in range(x.shape[1]):
            keep = (1.0 - episode_starts[:, step]).reshape(-1, 1, 1, 1)
            y = x[:, step]
            for layer, cell in enumerate(self.cells):
                h[layer], c[layer] = cell(y, keep * h[layer], keep * c[layer])
                y = h[layer]
            outputs.append(y)
        return torch.stack(outputs, dim=1), LstmState(torch.stack(h), torch.stack(c))


class NetworkConfig(NamedTuple):
    """Sizes of the network.

    Attributes:
        channels: Of the encoder and of each ConvLSTM layer.
        layers: Of the ConvLSTM.
        features: That the network gives to actor and critic.
    """

    channels: int = 16
    layers: int = 2
    features: int = 128


class ConvLstmNetwork(nn.Module):
    """Boundary channel, encoder, ConvLSTM with a skip connection, mean over the board, projection.

    sb3-contrib asks an LSTM for `num_layers`, `hidden_size` and `input_size`, and keeps states of shape (layers,
    sequences, hidden size) in its rollout buffer. These are of the flattened state.

    Args:
        image_shape: (channels, height, width); height and width are multiples of 4.
        config: Sizes.

    Raises:
        ValueError: Height or width is no multiple of 4.
    """

    def __init__(self, image_shape: tuple[int, int, int], config: NetworkConfig) -> None:
        super().__init__()
        in_channels, height, width = image_shape
        if height % 4 or width % 4:
            raise ValueError(f"a picture's sides are multiples of 4 for this network, not {height} x {width}")
        self.image_shape = image_shape
        self.state_shape = (config.channels, height // 4, width // 4)
        self.num_layers = config.layers
        self.input_size = in_channels * height * width
        self.hidden_size = math.prod(self.state_shape)
        # The first convolution removes the boundary, so that both halve a side exactly.
        self.encoder = nn.Sequential(
            nn.Conv2d(in_channels + 1, config.channels, 4, stride=2),
            nn.ReLU(),
            nn.Conv2d(config.channels, config.channels, 4, stride=2, padding=1),
            nn.ReLU(),
        )
        self.skip = nn.Conv2d(config.channels, config.channels, 1)
        self.conv_lstm = ConvLstm(config.channels, config.layers)
        self.projection = nn.Linear(config.channels, config.features)
        for layer in (*self.encoder, self.skip, self.projection):
            if isinstance(layer, (nn.Conv2d, nn.Linear)):  # as stable-baselines3 initializes its own networks
                nn.init.orthogonal_(layer.weight, gain=math.sqrt(2))
                assert layer.bias is not None
                nn.init.zeros_(layer.bias)

    @profile_function("convlstm_forward_pass", track_memory=True)
    def forward(self, images: Tensor, state: LstmState, episode_starts: Tensor) -> tuple[Tensor, LstmState]:
        """Return features of every image, and the state after the last.

        Args:
            images: (sequences * steps, channels, height, width), a sequence's steps after one another.
            state: The state of each sequence before its first step.
            episode_starts: (sequences * steps,); 1 where an episode begins.
        """
        sequences = state.h.shape[1]
        with profile("convlstm_boundary_padding"):
            x = pad_boundary(images)
        with profile("convlstm_conv_encoder"):
            x = self.encoder(x)
        with profile("convlstm_skip_connection"):
            skip = self.skip(x)
        with profile("convlstm_layers"):
            x = x.reshape(sequences, -1, *self.state_shape)
            x, state = self.conv_lstm(x, state, episode_starts.reshape(sequences, -1))
        with profile("convlstm_global_pooling"):
            x = (x.flatten(0, 1) + skip).mean(dim=(2, 3))
        with profile("convlstm_projection"):
            features = F.relu(self.projection(x))
        return features, state

    def unflatten_state(self, states: tuple[Tensor, ...]) -> LstmState:
        """Return the rollout buffer's states as the ConvLSTM takes them."""
        h, c = (state.reshape(*state.shape[:2], *self.state_shape) for state in states)
        return LstmState(h, c)

    @staticmethod
    def flatten_state(state: LstmState) -> tuple[Tensor, Tensor]:
        """Return the state as the rollout buffer keeps it."""
        return state.h.flatten(2), state.c.flatten(2)


def pad_boundary(images: Tensor) -> Tensor:
    """Pad images by one pixel on each side, and add a channel that is 1 there and 0 inside."""
    boundary = F.pad(torch.zeros_like(images[:, :1]), (1, 1, 1, 1), value=1.0)
    return torch.cat((F.pad(images, (1, 1, 1, 1)), boundary), dim=1)
