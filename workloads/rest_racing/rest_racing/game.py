"""The game: gymnasium's CarRacing, several frames to an action, each of them drawn or not."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.envs.box2d.car_racing import CarRacing
from numpy.typing import NDArray

import ticktree

from .action import Action
from .car import Car

Picture = NDArray[np.uint8]
DRAW = ("all", "last")


class Game(CarRacing):
    """CarRacing, whose `step()` no longer draws: simulation and rendering are apart, and the latter can be left out.

    Args:
        car: How the car answers to its controls.
        frames: Of the game, for each action.
        draw: "all" frames, as a game with a screen does, or only the "last" one of an action.
    """

    def __init__(self, car: Car, frames: int, draw: str) -> None:
        super().__init__()
        self.picture: Picture | None = None
        self.over = False
        self.total_reward = 0.0
        self._tuned = car
        self._frames = frames
        self._draw_all = draw == "all"

    def begin(self, seed: int) -> None:
        """Lay out a track and put the car at its start."""
        self.over, self.total_reward = False, 0.0
        with ticktree.section("lay out track"):
            self.reset(seed=seed)
        self._look()

    def advance(self, action: Action) -> None:
        """Let the game run on for one action, or to its end."""
        controls = self._controls(action)
        for frame in range(1, self._frames + 1):
            with ticktree.section("simulate"):
                _, reward, self.over, _, _ = self.step(controls)
            self.total_reward += float(reward)
            if self._draw_all or self.over or frame == self._frames:
                self._look()
            if self.over:
                return

    def observation(self) -> dict[str, Any]:
        """Return what the game tells of itself, beside the picture, as JSON can say it."""
        car = self.car
        assert car is not None
        hull = car.hull
        return {
            "position": [*hull.position],
            "velocity": [*hull.linearVelocity],
            "angle": hull.angle,
            "angular_velocity": hull.angularVelocity,
            "wheel_speeds": [wheel.omega for wheel in car.wheels],
            "steering": car.wheels[0].joint.angle,
            "tiles": self.tile_visited_count,
            "reward": self.total_reward,
            "over": self.over,
        }

    def course(self) -> list[list[float]]:
        """Return the middle of the track, point by point: x, y."""
        return [[x, y] for _, _, x, y in self.track]

    def _controls(self, action: Action) -> NDArray[np.float32]:
        steer = np.clip(action.steer * self._tuned.steering, -1.0, 1.0)
        pedal = np.clip(action.pedal, -1.0, 1.0)
        gas = max(pedal, 0.0) * self._tuned.power
        return np.array([steer, min(gas, 1.0), max(-pedal, 0.0)], np.float32)

    def _look(self) -> None:
        with ticktree.section("render"):
            self.picture = super()._render("state_pixels")

    def _render(self, mode: str) -> Any:
        if mode == "state_pixels":
            return self.picture  # step() wants one; when there is a new one is for advance() to say
        return super()._render(mode)
