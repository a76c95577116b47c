"""The ConvLSTM: a memory whose state is a picture."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn


class Memory(NamedTuple):
    """The state of all layers: (layers, sequences, channels, height, width) each."""

    hidden: Tensor
    cell: Tensor


class ConvLstmCell(nn.Module):
    """One layer at one step: an LSTM whose matrices are convolutions of 3 x 3.

    Args:
        channels: of what comes in, of the state, and so of what goes out.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self._gates = nn.Conv2d(2 * channels, 4 * channels, 3, padding=1)
        bias = self._gates.bias
        assert bias is not None
        with torch.no_grad():  # keep at first what was remembered
            bias[channels : 2 * channels] += 1.0

    def forward(self, inputs: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """Return the new hidden and cell state."""
        gates = self._gates(torch.cat((inputs, hidden), dim=1))
        admit, keep, show, new = gates.chunk(4, dim=1)
        cell = torch.sigmoid(keep) * cell + torch.sigmoid(admit) * torch.tanh(new)
        return torch.sigmoid(show) * torch.tanh(cell), cell


class ConvLstm(nn.Module):
    """Layers on top of one another, run along sequences.

    Args:
        channels: of every layer.
        layers: how many.
    """

    def __init__(self, channels: int, layers: int) -> None:
        super().__init__()
        self._cells = nn.ModuleList(ConvLstmCell(channels) for _ in range(layers))

    def forward(self, inputs: Tensor, memory: Memory, starts: Tensor) -> tuple[Tensor, Memory]:
        """Run along the sequences.

        Args:
            inputs: (sequences, steps, channels, height, width).
            memory: the state before the first step.
            starts: (sequences, steps); 1 where an episode begins, before which everything is forgotten.

        Returns:
            The last layer's hidden state at each step, shaped as `inputs`, and the state after the last.
        """
        hidden, cell = list(memory.hidden), list(memory.cell)
        seen = []
        for step in range(inputs.shape[1]):
            keep = (1.0 - starts[:, step]).reshape(-1, 1, 1, 1)
            below = inputs[:, step]
            for layer, run in enumerate(self._cells):
                hidden[layer], cell[layer] = run(below, keep * hidden[layer], keep * cell[layer])
                below = hidden[layer]
            seen.append(below)
        return torch.stack(seen, dim=1), Memory(torch.stack(hidden), torch.stack(cell))
