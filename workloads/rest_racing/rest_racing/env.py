"""The environment as the driver meets it: a game behind an HTTP interface."""

from __future__ import annotations

from typing import Any

from .action import Action
from .car import STOCK, Car
from .derived import Derivation
from .rest_client import RestClient

Observation = dict[str, Any]


class RestEnv:
    """A game's observations, with what follows from them.

    Args:
        rest: The connection to its server.
        frames: Of the game, for each action.
        draw: Which of them it draws: "all", or the "last" one.
        car: Which one to drive.
    """

    def __init__(self, rest: RestClient, frames: int, draw: str, car: Car = STOCK) -> None:
        self.rest = rest
        self._frames = frames
        self._draw = draw
        self._car = car
        self._derivation: Derivation | None = None
        self.course_length = 0

    def _begin(self, seed: int) -> Observation:
        raw_obs = self.rest.begin(seed, self._car, self._frames, self._draw)
        course = raw_obs.pop("course")
        self.course_length = len(course)
        self._derivation = Derivation(course, self._frames)
        self._add_derived_to_obs(raw_obs, {})
        return raw_obs

    def _act_and_get_obs(self, action: Action, prev_obs: Observation) -> Observation:
        raw_obs = self.rest.execute_and_wait_for_obs(action)
        self._add_derived_to_obs(raw_obs, prev_obs)
        return raw_obs

    def _add_derived_to_obs(self, raw_obs: Observation, prev_obs: Observation) -> None:
        if self._derivation is None:
            raise RuntimeError("no game: reset() begins one")
        raw_obs["derived"] = self._derivation.of(raw_obs, prev_obs.get("derived"))


class RestVisionEnv(RestEnv):
    """The same with the game's latest picture."""

    _obs: Observation

    def reset(self, seed: int) -> Observation:
        """Begin a game."""
        self._obs = self._begin(seed)
        self._add_latest_image_to_obs(self._obs)
        return self._obs

    def step(self, action: Action) -> Observation:
        """Act, and return what came of it."""
        prev_obs = self._obs
        self._obs = self._act_and_get_obs_extended(action, prev_obs)
        return self._obs

    def _act_and_get_obs_extended(self, action: Action, prev_obs: Observation) -> Observation:
        obs = super()._act_and_get_obs(action, prev_obs)
        self._add_latest_image_to_obs(obs)
        return obs

    def _add_latest_image_to_obs(self, obs: Observation) -> None:
        obs["image"] = self.rest.latest_image()
