"""CarRacing from pixels, each part of its step a section, and the wrappers that make four stacked grey frames."""

from __future__ import annotations

from typing import Any, TypeAlias

import cv2
import gymnasium as gym
import numpy as np
import pygame
from gymnasium.envs.box2d.car_racing import CarRacing
from gymnasium.spaces import Box
from numpy.typing import NDArray

import ticktree

Obs: TypeAlias = NDArray[Any]  # (frames, height, width): float32 in [0, 1], or uint8
Action: TypeAlias = NDArray[np.float32]
Env: TypeAlias = gym.Env[Obs, Action]

MAX_EPISODE_STEPS = 1000
FRAME_STACK = 4
OBS_SHAPE = (FRAME_STACK, 96, 96)
ACTION_DIM = 2


class TimedCarRacing(CarRacing):
    """CarRacing with the same results and these stages: physics, render, resize, read pixels, transpose, reward.

    `CarRacing.step()` steers, steps the world, calls `_render()` and then computes the reward. A stage ends where the
    next one begins, so the calls that CarRacing makes to its own methods separate the parts without a copy of it.
    """

    def step(self, action: NDArray[Any] | int) -> Any:
        """Advance the world by one frame."""
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
        small = pygame.transform.smoothscale(screen, size)
        ticktree.stage("read pixels")
        pixels = np.array(pygame.surfarray.pixels3d(small))
        ticktree.stage("transpose")
        image = np.transpose(pixels, axes=(1, 0, 2))
        ticktree.stage("release")  # of the surfaces, as this method and _render() return
        return image


class GasBrake(gym.ActionWrapper[Obs, Action, Action]):
    """(steering, pedal), each in [-1, 1], to (steering, gas, brake): a pedal above zero is gas."""

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        self.action_space = Box(-1.0, 1.0, (ACTION_DIM,), np.float32)

    def action(self, action: Action) -> Action:
        """Split the pedal into gas and brake."""
        steering, pedal = action
        return np.array([steering, max(pedal, 0.0), max(-pedal, 0.0)], dtype=np.float32)


class GrayscaleObs(gym.ObservationWrapper[Obs, Action, Obs]):
    """(height, width, 3) uint8 to (height, width) uint8."""

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        self.observation_space = Box(0, 255, OBS_SHAPE[1:], np.uint8)

    def observation(self, obs: Obs) -> Obs:
        """Weigh the three colours as OpenCV does."""
        with ticktree.section("grayscale") as section:
            gray: Obs = cv2.cvtColor(obs, cv2.COLOR_RGB2GRAY)
            section.work(bytes=obs.nbytes)
        return gray


class NormalizeObs(gym.ObservationWrapper[Obs, Action, Obs]):
    """uint8 in 0..255 to float32 in 0..1: four times the memory from here on."""

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        self.observation_space = Box(0.0, 1.0, OBS_SHAPE[1:], np.float32)

    def observation(self, obs: Obs) -> Obs:
        """Scale one frame."""
        with ticktree.section("normalise") as section:
            floats: Obs = obs.astype(np.float32) / np.float32(255.0)
            section.work(bytes=floats.nbytes)
        return floats


class FrameStack(gym.Wrapper[Obs, Action, Obs, Action]):
    """The newest frames as one array, oldest first; an episode begins with copies of its first frame."""

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        space = env.observation_space
        assert isinstance(space, Box)
        self.frames: list[Obs] = []
        low, high = space.low.flat[0], space.high.flat[0]
        self.observation_space = Box(low, high, OBS_SHAPE, space.dtype.type)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Obs, dict[str, Any]]:
        """Begin an episode."""
        obs, info = self.env.reset(seed=seed, options=options)
        self.frames = [obs] * FRAME_STACK
        return self._stack(), info

    def step(self, action: Action) -> tuple[Obs, Any, bool, bool, dict[str, Any]]:
        """Advance one frame; the oldest frame leaves the stack."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        self.frames = [*self.frames[1:], obs]
        return self._stack(), reward, terminated, truncated, info

    def _stack(self) -> Obs:
        with ticktree.section("stack") as section:
            stack = np.stack(self.frames)
            section.work(bytes=stack.nbytes)
        return stack


def make_env(normalize: bool) -> Env:
    """Make CarRacing with grey stacked frames, scaled to [0, 1] if `normalize`, else uint8."""
    env: Env = gym.wrappers.TimeLimit(TimedCarRacing(), MAX_EPISODE_STEPS)
    env = GrayscaleObs(GasBrake(env))
    if normalize:
        env = NormalizeObs(env)
    return FrameStack(env)
