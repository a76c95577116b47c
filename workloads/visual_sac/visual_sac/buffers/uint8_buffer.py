"""The textbook remedy: keep bytes, turn a batch into floats when it is drawn."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import ticktree

from ..observation import Observation
from .base import Batch, Room, Transition


class Uint8Buffer:
    """Preallocated arrays of whole uint8 states, a quarter of float32; each batch in fresh memory."""

    normalized = False

    def __init__(self, room: Room, device: torch.device, seed: int) -> None:
        self._capacity = room.capacity
        self._device = device
        self._random = np.random.default_rng(seed)
        self._states = np.zeros((room.capacity, *room.shape), np.uint8)
        self._next_states = np.zeros((room.capacity, *room.shape), np.uint8)
        self._actions = np.zeros((room.capacity, room.actions), np.float32)
        self._rewards = np.zeros((room.capacity, 1), np.float32)
        self._dones = np.zeros((room.capacity, 1), np.float32)
        self._added = 0

    @staticmethod
    def bytes_needed(room: Room) -> int:
        """About how much memory a full buffer takes, in bytes: both states of each transition, stacked."""
        return room.capacity * 2 * math.prod(room.shape)

    def __len__(self) -> int:
        """How many transitions can be drawn from."""
        return min(self._added, self._capacity)

    def start(self, observation: Observation) -> None:
        """Note the first observation of an episode: nothing to do, each transition is complete in itself."""

    def add(self, transition: Transition) -> None:
        """Remember one transition in place of the oldest."""
        row = self._added % self._capacity
        self._states[row] = transition.state
        self._next_states[row] = transition.next_state
        self._actions[row] = transition.action
        self._rewards[row] = transition.reward
        self._dones[row] = transition.done
        self._added += 1

    def sample(self, size: int) -> Batch:
        """Draw `size` transitions, with replacement."""
        with ticktree.section("sample") as section:
            with ticktree.section("select"):
                rows = self._random.integers(len(self), size=size)
            batch = Batch(
                self._images("states", self._states, rows),
                self._values("actions", self._actions, rows),
                self._values("rewards", self._rewards, rows),
                self._images("next states", self._next_states, rows),
                self._values("dones", self._dones, rows),
            )
            section.work(bytes=batch.nbytes, items=size)
        return batch

    def _images(self, name: str, memory: NDArray[np.uint8], rows: NDArray[np.int64]) -> Tensor:
        with ticktree.section(name):
            images = self._gather(memory, rows)
            with ticktree.section("float") as section:
                scaled = images.float()
                section.work(bytes=scaled.nbytes)
            with ticktree.section("divide") as section:
                scaled.div_(255.0)
                section.work(bytes=scaled.nbytes)
        return scaled

    def _values(self, name: str, memory: NDArray[np.float32], rows: NDArray[np.int64]) -> Tensor:
        with ticktree.section(name):
            return self._gather(memory, rows)

    def _gather(self, memory: NDArray[np.uint8] | NDArray[np.float32], rows: NDArray[np.int64]) -> Tensor:
        with ticktree.section("gather") as section:
            gathered = torch.from_numpy(memory[rows])
            section.work(bytes=gathered.nbytes)
        with ticktree.section("to device"):
            return gathered.to(self._device)
