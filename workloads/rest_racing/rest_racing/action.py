"""What a driver tells its car."""

from __future__ import annotations

from typing import NamedTuple


class Action(NamedTuple):
    """One setting of the controls, kept until the next.

    Attributes:
        steer: From -1, left, to 1, right.
        pedal: From -1, the brake, to 1, the gas.
    """

    steer: float
    pedal: float


COAST = Action(0.0, 0.0)
