"""What follows from an observation, its predecessor and the track: the numbers that a driver goes by."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

AHEAD = 20  # points of the track, from where the car is
MOTION = ("speed", "forward", "sideways", "yaw rate", "steering")
OWN = len(MOTION) + 4 + 3 + 2  # and the slip of four wheels, three accelerations, offset and heading
WIDTH = OWN + 2 * AHEAD + (AHEAD - 2)
# Columns of what is measured, which the auxiliary models predict.
MEASURED = [1, 3]
_WHEEL_RADIUS = 0.54
_SECONDS_A_FRAME = 0.02

Vector = NDArray[np.float64]


class Derivation:
    """Turns what the game says into numbers seen from the driver's seat.

    Args:
        course: The middle of the track, (points, 2).
        frames: Of the game, from one observation to the next.
    """

    def __init__(self, course: Any, frames: int) -> None:
        self._course = np.asarray(course, np.float64)
        self._seconds = frames * _SECONDS_A_FRAME

    def of(self, raw: dict[str, Any], before: Vector | None) -> Vector:
        """Return the numbers of an observation; `before` are those of the one before, None for the first."""
        frame = _frame(raw["angle"])  # rows: to the right, forward
        sideways, forward = frame @ np.asarray(raw["velocity"])
        motion = [np.hypot(sideways, forward), forward, sideways, raw["angular_velocity"], raw["steering"]]
        slip = _WHEEL_RADIUS * np.asarray(raw["wheel_speeds"]) - forward
        gained = np.zeros(3) if before is None else (np.asarray(motion[1:4]) - before[1:4]) / self._seconds

        ahead = self._ahead(np.asarray(raw["position"])) @ frame.T
        along = np.diff(ahead, axis=0)
        heading = np.arctan2(along[:, 0], along[:, 1])
        offset = float(ahead[0] @ (np.cos(heading[0]), -np.sin(heading[0])))
        bends = (np.diff(heading) + np.pi) % (2 * np.pi) - np.pi
        return np.concatenate([motion, slip, gained, [offset, heading[0]], ahead.ravel(), bends])

    def _ahead(self, position: Vector) -> Vector:
        """The points of the track from the nearest on, seen from the car but not yet turned."""
        away = self._course - position
        nearest = int(np.argmin(np.einsum("ij,ij->i", away, away)))
        return away[(nearest + np.arange(AHEAD)) % len(away)]


def _frame(angle: float) -> Vector:
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([[cos, sin], [-sin, cos]])
