"""What the trainer and its environment processes say to each other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


class Spec(NamedTuple):
    """What a task's observations and actions look like; a worker's first word."""

    observations: int
    low: Array  # the least each part of an action may be
    high: Array


class Reset(NamedTuple):
    """Asks for a new episode."""

    seed: int


class Step(NamedTuple):
    """Asks for one step."""

    action: Array


class Outcome(NamedTuple):
    """What a step or a reset led to."""

    worker: int
    observation: Array  # what the next action answers: of a new episode, where this step ended one
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    final: Array | None = None  # the last observation of the episode that this step ended

    @property
    def ended(self) -> bool:
        """Whether the episode ended with this step."""
        return self.terminated or self.truncated


class Failure(NamedTuple):
    """A worker's last word: what its environment raised."""

    reason: str


Request = Reset | Step | None  # None: there is no more to do
Reply = Spec | Outcome | Failure
Connection = Any  # multiprocessing's, whose class differs between platforms
