"""Mean and variance of everything seen so far, without keeping it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .messages import Array


class RunningMoments:
    """Mean and variance of vectors that come in batches."""

    def __init__(self, size: int) -> None:
        self.count = 0
        self.mean: NDArray[np.float64] = np.zeros(size)
        self._squares: NDArray[np.float64] = np.zeros(size)  # sum of squared distances from the mean

    def add(self, batch: Array) -> None:
        """Count these vectors in."""
        wide = batch.astype(np.float64)
        count = self.count + len(wide)
        apart = wide.mean(axis=0) - self.mean
        # Never a difference of two large sums, which would lose what they have in common.
        self._squares += wide.var(axis=0) * len(wide) + apart**2 * (self.count * len(wide) / count)
        self.mean = self.mean + apart * (len(wide) / count)
        self.count = count

    @property
    def variance(self) -> NDArray[np.float64]:
        """The variance of all vectors; 1 before there are any."""
        return self._squares / self.count if self.count else np.ones_like(self._squares)
