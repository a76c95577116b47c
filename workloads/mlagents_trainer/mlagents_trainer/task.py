"""A gymnasium task as the toolkit sees one: an agent with one vector to observe, whose episodes follow each other."""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

Array = NDArray[np.float32]


class Observation(NamedTuple):
    """What an agent has to say after a step.

    Attributes:
        agent: its number; another one for each episode.
        observation: what it sees.
        reward: what the step earned.
        done: whether the episode ended with the step.
        interrupted: whether it ended because its time was over.
    """

    agent: int
    observation: Array
    reward: float = 0.0
    done: bool = False
    interrupted: bool = False


class Task:
    """The task, stepped by what the trainer sends."""

    def __init__(self, name: str, seed: int) -> None:
        self._env = gymnasium.make(name)
        if not isinstance(self._env.observation_space, Box) or len(self._env.observation_space.shape) != 1:
            raise ValueError(f"{name} has no vector to observe")
        if not isinstance(self._env.action_space, Box | Discrete):
            raise ValueError(f"{name} takes neither one of several actions nor a vector")
        self._seed: int | None = seed
        self._agent = -1

    @property
    def continuous(self) -> int:
        """How many numbers an action has; 0 where it is one of several."""
        space = self._env.action_space
        return int(np.prod(space.shape)) if isinstance(space, Box) else 0

    @property
    def choices(self) -> int:
        """Of how many actions one is chosen; 0 where an action is a vector."""
        space = self._env.action_space
        return int(space.n) if isinstance(space, Discrete) else 0

    def reset(self) -> list[Observation]:
        """Begin an episode."""
        observation, _ = self._env.reset(seed=self._seed)
        self._seed = None  # the episodes that follow go on with the same random numbers
        self._agent += 1
        return [Observation(self._agent, observation.astype(np.float32))]

    def step(self, continuous: list[float], discrete: list[int]) -> list[Observation]:
        """Take a step; where it ends the episode, the next one begins, and both have something to say."""
        observation, reward, terminated, truncated, _ = self._env.step(self._action(continuous, discrete))
        done = terminated or truncated
        observed = Observation(self._agent, observation.astype(np.float32), float(reward), done, truncated)
        return [observed, *self.reset()] if done else [observed]

    def close(self) -> None:
        """Put the task away."""
        self._env.close()

    def _action(self, continuous: list[float], discrete: list[int]) -> Any:
        space = self._env.action_space
        if isinstance(space, Box):
            # The toolkit's actions are in [-1, 1].
            middle, half = (space.high + space.low) / 2, (space.high - space.low) / 2
            return (middle + half * np.array(continuous, np.float32).reshape(space.shape)).astype(space.dtype)
        return discrete[0]
