"""The buffer that most projects begin with: a Python list of float32 transitions."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

import ticktree

from ..observation import Observation
from .base import Batch, Room, Transition


class ListBuffer:
    """A list of tuples, `random.sample`, and five conversions for each batch."""

    normalized = True

    def __init__(self, room: Room, device: torch.device, seed: int) -> None:
        self._capacity = room.capacity
        self._device = device
        self._random = random.Random(seed)
        self._transitions: list[Transition] = []
        self._oldest = 0

    @staticmethod
    def bytes_needed(room: Room) -> int:
        """About how much memory a full buffer takes, in bytes: each state is also a next state."""
        return room.capacity * 4 * math.prod(room.shape)

    def __len__(self) -> int:
        """How many transitions can be drawn from."""
        return len(self._transitions)

    def start(self, observation: Observation) -> None:
        """Note the first observation of an episode: nothing to do, each transition is complete in itself."""

    def add(self, transition: Transition) -> None:
        """Remember one transition in place of the oldest."""
        if len(self._transitions) < self._capacity:
            self._transitions.append(transition)
        else:
            # Not list.pop(0), which would shift every element.
            self._transitions[self._oldest] = transition
            self._oldest = (self._oldest + 1) % self._capacity

    def sample(self, size: int) -> Batch:
        """Draw `size` different transitions."""
        with ticktree.section("sample") as section:
            with ticktree.section("select"):
                transitions = self._random.sample(self._transitions, size)
            with ticktree.section("unzip"):
                states, actions, rewards, next_states, dones = zip(*transitions, strict=True)
            batch = Batch(
                self._convert("states", states),
                self._convert("actions", actions),
                self._convert_column("rewards", rewards),
                self._convert("next states", next_states),
                self._convert_column("dones", dones),
            )
            section.work(bytes=batch.nbytes, items=size)
        return batch

    def _convert(self, name: str, values: Sequence[Any]) -> Tensor:
        with ticktree.section(name):
            return self._to_tensor(values)

    def _convert_column(self, name: str, values: Sequence[Any]) -> Tensor:
        with ticktree.section(name):
            tensor = self._to_tensor(values)
            with ticktree.section("unsqueeze"):
                return tensor.unsqueeze(1)

    def _to_tensor(self, values: Sequence[Any]) -> Tensor:
        with ticktree.section("np.array") as section:
            array = np.array(values)
            section.work(bytes=array.nbytes)
        with ticktree.section("FloatTensor"):
            tensor = torch.FloatTensor(array)
        with ticktree.section("to device"):
            return tensor.to(self._device)
