"""A visual task small enough to learn in a minute: steer a dot to a target, seeing only the picture."""

from __future__ import annotations

import gymnasium
import numpy as np
from gymnasium.spaces import Box

SIDE = 12
STEPS = 20
SPEED = 1.5  # pixels a step


class DotTask(gymnasium.Env):
    """One grey picture: a bright dot, a dimmer target. Reward: minus the distance, as a share of the side."""

    observation_space = Box(0, 255, (1, SIDE, SIDE), np.uint8)
    action_space = Box(-1.0, 1.0, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._dot, self._target = self.np_random.uniform(1.5, SIDE - 2.5, (2, 2))
        self._steps = 0
        return self._picture(), {}

    def step(self, action):
        self._dot = np.clip(self._dot + SPEED * np.asarray(action), 0.0, SIDE - 1.0)
        self._steps += 1
        reward = -float(np.linalg.norm(self._dot - self._target)) / SIDE
        return self._picture(), reward, False, self._steps == STEPS, {}

    def _picture(self):
        picture = np.maximum(_blob(self._dot, 255.0), _blob(self._target, 110.0))
        return picture.astype(np.uint8)[np.newaxis]


def _blob(centre, brightness):
    # Soft edges: a place between two pixels can be seen.
    places = np.arange(SIDE)
    across = np.exp(-0.5 * (places - centre[0]) ** 2)
    down = np.exp(-0.5 * (places - centre[1]) ** 2)
    return brightness * np.outer(across, down)
