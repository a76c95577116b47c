"""The robot's settings. lerobot finds the robot by this module's name: `config_x` is for what `x` holds."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from lerobot.robots import RobotConfig


@RobotConfig.register_subclass("aloha_mujoco")  # type: ignore[untyped-decorator,unused-ignore]
@dataclass(kw_only=True)
class AlohaRobotConfig(RobotConfig):  # type: ignore[misc,unused-ignore]
    """Settings of the simulated robot.

    Attributes:
        width: of the camera's pictures, in pixels.
        height: of the camera's pictures, in pixels.
        fast_drawing: leave shadows, reflections and multisampling out of the pictures.
    """

    id: str | None = "aloha"
    # Nothing is to be calibrated; lerobot still makes the directory, by default in the user's home.
    calibration_dir: Path | None = field(default_factory=lambda: Path(tempfile.gettempdir()) / "rtc_robot")
    width: int = 640
    height: int = 480
    fast_drawing: bool = True
