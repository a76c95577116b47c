"""What a pilot learns from: drives of the expert's, seen as the pilot will see them."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .action import Action
from .car import Car
from .derived import Derivation
from .expert import expert
from .perception import Perception
from .preparation import measured

_NUDGE_EVERY = 6


class Lesson(NamedTuple):
    """A drive, step by step; all float32.

    Attributes:
        windows: What was observed, (steps, WINDOW).
        pictures: What was seen, (steps, PICTURES, SIDE, SIDE).
        actions: What the expert would do, (steps, 2).
        done: What was done in fact, (steps, 2).
        measured: What the auxiliary models predict, (steps, 2).
    """

    windows: Tensor
    pictures: Tensor
    actions: Tensor
    done: Tensor
    measured: Tensor


def lesson(car: Car, steps: int, frames: int, seed: int) -> Lesson:
    """Let the expert drive, nudged now and then so that there is something to correct."""
    from .game import Game  # pygame and Box2D: only who has no policies yet needs them in this process

    random = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Box2D's bindings
        game = Game(car, frames, "last")
    game.begin(seed)
    derivation, perception, derived = Derivation(game.course(), frames), Perception(), None
    rows: list[tuple[object, ...]] = []
    nudge = np.zeros(2)
    for step in range(steps):
        derived = derivation.of(game.observation(), derived)
        assert game.picture is not None
        perception.add(derived, game.picture)
        wanted = expert(derived, car)
        if step % _NUDGE_EVERY == 0:
            nudge = random.normal(0.0, (0.25, 0.15)) if step % (2 * _NUDGE_EVERY) else np.zeros(2)
        done = Action(*np.clip(np.asarray(wanted) + nudge, -1.0, 1.0).tolist())
        rows.append((perception.window, perception.pictures, wanted, done, measured(perception.window)))
        game.advance(done)
        if game.over:
            break
    game.close()  # type: ignore[no-untyped-call]
    return Lesson(*(torch.from_numpy(np.asarray(column, np.float32)) for column in zip(*rows, strict=True)))
