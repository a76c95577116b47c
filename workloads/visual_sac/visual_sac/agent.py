"""The soft actor-critic itself: acting, and one update in seven phases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.optim import Adam, Optimizer

import ticktree

from .actor import VisualActor
from .buffers import Batch, ReplayBuffer
from .critic import VisualCritic
from .encoder import NATURE, Convolution, Encoder
from .observation import Action, Observation


class Settings(NamedTuple):
    """What may be chosen about a `SacAgent`."""

    convolutions: Sequence[Convolution] = NATURE
    hidden: int = 512
    learning_rate: float = 3e-4
    discount: float = 0.99
    initial_alpha: float = 1.0  # what entropy is worth at first, in units of reward
    target_rate: float = 0.005  # how far the targets move towards the critics in one update
    freeze_critics: bool = False  # whether the actor's step skips the critics' gradients, which nobody uses
    synchronize: bool = False  # whether each phase waits for the device, so that it carries its own time


class Metrics(NamedTuple):
    """What one update reports."""

    critic_1_loss: float
    critic_2_loss: float
    actor_loss: float
    alpha: float


class SacAgent:
    """Twin critics, their slow targets, a stochastic actor and an entropy weight that tunes itself."""

    def __init__(
        self, shape: tuple[int, ...], actions: int, device: torch.device, settings: Settings | None = None
    ) -> None:
        self.settings = settings or Settings()
        self.device = device
        frames, side, _ = shape
        hidden = self.settings.hidden

        def encoder() -> Encoder:
            return Encoder(frames, side, self.settings.convolutions)

        def critic() -> VisualCritic:
            return VisualCritic(encoder(), actions, hidden).to(device)

        self.actor = VisualActor(encoder(), actions, hidden).to(device)
        self.critics = (critic(), critic())
        self.targets = (critic(), critic())
        for online, target in zip(self.critics, self.targets, strict=True):
            target.load_state_dict(online.state_dict())
            target.requires_grad_(False)
        self.log_alpha = torch.full((1,), math.log(self.settings.initial_alpha), device=device)
        self.log_alpha.requires_grad_()
        self._target_entropy = -float(actions)

        rate = self.settings.learning_rate
        self._actor_optimizer = Adam(self.actor.parameters(), lr=rate)
        self._critic_optimizers = tuple(Adam(critic.parameters(), lr=rate) for critic in self.critics)
        self._alpha_optimizer = Adam([self.log_alpha], lr=rate)

    def act(self, observation: Observation, deterministic: bool = False) -> Action:
        """Choose an action for one observation; the likeliest one if `deterministic`."""
        with ticktree.section("act"), torch.no_grad():
            with ticktree.section("to tensor"):
                state = torch.from_numpy(observation).to(self.device).unsqueeze(0)
            if state.dtype == torch.uint8:
                with ticktree.section("normalise"):
                    state = state.float().div_(255.0)
            with ticktree.section("forward"):
                action = self.actor(state)[0].tanh() if deterministic else self.actor.sample(state)[0]
            with ticktree.section("to numpy"):
                chosen: Action = action.squeeze(0).cpu().numpy()
        return chosen

    def update(self, buffer: ReplayBuffer, batch_size: int) -> Metrics:
        """Learn once from a batch drawn from the buffer."""
        with ticktree.section("update"):
            batch = buffer.sample(batch_size)
            values = self._target_values(batch)
            critic_losses = [self._update_critic(which, batch, values) for which in (0, 1)]
            actor_loss, log_probabilities = self._update_actor(batch)
            self._update_alpha(log_probabilities)
            self._soft_update()
            with ticktree.section("metrics"):  # the first place that needs the numbers themselves
                losses = [loss.item() for loss in (*critic_losses, actor_loss, self.log_alpha.exp())]
        return Metrics(*losses)

    def _target_values(self, batch: Batch) -> Tensor:
        with ticktree.section("target"), torch.no_grad():
            with ticktree.section("actor"):
                actions, log_probabilities = self.actor.sample(batch.next_states)
            with ticktree.section("critic 1"):
                value_1 = self.targets[0](batch.next_states, actions)
            with ticktree.section("critic 2"):
                value_2 = self.targets[1](batch.next_states, actions)
            with ticktree.section("value"):
                soft = torch.min(value_1, value_2) - self.log_alpha.exp() * log_probabilities
                values: Tensor = batch.rewards + (1.0 - batch.dones) * self.settings.discount * soft
            self._settle()
        return values

    def _update_critic(self, which: int, batch: Batch, values: Tensor) -> Tensor:
        with ticktree.section(f"critic {which + 1}"):
            with ticktree.section("forward"):
                predicted = self.critics[which](batch.states, batch.actions)
            with ticktree.section("loss"):
                loss = functional.mse_loss(predicted, values)
            self._descend(loss, self._critic_optimizers[which])
            self._settle()
        return loss.detach()

    def _update_actor(self, batch: Batch) -> tuple[Tensor, Tensor]:
        with ticktree.section("actor"):
            if self.settings.freeze_critics:
                self._set_critics_trainable(False)
            with ticktree.section("forward"):
                actions, log_probabilities = self.actor.sample(batch.states)
            with ticktree.section("critic 1"):
                value_1 = self.critics[0](batch.states, actions)
            with ticktree.section("critic 2"):
                value_2 = self.critics[1](batch.states, actions)
            with ticktree.section("loss"):
                alpha = self.log_alpha.detach().exp()
                loss = (alpha * log_probabilities - torch.min(value_1, value_2)).mean()
            self._descend(loss, self._actor_optimizer)
            if self.settings.freeze_critics:
                self._set_critics_trainable(True)
            self._settle()
        return loss.detach(), log_probabilities.detach()

    def _update_alpha(self, log_probabilities: Tensor) -> None:
        with ticktree.section("alpha"):
            with ticktree.section("loss"):
                loss = -(self.log_alpha * (log_probabilities + self._target_entropy)).mean()
            self._descend(loss, self._alpha_optimizer)
            self._settle()

    def _soft_update(self) -> None:
        with ticktree.section("soft update"), torch.no_grad():
            for online, target in zip(self.critics, self.targets, strict=True):
                for new, slow in zip(online.parameters(), target.parameters(), strict=True):
                    slow.lerp_(new, self.settings.target_rate)
            self._settle()

    def _descend(self, loss: Tensor, optimizer: Optimizer) -> None:
        with ticktree.section("zero grad"):
            # The critics' gradients left over from the actor's step go here, too.
            optimizer.zero_grad()
        with ticktree.section("backward"):
            loss.backward()  # type: ignore[no-untyped-call]
        with ticktree.section("step"):
            optimizer.step()

    def _set_critics_trainable(self, trainable: bool) -> None:
        for critic in self.critics:
            critic.requires_grad_(trainable)

    def _settle(self) -> None:
        # On a GPU a phase would otherwise only queue its work, and the first phase to wait would be blamed.
        if self.settings.synchronize and self.device.type == "cuda":
            with ticktree.section("synchronise", wait=True):
                torch.cuda.synchronize(self.device)


def seed_everything(seed: int) -> None:
    """Seed torch's and numpy's global generators; buffers and environments take seeds of their own."""
    torch.manual_seed(seed)
    np.random.seed(seed)
