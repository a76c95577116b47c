"""The ALOHA robot: two arms in MuJoCo's physics and a camera above them, behind lerobot's `Robot` interface."""

from __future__ import annotations

import importlib.util
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from lerobot.robots import Robot, RobotConfig
from numpy.typing import NDArray

import ticktree

Array = NDArray[np.float64]

SCENE = "bimanual_viperx_transfer_cube.xml"
PERIOD_S = 0.01  # how often the physics thread wakes; it makes up for what it slept
STEP_S = 0.0025
ARM_JOINTS = 6
# Gripper positions, closed and open, as ALOHA's own scale of 0 to 1 has them. (Of the joint; the actuator's range.)
GRIPPER_CLOSED, GRIPPER_OPEN = 0.01844, 0.05800
SIDES = ("left", "right")
JOINTS = tuple(
    f"{side}_{joint}"
    for side in SIDES
    for joint in ("waist", "shoulder", "elbow", "forearm_roll", "wrist_angle", "wrist_rotate", "gripper")
)
# A finger of each gripper mirrors the other: eight positions per arm, of which seven are reported.
_ARM_POSITIONS = ARM_JOINTS + 2


def scene_path() -> Path:
    """Where gym-aloha keeps its MJCF; the package itself is not imported, for it would import dm_control."""
    spec = importlib.util.find_spec("gym_aloha")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("gym_aloha is not installed: its ALOHA scene is needed")
    return Path(spec.submodule_search_locations[0]) / "assets" / SCENE


class AlohaWorld(threading.Thread):
    """Both arms and a cube. Once started it follows the clock; before, `advance` moves it.

    Args:
        fast_drawing: leave shadows and multisampling out of the model's pictures.
    """

    def __init__(self, *, fast_drawing: bool = True) -> None:
        super().__init__(name="physics", daemon=True)
        spec = mujoco.MjSpec.from_file(str(scene_path()))
        spec.option.timestep = STEP_S
        if fast_drawing:
            spec.visual.quality.shadowsize = 0
            spec.visual.quality.offsamples = 0
        self.model: Any = spec.compile()
        self._data: Any = mujoco.MjData(self.model)
        self._lock = threading.Lock()
        self._unspent_steps = 0.0  # steps of time that has passed: less than one between two calls
        self._ended = threading.Event()
        mujoco.mj_resetDataKeyframe(self.model, self._data, 0)
        self._data.ctrl[:] = self._data.qpos[: self.model.nu]
        mujoco.mj_forward(self.model, self._data)

    @property
    def home(self) -> Array:
        """Joint positions of the model's keyframe, grippers from 0 to 1."""
        return _reported(np.array(self.model.key_qpos[0]))

    def run(self) -> None:
        """Follow the clock until `end` is called."""
        ticktree.role("physics")
        # No loop with a rate: the control loop is this program's only deadline, and a late step here is made up for.
        start, elapsed = time.monotonic(), 0.0
        while not self._ended.wait(PERIOD_S):
            with ticktree.section("physics"):
                now = time.monotonic() - start
                self.advance(now - elapsed)
                elapsed = now

    def end(self) -> None:
        """Stop following the clock."""
        self._ended.set()
        if self.is_alive():
            self.join()

    def advance(self, seconds: float) -> None:
        """Let so much time pass, in whole steps; what is left over counts the next time."""
        with self._lock:
            self._unspent_steps += seconds / STEP_S
            steps = int(self._unspent_steps + 1e-6)
            self._unspent_steps -= steps
            mujoco.mj_step(self.model, self._data, nstep=steps)

    def command(self, positions: Array) -> Array:
        """Have the joints go there, and return where they were really sent: what is out of reach is clipped."""
        ranges = self.model.actuator_ctrlrange
        targets = np.clip(_actuators(positions), ranges[:, 0], ranges[:, 1])
        with self._lock:
            self._data.ctrl[:] = targets
        return _reported(targets)

    def joints(self) -> Array:
        """Where the joints are, grippers from 0 to 1."""
        with self._lock:
            return _reported(np.array(self._data.qpos))

    def copy_to(self, data: Any) -> None:
        """Put the world as it is now into `data`, from which pictures can be drawn while this continues."""
        with self._lock:
            data.qpos[:] = self._data.qpos
            data.time = self._data.time
        mujoco.mj_kinematics(self.model, data)
        mujoco.mj_camlight(self.model, data)


def _reported(positions: Array) -> Array:
    """Fourteen numbers of the model's sixteen and more."""
    arms = positions[: 2 * _ARM_POSITIONS].reshape(2, _ARM_POSITIONS)
    grippers = (arms[:, ARM_JOINTS] - GRIPPER_CLOSED) / (GRIPPER_OPEN - GRIPPER_CLOSED)
    return np.concatenate([arms[:, :ARM_JOINTS], grippers[:, None]], axis=1).ravel()


def _actuators(positions: Array) -> Array:
    """The model's sixteen actuators from fourteen numbers."""
    arms = np.asarray(positions, dtype=float).reshape(2, ARM_JOINTS + 1)
    finger = GRIPPER_CLOSED + arms[:, ARM_JOINTS:] * (GRIPPER_OPEN - GRIPPER_CLOSED)
    return np.concatenate([arms[:, :ARM_JOINTS], finger, -finger], axis=1).ravel()


Picture = NDArray[np.uint8]
_COSTLY = (mujoco.mjtRndFlag.mjRND_SHADOW, mujoco.mjtRndFlag.mjRND_REFLECTION)


class AlohaCamera:
    """Takes pictures of a world. An OpenGL context is of one thread: all pictures are taken by the first that does.

    Args:
        world: what it sees.
        width: of its pictures, in pixels.
        height: of its pictures, in pixels.
        fast_drawing: leave out shadows and reflections.
    """

    def __init__(self, world: AlohaWorld, width: int, height: int, *, fast_drawing: bool = True) -> None:
        self._world = world
        self._size = width, height
        self._fast = fast_drawing
        self._data: Any = mujoco.MjData(world.model)
        self._renderer: Any = None

    def read(self) -> Picture:
        """Take a picture: height x width x RGB."""
        if self._renderer is None:
            with ticktree.section("open renderer"):
                self._renderer = self._open()
        with ticktree.section("copy world"):
            self._world.copy_to(self._data)
        with ticktree.section("render") as drawing:
            self._renderer.update_scene(self._data, camera="top")
            picture: Picture = self._renderer.render()
            drawing.work(bytes=picture.nbytes)
        return picture

    def close(self) -> None:
        """Give the OpenGL context back."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def _open(self) -> Any:
        width, height = self._size
        renderer = mujoco.Renderer(self._world.model, height, width)
        if self._fast:
            for flag in _COSTLY:
                renderer.scene.flags[flag] = 0
        return renderer


@RobotConfig.register_subclass("aloha_mujoco")  # type: ignore[untyped-decorator,unused-ignore]
@dataclass(kw_only=True)
class AlohaConfig(RobotConfig):  # type: ignore[misc,unused-ignore]
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


CAMERA = "top"


class Aloha(Robot):  # type: ignore[misc,unused-ignore]
    """Two arms of seven joints each and a camera above them. `sensed_at` says when the last observation was made."""

    config_class = AlohaConfig
    name = "aloha_mujoco"

    def __init__(self, config: AlohaConfig) -> None:
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
