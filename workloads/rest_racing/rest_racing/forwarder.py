"""Asks every model."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .pilot import Pilot
from .preparation import PreparedObservation


class Forwarder:
    """Runs the policies, one after the other."""

    def __init__(self, pilots: Sequence[Pilot]) -> None:
        self._pilots = pilots

    def step(self, p_obs: PreparedObservation) -> tuple[Tensor, Tensor]:
        """Return their actions, (models, 2), and their states, (models, STATE)."""
        actions, states = [], []
        for pilot, inputs in zip(self._pilots, p_obs.inputs, strict=True):
            action, state = pilot(inputs, p_obs.pictures)
            actions.append(action)
            states.append(state)
        return torch.cat(actions), torch.cat(states)
