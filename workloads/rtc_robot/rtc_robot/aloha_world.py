"""The robot's world: MuJoCo's physics of the ALOHA arms, running in real time."""

from __future__ import annotations

import importlib.util
import threading
import time
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
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
    found = importlib.util.find_spec("gym_aloha")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("gym_aloha is not installed: its ALOHA scene is needed")
    return Path(found.submodule_search_locations[0]) / "assets" / SCENE


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
        self._owed = 0.0  # steps of time that has passed: less than one between two calls
        self._ended = threading.Event()
        mujoco.mj_resetDataKeyframe(self.model, self._data, 0)
        self._data.ctrl[:] = self._data.qpos[: self.model.nu]
        mujoco.mj_forward(self.model, self._data)

    @property
    def home(self) -> Array:
        """Joint positions of the model's keyframe, grippers from 0 to 1."""
        return _told(np.array(self.model.key_qpos[0]))

    def run(self) -> None:
        """Follow the clock until `end` is called."""
        ticktree.role("physics")
        # No loop with a rate: the control loop is this program's only deadline, and a late step here is made up for.
        begun, passed = time.monotonic(), 0.0
        while not self._ended.wait(PERIOD_S):
            with ticktree.section("physics"):
                due = time.monotonic() - begun
                self.advance(due - passed)
                passed = due

    def end(self) -> None:
        """Stop following the clock."""
        self._ended.set()
        if self.is_alive():
            self.join()

    def advance(self, seconds: float) -> None:
        """Let so much time pass, in whole steps; what is left over counts the next time."""
        with self._lock:
            self._owed += seconds / STEP_S
            steps = int(self._owed + 1e-6)
            self._owed -= steps
            mujoco.mj_step(self.model, self._data, nstep=steps)

    def command(self, positions: Array) -> Array:
        """Have the joints go there, and return where they were really sent: what is out of reach is clipped."""
        ranges = self.model.actuator_ctrlrange
        wanted = np.clip(_full(positions), ranges[:, 0], ranges[:, 1])
        with self._lock:
            self._data.ctrl[:] = wanted
        return _told(wanted)

    def joints(self) -> Array:
        """Where the joints are, grippers from 0 to 1."""
        with self._lock:
            return _told(np.array(self._data.qpos))

    def copy_to(self, data: Any) -> None:
        """Put the world as it is now into `data`, from which pictures can be drawn while this continues."""
        with self._lock:
            data.qpos[:] = self._data.qpos
            data.time = self._data.time
        mujoco.mj_kinematics(self.model, data)
        mujoco.mj_camlight(self.model, data)


def _told(positions: Array) -> Array:
    """Fourteen numbers of the model's sixteen and more."""
    arms = positions[: 2 * _ARM_POSITIONS].reshape(2, _ARM_POSITIONS)
    grippers = (arms[:, ARM_JOINTS] - GRIPPER_CLOSED) / (GRIPPER_OPEN - GRIPPER_CLOSED)
    return np.concatenate([arms[:, :ARM_JOINTS], grippers[:, None]], axis=1).ravel()


def _full(positions: Array) -> Array:
    """The model's sixteen actuators from fourteen numbers."""
    arms = np.asarray(positions, dtype=float).reshape(2, ARM_JOINTS + 1)
    finger = GRIPPER_CLOSED + arms[:, ARM_JOINTS:] * (GRIPPER_OPEN - GRIPPER_CLOSED)
    return np.concatenate([arms[:, :ARM_JOINTS], finger, -finger], axis=1).ravel()
