"""What one agent saw, did and got, a stretch at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .env_manager import EnvironmentStep
from .messages import Array


class Episode(NamedTuple):
    """A whole episode's result."""

    reward: float
    length: int


class Trajectory(NamedTuple):
    """Steps in a row of one agent, of at most one episode."""

    observations: Array  # (steps, observations)
    actions: Array  # (steps, actions)
    log_probabilities: Array  # (steps,), when the actions were drawn
    rewards: Array  # (steps,)
    following: Array  # what was seen after the last step
    terminated: bool  # there is nothing to expect after it: the episode ended, not merely its time
    episode: Episode | None  # the episode that ended here, if one did

    @property
    def steps(self) -> int:
        """How many steps it has."""
        return len(self.rewards)


class AgentProcessor:
    """Strings the steps of each worker's agent together."""

    def __init__(self, horizon: int) -> None:
        self._horizon = horizon  # steps after which a trajectory is cut, and the rest is left to the critic
        self._steps: dict[int, list[EnvironmentStep]] = {}
        self._episodes: dict[int, Episode] = {}
        self.episodes: list[Episode] = []  # that have ended

    def add(self, step: EnvironmentStep) -> Trajectory | None:
        """Remember a step; return the trajectory that is whole with it."""
        outcome = step.outcome
        steps = self._steps.setdefault(outcome.worker, [])
        steps.append(step)
        before = self._episodes.get(outcome.worker, Episode(0.0, 0))
        episode = Episode(before.reward + outcome.reward, before.length + 1)
        self._episodes[outcome.worker] = Episode(0.0, 0) if outcome.ended else episode
        if outcome.ended:
            self.episodes.append(episode)
        if not outcome.ended and len(steps) < self._horizon:
            return None
        del self._steps[outcome.worker]
        return _trajectory(steps, episode if outcome.ended else None)


def _trajectory(steps: list[EnvironmentStep], episode: Episode | None) -> Trajectory:
    last = steps[-1].outcome
    return Trajectory(
        np.stack([step.action.observation for step in steps]),
        np.stack([step.action.action for step in steps]),
        np.array([step.action.log_probability for step in steps], np.float32),
        np.array([step.outcome.reward for step in steps], np.float32),
        last.observation if last.final is None else last.final,
        last.terminated,
        episode,
    )
