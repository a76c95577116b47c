"""The buffer that touches as little memory as it can."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import ticktree

from ..observation import Observation
from .base import Batch, Room, Transition
from .frame_ring import FrameRing


class RingBuffer:
    """Each frame once, as bytes; batches are gathered and scaled into memory that is used again and again."""

    normalized = False

    def __init__(self, room: Room, device: torch.device, seed: int) -> None:
        self._shape = room.shape
        self._device = device
        self._random = np.random.default_rng(seed)
        self._ring = FrameRing(room.capacity, room.shape)
        self._actions = np.zeros((room.capacity, room.actions), np.float32)
        self._rewards = np.zeros((room.capacity, 1), np.float32)
        self._dones = np.zeros((room.capacity, 1), np.float32)
        self._reserve(0)

    @staticmethod
    def bytes_needed(room: Room) -> int:
        """About how much memory a full buffer takes, in bytes: one frame a transition."""
        return room.capacity * math.prod(room.shape[1:])

    def __len__(self) -> int:
        """How many transitions can be drawn from."""
        return len(self._ring)

    def start(self, observation: Observation) -> None:
        """Note the first observation of an episode: a stack of copies of one frame."""
        self._ring.start(observation[-1])

    def add(self, transition: Transition) -> None:
        """Remember one transition: only the newest frame of the next observation is new."""
        row = self._ring.extend(transition.next_state[-1])
        self._actions[row] = transition.action
        self._rewards[row] = transition.reward
        self._dones[row] = transition.done

    def sample(self, size: int) -> Batch:
        """Draw `size` transitions, with replacement, into the memory of the last batch of that size."""
        if size != len(self._staged[0]):
            self._reserve(size)
        with ticktree.section("sample") as section:
            with ticktree.section("select"):
                rows = self._ring.rows(self._random.integers(len(self), size=size))
                before, after = self._ring.places(rows)
            batch = Batch(
                self._images("states", before, 0),
                self._values("actions", self._actions, rows),
                self._values("rewards", self._rewards, rows),
                self._images("next states", after, 1),
                self._values("dones", self._dones, rows),
            )
            section.work(bytes=batch.nbytes, items=size)
        return batch

    def _images(self, name: str, places: Tensor, which: int) -> Tensor:
        staged, scaled = self._staged[which], self._scaled[which]
        with ticktree.section(name):
            with ticktree.section("gather") as section:
                torch.index_select(self._ring.frames, 0, places, out=staged.view(len(places), -1))
                section.work(bytes=staged.nbytes)
            with ticktree.section("to device"):  # as bytes: a quarter of what floats would be
                moved = staged.to(self._device)
            with ticktree.section("scale") as section:
                # Two passes, because one multiplication from uint8 into float32 memory is five times slower.
                scaled.copy_(moved).mul_(1.0 / 255.0)
                section.work(bytes=scaled.nbytes)
        return scaled

    def _values(self, name: str, memory: NDArray[np.float32], rows: NDArray[np.int64]) -> Tensor:
        with ticktree.section(name):
            with ticktree.section("gather"):
                gathered = torch.from_numpy(memory[rows])
            with ticktree.section("to device"):
                return gathered.to(self._device)

    def _reserve(self, size: int) -> None:
        # Pages are claimed here, once: fresh memory for every batch costs more than all the copying.
        pin = self._device.type == "cuda"
        shape = (size, *self._shape)
        self._staged = [torch.zeros(shape, dtype=torch.uint8, pin_memory=pin) for _ in range(2)]
        self._scaled = [torch.zeros(shape, device=self._device) for _ in range(2)]
