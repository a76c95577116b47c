"""The ALOHA arms of the simulation behind lerobot's `Robot` interface."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from lerobot.robots import Robot

import ticktree

from .aloha_camera import AlohaCamera
from .aloha_world import JOINTS, AlohaWorld
from .config_aloha_robot import AlohaRobotConfig

CAMERA = "top"


class AlohaRobot(Robot):  # type: ignore[misc,unused-ignore]
    """Two arms of seven joints each and a camera above them. `sensed_at` says when the last observation was made."""

    config_class = AlohaRobotConfig
    name = "aloha_mujoco"

    def __init__(self, config: AlohaRobotConfig) -> None:
        super().__init__(config)
        self.config = config
        self.world = AlohaWorld(fast_drawing=config.fast_drawing)
        self.sensed_at = 0.0
        self._camera = AlohaCamera(self.world, config.width, config.height, fast_drawing=config.fast_drawing)
        self._connected = False

    @property
    def observation_features(self) -> dict[str, Any]:
        """A position a joint, and a picture."""
        return {**self.action_features, CAMERA: (self.config.height, self.config.width, 3)}

    @property
    def action_features(self) -> dict[str, Any]:
        """A position a joint."""
        return {f"{joint}.pos": float for joint in JOINTS}

    @property
    def is_connected(self) -> bool:
        """Whether its world is running."""
        return self._connected

    @property
    def is_calibrated(self) -> bool:
        """Always: a simulation needs none."""
        return True

    def connect(self, calibrate: bool = True) -> None:  # noqa: ARG002 - the interface's
        """Let its time begin."""
        self.world.start()
        self._connected = True

    def calibrate(self) -> None:
        """Nothing to do."""

    def configure(self) -> None:
        """Nothing to do."""

    def get_observation(self) -> dict[str, Any]:
        """Return joint positions by name and the picture, by the camera's."""
        with ticktree.section("robot.get_observation"):
            self.sensed_at = time.monotonic()
            joints = self.world.joints()
            picture = self._camera.read()
        return {**dict(zip(self.action_features, joints.tolist(), strict=True)), CAMERA: picture}

    def send_action(self, action: dict[str, Any]) -> dict[str, Any]:
        """Send the joints there, and return where they were really sent."""
        with ticktree.section("robot.send_action"):
            sent = self.world.command(np.array([action[name] for name in self.action_features]))
        return dict(zip(self.action_features, sent.tolist(), strict=True))

    def disconnect(self) -> None:
        """End its time. The thread that took pictures closes the camera, with `close_camera`."""
        if self._connected:
            self._connected = False
            self.world.end()

    def close_camera(self) -> None:
        """Give the camera's OpenGL context back: on the thread that took the pictures."""
        self._camera.close()
