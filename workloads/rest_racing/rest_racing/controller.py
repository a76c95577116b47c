"""From a prepared observation to an action: all policies' actions, merged by how well each predicts this car."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from .env import Action
from .policies import MEASURED_DIM, Policy, PreparedObs


class Forwarder:
    """Runs the policies, one after the other."""

    def __init__(self, policies: Sequence[Policy]) -> None:
        self._policies = policies

    def step(self, p_obs: PreparedObs) -> tuple[Tensor, Tensor]:
        """Return their actions, (policies, 2), and states, (policies, STATE_DIM)."""
        actions, states = [], []
        for policy, inputs in zip(self._policies, p_obs.inputs, strict=True):
            action, state = policy(inputs, p_obs.images)
            actions.append(action)
            states.append(state)
        return torch.cat(actions), torch.cat(states)


class ActionMerger:
    """Merges the policies' actions."""

    def step(
        self, actions: Tensor, states: Tensor, weights: Tensor, p_obs: PreparedObs
    ) -> tuple[Action, Tensor]:
        """Return the action, and each policy's state with the action and the measured values appended."""
        action = (weights @ actions).clamp(-1.0, 1.0)
        common = torch.cat([action, p_obs.measured]).expand(len(states), -1)
        steer, pedal = action.tolist()
        return Action(steer, pedal), torch.cat([states, common], dim=1)


_ERROR_DECAY = 0.1
_TEMPERATURE = 0.002


class AuxiliaryMerge:
    """Weighs the policies by how well their auxiliary models predicted the car's motion.

    Attributes:
        weights: By policy; they sum to 1.
    """

    def __init__(self, policies: Sequence[Policy]) -> None:
        self._models = [policy.auxiliary for policy in policies]
        self._predicted: Tensor | None = None
        self._errors = torch.zeros(len(policies))
        self.weights = torch.full((len(policies),), 1.0 / len(policies))

    def update(self, merged_states: Tensor) -> None:
        """Compare the predictions with the measured values, and make the next ones."""
        measured_state = merged_states[0, -MEASURED_DIM:]
        if self._predicted is not None:
            errors = (self._predicted - measured_state).square().sum(dim=1)
            self._errors = self._errors.lerp(errors, _ERROR_DECAY)
            self.weights = torch.softmax(-self._errors / _TEMPERATURE, dim=0)
        changes = [model(state) for model, state in zip(self._models, merged_states, strict=True)]
        self._predicted = measured_state + torch.stack(changes)


class ControllerResult(NamedTuple):
    """What the controller decided.

    Attributes:
        env_action: The merged action.
        weights: The policies' weights from now on.
    """

    env_action: Action
    weights: Tensor


class MultiModelController:
    """Runs all policies, merges their actions, and updates their weights; one policy is a special case."""

    def __init__(self, policies: Sequence[Policy]) -> None:
        self._forwarder = Forwarder(policies)
        self._action_merger = ActionMerger()
        self._auxiliary = AuxiliaryMerge(policies)

    def step(self, p_obs: PreparedObs) -> ControllerResult:
        """Choose an action."""
        aux = self._auxiliary
        with torch.inference_mode():
            actions, states = self._forwarder.step(p_obs)
            env_action, merged_states = self._action_merger.step(actions, states, aux.weights, p_obs)
            aux.update(merged_states)
        return ControllerResult(env_action, aux.weights)
