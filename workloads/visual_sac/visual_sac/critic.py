"""What an action is worth in a state."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

import ticktree

from .encoder import Encoder, flops_of


class VisualCritic(nn.Module):
    """Images and actions to values (batch, 1)."""

    def __init__(self, encoder: Encoder, actions: int, hidden: int = 512) -> None:
        super().__init__()
        self.encoder = encoder
        self.fc1 = nn.Linear(encoder.features + actions, hidden)
        self.fc2 = nn.Linear(hidden, 1)

    def forward(self, images: Tensor, actions: Tensor) -> Tensor:
        """Value each action in the state that its images show."""
        features = self.encoder(images)
        with ticktree.section("fc") as section:
            x = torch.cat([features, actions], dim=1)
            value: Tensor = self.fc2(functional.relu(self.fc1(x)))
            section.work(flops=flops_of(self.fc1, self.fc2) * len(images))
        return value
