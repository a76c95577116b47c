"""The cars there are: each answers to its controls in a way of its own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

CARS = 19


class Car(NamedTuple):
    """How a car answers to its controls.

    Attributes:
        steering: How far the wheels turn for what is asked.
        power: How much of the engine there is.
    """

    steering: float
    power: float


# The one that nobody was trained on: in the middle of all the others.
STOCK = Car(1.0, 1.0)


def garage(cars: int, seed: int) -> list[Car]:
    """Return that many cars; the first ones are the same however many there are."""
    random = np.random.default_rng((seed, 19))
    values = random.uniform((0.6, 0.6), (1.4, 1.2), (cars, 2))
    return [Car(float(steering), float(power)) for steering, power in values]
