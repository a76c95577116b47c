"""Makes one action of many."""

from __future__ import annotations

import torch
from torch import Tensor

from .action import Action
from .preparation import PreparedObservation


class ActionMerger:
    """Weighs the models' actions."""

    def step(
        self, actions: Tensor, states: Tensor, weights: Tensor, p_obs: PreparedObservation
    ) -> tuple[Action, Tensor]:
        """Return the action, and each model's state with what it led to and what was measured: (models, wide)."""
        merged = (weights @ actions).clamp(-1.0, 1.0)
        told = torch.cat([merged, p_obs.measured]).expand(len(states), -1)
        steer, pedal = merged.tolist()
        return Action(steer, pedal), torch.cat([states, told], dim=1)
