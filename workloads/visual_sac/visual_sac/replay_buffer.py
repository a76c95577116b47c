"""Three ways to keep transitions: a list of float32 tuples, arrays of uint8 states, a ring of single frames."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import ticktree

from .envs import Action, Obs


class Transition(NamedTuple):
    """One step of an episode."""

    obs: Obs
    action: Action
    reward: float
    next_obs: Obs
    done: bool  # terminated, not truncated: no value follows


class Batch(NamedTuple):
    """Transitions for one update, on the training device, all float32.

    A buffer may return the same memory at its next `sample()`: use a batch before you draw another.
    """

    obs: Tensor  # (batch, frames, height, width) in [0, 1]
    actions: Tensor  # (batch, action_dim)
    rewards: Tensor  # (batch, 1)
    next_obs: Tensor  # as obs
    dones: Tensor  # (batch, 1)

    @property
    def nbytes(self) -> int:
        """Bytes of all five tensors."""
        return sum(tensor.nbytes for tensor in self)


class ReplayBuffer(Protocol):
    """The newest `capacity` transitions."""

    normalized: bool  # whether it keeps float32 observations in [0, 1], or uint8 ones

    @staticmethod
    def bytes_needed(capacity: int, obs_shape: tuple[int, ...]) -> int:
        """About how many bytes a full buffer takes."""

    def __len__(self) -> int:
        """How many transitions can be drawn."""

    def start_episode(self, obs: Obs) -> None:
        """Take the first observation of an episode."""

    def add(self, transition: Transition) -> None:
        """Take the next transition of the episode; it replaces the oldest."""

    def sample(self, batch_size: int) -> Batch:
        """Draw transitions at random; ValueError where the buffer is empty."""


class ListBuffer:
    """A list of tuples, `random.sample`, and five conversions per batch: what most projects begin with."""

    normalized = True

    def __init__(
        self,
        capacity: int,
        obs_shape: tuple[int, ...],  # noqa: ARG002 - each transition brings its own
        action_dim: int,  # noqa: ARG002
        device: torch.device,
        seed: int,
    ) -> None:
        self.capacity = capacity
        self.device = device
        self.rng = random.Random(seed)
        self.transitions: list[Transition] = []
        self.position = 0

    @staticmethod
    def bytes_needed(capacity: int, obs_shape: tuple[int, ...]) -> int:
        """About how many bytes a full buffer takes: each state is also a next state."""
        return capacity * 4 * math.prod(obs_shape)

    def __len__(self) -> int:
        """How many transitions can be drawn."""
        return len(self.transitions)

    def start_episode(self, obs: Obs) -> None:
        """Do nothing: each transition is complete."""

    def add(self, transition: Transition) -> None:
        """Add one transition in place of the oldest."""
        if len(self.transitions) < self.capacity:
            self.transitions.append(transition)
        else:
            # Not list.pop(0), which would shift every element.
            self.transitions[self.position] = transition
            self.position = (self.position + 1) % self.capacity

    def sample(self, batch_size: int) -> Batch:
        """Draw different transitions."""
        with ticktree.section("sample") as section:
            with ticktree.section("select"):
                transitions = self.rng.sample(self.transitions, batch_size)
            with ticktree.section("unzip"):
                obs, actions, rewards, next_obs, dones = zip(*transitions, strict=True)
            batch = Batch(
                self._tensor("states", obs),
                self._tensor("actions", actions),
                self._tensor("rewards", rewards, column=True),
                self._tensor("next states", next_obs),
                self._tensor("dones", dones, column=True),
            )
            section.work(bytes=batch.nbytes, items=batch_size)
        return batch

    def _tensor(self, name: str, values: Sequence[Any], column: bool = False) -> Tensor:
        with ticktree.section(name):
            with ticktree.section("np.array") as section:
                array = np.array(values)
                section.work(bytes=array.nbytes)
            with ticktree.section("FloatTensor"):
                tensor: Tensor = torch.FloatTensor(array)
            with ticktree.section("to device"):
                tensor = tensor.to(self.device)
            if column:
                with ticktree.section("unsqueeze"):
                    tensor = tensor.unsqueeze(1)
        return tensor


class ArrayBuffer:
    """What the two uint8 buffers share: actions, rewards and ends of episodes in preallocated arrays."""

    normalized = False

    def __init__(
        self, capacity: int, obs_shape: tuple[int, ...], action_dim: int, device: torch.device, seed: int
    ) -> None:
        self.capacity = capacity
        self.obs_shape = obs_shape
        self.device = device
        self.rng = np.random.default_rng(seed)
        self.actions = np.zeros((capacity, action_dim), np.float32)
        self.rewards = np.zeros((capacity, 1), np.float32)
        self.dones = np.zeros((capacity, 1), np.float32)

    def _add(self, row: int, transition: Transition) -> None:
        self.actions[row] = transition.action
        self.rewards[row] = transition.reward
        self.dones[row] = transition.done


class Uint8Buffer(ArrayBuffer):
    """Whole uint8 states, a quarter of float32, made floats when drawn, in fresh memory: the textbook remedy."""

    def __init__(
        self, capacity: int, obs_shape: tuple[int, ...], action_dim: int, device: torch.device, seed: int
    ) -> None:
        super().__init__(capacity, obs_shape, action_dim, device, seed)
        self.obs = np.zeros((capacity, *obs_shape), np.uint8)
        self.next_obs = np.zeros((capacity, *obs_shape), np.uint8)
        self.added = 0

    @staticmethod
    def bytes_needed(capacity: int, obs_shape: tuple[int, ...]) -> int:
        """About how many bytes a full buffer takes: both states of each transition, stacked."""
        return capacity * 2 * math.prod(obs_shape)

    def __len__(self) -> int:
        """How many transitions can be drawn."""
        return min(self.added, self.capacity)

    def start_episode(self, obs: Obs) -> None:
        """Do nothing: each transition is complete."""

    def add(self, transition: Transition) -> None:
        """Add one transition in place of the oldest."""
        row = self.added % self.capacity
        self.obs[row] = transition.obs
        self.next_obs[row] = transition.next_obs
        self._add(row, transition)
        self.added += 1

    def sample(self, batch_size: int) -> Batch:
        """Draw transitions, with replacement."""
        with ticktree.section("sample") as section:
            with ticktree.section("select"):
                rows = self.rng.integers(len(self), size=batch_size)
            batch = Batch(
                self._images("states", self.obs, rows),
                self._gather("actions", self.actions, rows),
                self._gather("rewards", self.rewards, rows),
                self._images("next states", self.next_obs, rows),
                self._gather("dones", self.dones, rows),
            )
            section.work(bytes=batch.nbytes, items=batch_size)
        return batch

    def _images(self, name: str, memory: NDArray[np.uint8], rows: NDArray[np.int64]) -> Tensor:
        with ticktree.section(name):
            images = self._to_device(memory, rows)
            with ticktree.section("float") as section:
                floats = images.float()
                section.work(bytes=floats.nbytes)
            with ticktree.section("divide") as section:
                floats.div_(255.0)
                section.work(bytes=floats.nbytes)
        return floats

    def _gather(self, name: str, memory: NDArray[np.float32], rows: NDArray[np.int64]) -> Tensor:
        with ticktree.section(name):
            return self._to_device(memory, rows)

    def _to_device(self, memory: NDArray[np.uint8] | NDArray[np.float32], rows: NDArray[np.int64]) -> Tensor:
        with ticktree.section("gather") as section:
            rows_tensor = torch.from_numpy(memory[rows])
            section.work(bytes=rows_tensor.nbytes)
        with ticktree.section("to device"):
            return rows_tensor.to(self.device)


class RingBuffer(ArrayBuffer):
    """Each frame once, as bytes; batches are gathered and scaled into memory that is used again.

    Frames are numbered from the beginning; frame n is in slot n modulo the number of slots. A transition refers to
    `stack + 1` frames in order: all but the last are its state, all but the first its next state. A frame that
    overwrites an old one removes the transitions that refer to it, so no batch contains a frame of another time.
    """

    def __init__(
        self, capacity: int, obs_shape: tuple[int, ...], action_dim: int, device: torch.device, seed: int
    ) -> None:
        super().__init__(capacity, obs_shape, action_dim, device, seed)
        stack = obs_shape[0]
        # One frame per transition and room for episode starts; a run of very short episodes keeps fewer
        # transitions rather than wrong ones. A state must fit in any case.
        self.slots = capacity + capacity // 16 + stack + 1
        # numpy's zeros, unlike torch's, take no memory before they are written.
        self.frames: Tensor = torch.from_numpy(np.zeros((self.slots, math.prod(obs_shape[1:])), np.uint8))
        self.frame_ids = np.zeros((capacity, stack + 1), np.int64)
        self.current = np.zeros(stack, np.int64)  # frame ids of the episode's newest state
        self.frames_written = 0
        self.added = 0  # transitions
        self.oldest = 0  # the first transition whose frames are all there
        self._reserve(0)

    @staticmethod
    def bytes_needed(capacity: int, obs_shape: tuple[int, ...]) -> int:
        """About how many bytes a full buffer takes: one frame per transition."""
        return capacity * math.prod(obs_shape[1:])

    def __len__(self) -> int:
        """How many transitions can be drawn."""
        return self.added - self.oldest

    def start_episode(self, obs: Obs) -> None:
        """Take the first observation of an episode: a stack of copies of one frame."""
        self.current[:] = self._write(obs[-1])

    def add(self, transition: Transition) -> None:
        """Add one transition: only the newest frame of the next observation is new."""
        frame_id = self._write(transition.next_obs[-1])
        row = self.added % self.capacity
        self.frame_ids[row, :-1] = self.current
        self.frame_ids[row, -1] = frame_id
        self.current = self.frame_ids[row, 1:].copy()
        self.added += 1
        self.oldest = max(self.oldest, self.added - self.capacity)
        self._add(row, transition)

    def sample(self, batch_size: int) -> Batch:
        """Draw transitions, with replacement, into the memory of the last batch of that size."""
        if batch_size != len(self.staging[0]):
            self._reserve(batch_size)
        with ticktree.section("sample") as section:
            with ticktree.section("select"):
                rows = (self.oldest + self.rng.integers(len(self), size=batch_size)) % self.capacity
                slots = self.frame_ids[rows] % self.slots
            batch = Batch(
                self._images("states", slots[:, :-1], 0),
                self._gather("actions", self.actions, rows),
                self._gather("rewards", self.rewards, rows),
                self._images("next states", slots[:, 1:], 1),
                self._gather("dones", self.dones, rows),
            )
            section.work(bytes=batch.nbytes, items=batch_size)
        return batch

    def _images(self, name: str, slots: NDArray[np.int64], buffer_index: int) -> Tensor:
        staging, floats = self.staging[buffer_index], self.scaled[buffer_index]
        index = torch.from_numpy(slots.ravel())
        with ticktree.section(name):
            with ticktree.section("gather") as section:
                torch.index_select(self.frames, 0, index, out=staging.view(len(index), -1))
                section.work(bytes=staging.nbytes)
            with ticktree.section("to device"):  # as bytes: a quarter of what floats would be
                images = staging.to(self.device)
            with ticktree.section("scale") as section:
                # Two passes, because one multiplication from uint8 into float32 memory is five times slower.
                floats.copy_(images).mul_(1.0 / 255.0)
                section.work(bytes=floats.nbytes)
        return floats

    def _gather(self, name: str, memory: NDArray[np.float32], rows: NDArray[np.int64]) -> Tensor:
        with ticktree.section(name):
            with ticktree.section("gather"):
                rows_tensor = torch.from_numpy(memory[rows])
            with ticktree.section("to device"):
                return rows_tensor.to(self.device)

    def _reserve(self, batch_size: int) -> None:
        # Pages are claimed here, once: fresh memory for every batch costs more than all the copying.
        shape = (batch_size, *self.obs_shape)
        pin = self.device.type == "cuda"
        self.staging = [torch.zeros(shape, dtype=torch.uint8, pin_memory=pin) for _ in range(2)]
        self.scaled = [torch.zeros(shape, device=self.device) for _ in range(2)]

    def _write(self, frame: NDArray[np.uint8]) -> int:
        frame_id = self.frames_written
        self.frames[frame_id % self.slots] = torch.from_numpy(np.ascontiguousarray(frame).reshape(-1))
        self.frames_written += 1
        # First frames never go back from one transition to the next, so the oldest transition is lost first.
        lost = frame_id - self.slots
        while self.oldest < self.added and self.frame_ids[self.oldest % self.capacity, 0] <= lost:
            self.oldest += 1
        return frame_id


BUFFERS: dict[str, type[ListBuffer | Uint8Buffer | RingBuffer]] = {
    "list": ListBuffer,
    "uint8": Uint8Buffer,
    "ring": RingBuffer,
}
