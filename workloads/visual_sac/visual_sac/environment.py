"""The environment as the agent meets it."""

from __future__ import annotations

import gymnasium

from .observation import Environment, FrameStack, Grayscale, Normalize
from .pedals import Pedals
from .racing import ObservedCarRacing

EPISODE_STEPS = 1000
FRAMES = 4


def make_environment(normalize: bool) -> Environment:
    """CarRacing through grayscale, scaling to [0, 1] if `normalize`, and the last four frames stacked.

    Without `normalize` the frames stay uint8 and whoever uses them scales them: for the compact buffers.
    """
    environment: Environment = gymnasium.wrappers.TimeLimit(ObservedCarRacing(), EPISODE_STEPS)
    environment = Grayscale(Pedals(environment))
    if normalize:
        environment = Normalize(environment)
    return FrameStack(environment, FRAMES)
