"""What the models are given: the same observation, for each of them as it knows it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .derived import MEASURED, WIDTH, Vector
from .perception import Pictures
from .pilot import Pilot

# Metres a second, radians a second: about one is much.
_MEASURED_SCALE = np.array([20.0, 1.0])


class PreparedObservation:
    """An observation as the models take it.

    Attributes:
        inputs: For each model, (1, as wide as it knows).
        pictures: For all of them.
        measured: What the auxiliary models predict, as it is now.
    """

    __slots__ = ("inputs", "measured", "pictures")

    def __init__(self, inputs: Sequence[Tensor], pictures: Tensor, measured: Tensor) -> None:
        self.inputs = inputs
        self.pictures = pictures
        self.measured = measured


class Normaliser:
    """Brings the numbers that a pilot looks at to the scale on which it was trained."""

    def __init__(self, pilot: Pilot) -> None:
        columns: NDArray[np.int64] = pilot.columns.numpy()
        self._columns = None if np.array_equal(columns, np.arange(len(columns))) else columns
        self._mean = pilot.mean.double().numpy()
        self._scale = pilot.scale.double().numpy()

    def of(self, window: Vector) -> Tensor:
        """Return the inputs of one model."""
        own = window if self._columns is None else window[self._columns]
        return torch.from_numpy(((own - self._mean) / self._scale).astype(np.float32)).unsqueeze(0)


def measured(window: Vector) -> NDArray[np.float32]:
    """What the auxiliary models predict, as the newest observation has it."""
    values: NDArray[np.float32] = (window[-WIDTH:][MEASURED] / _MEASURED_SCALE).astype(np.float32)
    return values


def prepared(normalisers: Sequence[Normaliser], window: Vector, pictures: Pictures) -> PreparedObservation:
    """Prepare an observation for all models."""
    inputs = [normaliser.of(window) for normaliser in normalisers]
    return PreparedObservation(
        inputs, torch.from_numpy(pictures).unsqueeze(0), torch.from_numpy(measured(window))
    )
