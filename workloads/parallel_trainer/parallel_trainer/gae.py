"""Generalised advantage estimation: how much better an action was than expected, as far as can be told."""

from __future__ import annotations

import numpy as np

from .messages import Array


def get_gae(rewards: Array, values: Array, value_next: float, discount: float, trace: float) -> Array:
    """Advantages of the steps of one trajectory.

    Args:
        rewards: What each step got.
        values: What was expected before each step.
        value_next: What is expected after the last one; 0 where nothing can follow.
        discount: What a reward is worth a step later.
        trace: How far surprises are handed back: 0 to the step that had them, 1 to all before it.
    """
    following = np.append(values[1:], np.float32(value_next))
    surprises = rewards + discount * following - values
    advantages = np.empty_like(surprises)
    handed_back = 0.0
    for step in range(len(surprises) - 1, -1, -1):
        handed_back = surprises[step] + discount * trace * handed_back
        advantages[step] = handed_back
    return advantages.astype(np.float32)
