"""CarRacing with each part of its one big `step()` told apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pygame
from gymnasium.envs.box2d.car_racing import CarRacing
from numpy.typing import NDArray

import ticktree


class ObservedCarRacing(CarRacing):
    """CarRacing, unchanged in what it does: physics, render, resize, read pixels, transpose, release, reward.

    `CarRacing.step()` steers, steps the world, calls `_render()` and then works out the reward. Nothing of
    that is copied here: a stage lasts until the next one begins, so the calls CarRacing makes to its own
    methods are the places where one part ends and the next begins.
    """

    def step(self, action: NDArray[Any] | int) -> Any:
        """Advance the world by one frame and return gymnasium's five values."""
        with ticktree.section("simulate"):
            ticktree.stage("physics")
            return super().step(action)

    def _render(self, mode: str) -> Any:
        if mode != "state_pixels":
            return super()._render(mode)  # a video for people, not an observation
        ticktree.stage("render")
        pixels = super()._render(mode)
        ticktree.stage("reward")
        return pixels

    def _render_road(self, zoom: float, translation: tuple[float, float], angle: float) -> None:
        with ticktree.section("road"):
            super()._render_road(zoom, translation, angle)  # type: ignore[no-untyped-call]

    def _render_indicators(self, W: int, H: int) -> None:  # noqa: N803  # CarRacing's own names
        with ticktree.section("indicators"):
            super()._render_indicators(W, H)  # type: ignore[no-untyped-call]

    def _create_image_array(self, screen: pygame.Surface, size: tuple[int, int]) -> NDArray[np.uint8]:
        # The one method written out again, because its single expression is three of the stages. pixels3d()
        # is a view that keeps the surface locked, hence the copy; transpose() makes a view of that copy.
        ticktree.stage("resize")
        scaled = pygame.transform.smoothscale(screen, size)
        ticktree.stage("read pixels")
        pixels = np.array(pygame.surfarray.pixels3d(scaled))
        ticktree.stage("transpose")
        image = np.transpose(pixels, axes=(1, 0, 2))
        ticktree.stage("release")  # of the surfaces, as this method and _render() return
        return image
