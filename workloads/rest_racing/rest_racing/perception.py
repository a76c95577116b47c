"""What a driver has before it: the last few observations, and the last two pictures, small and grey."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from .derived import WIDTH, Vector

HISTORY = 8
PICTURES, SIDE = 2, 24
WINDOW = HISTORY * WIDTH

Pictures = NDArray[np.float32]
_GREY = np.array([0.299, 0.587, 0.114], np.float32)


class Perception:
    """Keeps what was seen last; a new one for every game."""

    def __init__(self) -> None:
        self._derived: deque[Vector] = deque(maxlen=HISTORY)
        self._pictures: deque[Pictures] = deque(maxlen=PICTURES)

    def add(self, derived: Vector, image: NDArray[np.uint8]) -> None:
        """See something new. What was seen first was there before, as far as anybody knows."""
        self._derived.extend([derived] * (1 if self._derived else HISTORY))
        self._pictures.extend([small(image)] * (1 if self._pictures else PICTURES))

    @property
    def window(self) -> Vector:
        """The observations one behind the other, oldest first: (WINDOW,)."""
        return np.concatenate(self._derived)

    @property
    def pictures(self) -> Pictures:
        """The pictures, oldest first: (PICTURES, SIDE, SIDE)."""
        return np.stack(self._pictures)


def small(image: NDArray[np.uint8]) -> Pictures:
    """A colour picture, (96, 96, 3), as the mean grey of squares of it, from 0 to 1."""
    grey = image.astype(np.float32) @ _GREY / np.float32(255.0)
    each = grey.shape[0] // SIDE
    squares: Pictures = grey.reshape(SIDE, each, SIDE, each).mean(axis=(1, 3), dtype=np.float32)
    return squares
