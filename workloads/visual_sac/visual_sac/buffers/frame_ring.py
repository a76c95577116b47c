"""Frames, each stored once, and which of them make up each transition."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class FrameRing:
    """A ring of frames beside a ring of transitions that refer to them.

    Frames are numbered from the beginning; frame n lies in place n modulo the number of places. A transition
    refers to `stack + 1` frames in order: all but the last are its state, all but the first its next state.
    Writing a frame over an old one forgets the transitions that refer to it, so no draw ever sees a frame of
    another time.
    """

    def __init__(self, capacity: int, shape: tuple[int, ...]) -> None:
        self._stack = shape[0]
        self._capacity = capacity
        # One frame for each transition and room for episode starts; a run of very short episodes keeps fewer
        # transitions rather than wrong ones. A state must fit in any case.
        self._places = capacity + capacity // 16 + self._stack + 1
        # numpy's zeros, unlike torch's, take no memory before they are written.
        self.frames: Tensor = torch.from_numpy(np.zeros((self._places, math.prod(shape[1:])), np.uint8))
        self._numbers = np.zeros((capacity, self._stack + 1), np.int64)
        self._current = np.zeros(self._stack, np.int64)  # frame numbers of the running episode's newest state
        self._written = 0  # frames
        self._newest = 0  # transitions ever added
        self._oldest = 0  # the first of them still whole

    def __len__(self) -> int:
        """How many transitions are whole."""
        return self._newest - self._oldest

    def start(self, frame: NDArray[np.uint8]) -> None:
        """Begin an episode: its first state is this frame, `stack` times."""
        self._current[:] = self._write(frame)

    def extend(self, frame: NDArray[np.uint8]) -> int:
        """Add the transition that leads to this frame; return the row where its other parts belong."""
        number = self._write(frame)
        row = self._newest % self._capacity
        self._numbers[row, :-1] = self._current
        self._numbers[row, -1] = number
        self._current = self._numbers[row, 1:].copy()
        self._newest += 1
        self._oldest = max(self._oldest, self._newest - self._capacity)
        return row

    def rows(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of the transitions that many places after the oldest whole one."""
        return (self._oldest + offsets) % self._capacity

    def places(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Places of the frames of these transitions' states and next states, state after state."""
        places = self._numbers[rows] % self._places
        return torch.from_numpy(places[:, :-1].ravel()), torch.from_numpy(places[:, 1:].ravel())

    def _write(self, frame: NDArray[np.uint8]) -> int:
        number = self._written
        self.frames[number % self._places] = torch.from_numpy(np.ascontiguousarray(frame).reshape(-1))
        self._written += 1
        lost = number - self._places
        # First frames never go back from one transition to the next, so those lost are always the oldest.
        while self._oldest < self._newest and self._numbers[self._oldest % self._capacity, 0] <= lost:
            self._oldest += 1
        return number
