"""From CarRacing's colour picture to what the agent sees: grey, scaled, four frames deep."""

from __future__ import annotations

from collections import deque
from typing import Any, TypeAlias

import cv2
import gymnasium
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

import ticktree

Observation: TypeAlias = NDArray[Any]  # (frames, height, width): float32 in [0, 1], or uint8
Action: TypeAlias = NDArray[np.float32]
Environment: TypeAlias = gymnasium.Env[Observation, Action]


class Grayscale(gymnasium.ObservationWrapper[Observation, Action, Observation]):
    """(height, width, 3) uint8 to (height, width) uint8."""

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        height, width, _ = _shape(env)
        self.observation_space = Box(0, 255, (height, width), np.uint8)

    def observation(self, observation: Observation) -> Observation:
        """Weigh the three colours into one, as OpenCV does."""
        with ticktree.section("grayscale") as section:
            grey: Observation = cv2.cvtColor(observation, cv2.COLOR_RGB2GRAY)
            section.work(bytes=observation.nbytes)
        return grey


class Normalize(gymnasium.ObservationWrapper[Observation, Action, Observation]):
    """uint8 in 0..255 to float32 in 0..1: four times the memory from here on."""

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self.observation_space = Box(0.0, 1.0, _shape(env), np.float32)

    def observation(self, observation: Observation) -> Observation:
        """Scale one frame."""
        with ticktree.section("normalise") as section:
            scaled: Observation = observation.astype(np.float32) / np.float32(255.0)
            section.work(bytes=scaled.nbytes)
        return scaled


class FrameStack(gymnasium.Wrapper[Observation, Action, Observation, Action]):
    """The newest frames as one array, oldest first; an episode begins with copies of its first frame."""

    def __init__(self, env: Environment, frames: int) -> None:
        super().__init__(env)
        space = env.observation_space
        assert isinstance(space, Box)
        self._frames: deque[Observation] = deque(maxlen=frames)
        low, high = space.low.flat[0], space.high.flat[0]
        self.observation_space = Box(low, high, (frames, *space.shape), space.dtype.type)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode."""
        frame, information = self.env.reset(seed=seed, options=options)
        self._frames.extend([frame] * (self._frames.maxlen or 1))
        return self._stack(), information

    def step(self, action: Action) -> tuple[Observation, Any, bool, bool, dict[str, Any]]:
        """Advance one frame; the oldest of the stack leaves."""
        frame, reward, terminated, truncated, information = self.env.step(action)
        self._frames.append(frame)
        return self._stack(), reward, terminated, truncated, information

    def _stack(self) -> Observation:
        with ticktree.section("stack") as section:
            stacked = np.stack(self._frames)
            section.work(bytes=stacked.nbytes)
        return stacked


def _shape(env: Environment) -> tuple[int, ...]:
    space = env.observation_space
    assert isinstance(space, Box)
    return space.shape
