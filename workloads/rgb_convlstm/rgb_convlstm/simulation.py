"""A simulated training: what a real one does, without the algorithm that learns from it."""

from __future__ import annotations

import numpy as np
import torch
from sb3_contrib.common.recurrent.type_aliases import RNNStates
from torch.nn import functional

from ticktree.compat.profiling import profile, profile_function

from .environment import RicochetEnv, Rules
from .network import Shape
from .policy import ConvLstmPolicy

RULES = Rules(size=8, picture_pixels=32)
SHAPE = Shape(channels=8, layers=1, features=16)
COLLECTED = 4


class Simulation:
    """A few steps in the real environment with the real policy, and a step of its optimizer towards nothing good."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self._environment = RicochetEnv(RULES)
        space = self._environment.observation_space, self._environment.action_space
        self._policy = ConvLstmPolicy(*space, lambda _: 1e-3, SHAPE)  # type: ignore[arg-type]
        self._observation, _ = self._environment.reset(seed=0)
        zeros = torch.zeros(SHAPE.layers, 1, self._policy.lstm_actor.hidden_size)
        self._states = RNNStates((zeros, zeros), (zeros, zeros))

    @profile_function("simulated_training_step", track_memory=True)
    def step(self) -> None:
        """Collect, then learn from it."""
        pictures = self._collect()
        self._update(pictures)

    @profile_function("simulated_data_collection")
    def _collect(self) -> torch.Tensor:
        pictures = []
        for _ in range(COLLECTED):
            picture = torch.from_numpy(self._observation).unsqueeze(0)
            pictures.append(picture)
            with torch.no_grad():
                actions, _, _, self._states = self._policy(picture, self._states, torch.zeros(1))
            self._observation, _, solved, too_many, _ = self._environment.step(int(actions))
            if solved or too_many:
                self._observation, _ = self._environment.reset()
        return torch.cat(pictures)

    @profile_function("simulated_model_update")
    def _update(self, pictures: torch.Tensor) -> None:
        actions = torch.from_numpy(np.zeros(len(pictures), np.int64))
        starts = torch.zeros(len(pictures))
        values, _, _ = self._policy.evaluate_actions(pictures, actions, self._states, starts)
        loss = functional.mse_loss(values, torch.zeros_like(values))
        self._policy.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self._policy.optimizer.step()


def simulate(steps: int) -> None:
    """Train for so many simulated steps."""
    simulation = Simulation()
    with profile("training_total", track_memory=True):
        for _ in range(steps):
            simulation.step()
