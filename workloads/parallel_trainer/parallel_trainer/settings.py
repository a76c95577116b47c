"""What PPO is told, beside its task."""

from __future__ import annotations

from typing import NamedTuple


class Settings(NamedTuple):
    """How PPO learns."""

    buffer_size: int = 512  # steps that an update waits for
    minibatch: int = 64
    epochs: int = 10  # times an update goes through its buffer
    horizon: int = 128  # longest trajectory
    discount: float = 0.99
    trace: float = 0.95  # of advantages, see `get_gae`
    learning_rate: float = 1e-3
    epsilon: float = 0.2  # how far one update may move a probability, as a share of it
    beta: float = 1e-3  # what a nat of entropy is worth
    value_weight: float = 0.5  # of the critic's loss beside the actor's
    largest_gradient: float = 0.5
