"""Two controls instead of three: nobody presses both pedals on purpose."""

from __future__ import annotations

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from .observation import Action, Environment, Observation


class Pedals(gymnasium.ActionWrapper[Observation, Action, Action]):
    """(steering, pedal), each in [-1, 1], to (steering, gas, brake): a pedal above zero is gas."""

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self.action_space = Box(-1.0, 1.0, (2,), np.float32)

    def action(self, action: Action) -> Action:
        """Translate one action."""
        steering, pedal = action
        return np.array([steering, max(pedal, 0.0), max(-pedal, 0.0)], dtype=np.float32)
