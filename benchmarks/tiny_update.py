"""A minimal learning step: a network of two layers, one backward pass, one optimizer step.

Where four rows are added to so little, what a row costs shows most.
"""

from __future__ import annotations

import torch


class Turn:
    """Called once per step, so that a benchmark can count steps."""

    def over(self) -> None:
        """It is."""


def main() -> None:
    torch.manual_seed(1)
    torch.set_num_threads(1)
    network = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    optimizer = torch.optim.Adam(network.parameters())
    states, turn = torch.randn(32, 8), Turn()
    while True:
        turn.over()
        loss = network(states).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
