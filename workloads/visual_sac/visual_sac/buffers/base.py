"""What every replay buffer takes and gives."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from torch import Tensor

from ..observation import Action, Observation


class Room(NamedTuple):
    """How much a buffer is to hold."""

    capacity: int  # transitions
    shape: tuple[int, ...]  # of an observation: (frames, height, width)
    actions: int  # numbers in an action


class Transition(NamedTuple):
    """One step of an episode."""

    state: Observation
    action: Action
    reward: float
    next_state: Observation
    done: bool  # whether no value follows


class Batch(NamedTuple):
    """Transitions for one update, on the training device, all float32.

    A buffer may hand out the same memory again at its next `sample()`: use a batch before drawing another.
    """

    states: Tensor  # (batch, frames, height, width) in [0, 1]
    actions: Tensor  # (batch, actions)
    rewards: Tensor  # (batch, 1)
    next_states: Tensor  # as states
    dones: Tensor  # (batch, 1): 1 where no value follows

    @property
    def nbytes(self) -> int:
        """Bytes of all five tensors."""
        return sum(tensor.nbytes for tensor in self)


class ReplayBuffer(Protocol):
    """The newest `capacity` transitions."""

    normalized: bool  # whether it keeps float32 observations in [0, 1], or uint8 ones

    @staticmethod
    def bytes_needed(room: Room) -> int:
        """About how much memory a full buffer takes, in bytes."""

    def __len__(self) -> int:
        """How many transitions can be drawn from."""

    def start(self, observation: Observation) -> None:
        """Note the first observation of an episode."""

    def add(self, transition: Transition) -> None:
        """Remember the next transition of the episode that was started last."""

    def sample(self, size: int) -> Batch:
        """Draw `size` transitions at random; ValueError where there is nothing to draw."""
