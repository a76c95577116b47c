"""A driver by rule, from which the policies learn: it looks at a point ahead and at how the road bends."""

from __future__ import annotations

import numpy as np

from .action import Action
from .car import Car
from .derived import AHEAD, OWN, Vector

_LOOK = 5  # points ahead
_FASTEST, _SLOWEST = 45.0, 18.0  # metres a second


def expert(derived: Vector, car: Car) -> Action:
    """Drive a car whose answers to its controls are known."""
    x, y = derived[OWN : OWN + 2 * AHEAD].reshape(AHEAD, 2)[_LOOK]
    bends = derived[OWN + 2 * AHEAD :]
    wanted = _FASTEST - 40.0 * float(np.abs(bends[:14].sum()) + np.abs(bends[:7].sum())) / 2
    steer = 1.6 * np.arctan2(x, max(y, 1.0)) + 0.08 * derived[3]
    pedal = 0.12 * (max(wanted, _SLOWEST) - derived[1])
    return Action(
        float(np.clip(steer / car.steering, -1.0, 1.0)), float(np.clip(pedal / car.power, -0.6, 0.8))
    )
