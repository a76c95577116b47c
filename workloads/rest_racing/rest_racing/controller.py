"""From a prepared observation to an action."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from .action import Action
from .action_merger import ActionMerger
from .auxiliary import AuxiliaryMerge
from .forwarder import Forwarder
from .pilot import Pilot
from .preparation import PreparedObservation


class ControllerResult(NamedTuple):
    """What the controller decided.

    Attributes:
        env_action: What to do.
        weights: How much each model counts from now on.
    """

    env_action: Action
    weights: Tensor


class MultiModelController:
    """Asks all pilots, merges their actions, and keeps account of who is to be believed. One pilot is a case of it."""

    def __init__(self, pilots: Sequence[Pilot]) -> None:
        self._forwarder = Forwarder(pilots)
        self._action_merger = ActionMerger()
        self._auxiliary = AuxiliaryMerge(pilots)

    def step(self, p_obs: PreparedObservation) -> ControllerResult:
        """Decide what to do."""
        aux = self._auxiliary
        with torch.inference_mode():
            actions, states = self._forwarder.step(p_obs)
            env_action, merged_states = self._action_merger.step(actions, states, aux.weights, p_obs)
            aux.update(merged_states)
        return ControllerResult(env_action, aux.weights)
