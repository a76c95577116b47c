"""Stepping an environment, episode after episode, with everything remembered."""

from __future__ import annotations

import ticktree

from .buffers import ReplayBuffer, Transition
from .observation import Action, Environment, Observation


class Episodes:
    """The running episode: its observation, what it has earned, and the returns of those before it."""

    def __init__(self, environment: Environment, buffer: ReplayBuffer, seed: int) -> None:
        self._environment = environment
        self._buffer = buffer
        self._return = 0.0
        self.returns: list[float] = []
        self.observation: Observation
        self._begin(seed)

    def advance(self, action: Action) -> None:
        """Take one step, remember it, and begin the next episode where this one ends."""
        with ticktree.section("env step"):
            following, reward, terminated, truncated, _ = self._environment.step(action)
        with ticktree.section("store"):
            # An episode cut off by the clock would have gone on: only a real ending has no value after it.
            self._buffer.add(Transition(self.observation, action, float(reward), following, terminated))
        self.observation = following
        self._return += float(reward)
        if terminated or truncated:
            self.returns.append(self._return)
            self._begin(None)

    def _begin(self, seed: int | None) -> None:
        with ticktree.section("reset"):
            self.observation, _ = self._environment.reset(seed=seed)
            self._buffer.start(self.observation)
        self._return = 0.0
