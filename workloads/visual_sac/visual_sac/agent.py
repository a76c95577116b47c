"""Soft actor-critic (Haarnoja et al., arXiv:1812.05905): acting, and one update in seven phases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812
from torch.optim import Adam, Optimizer

import ticktree

from .envs import Action, Obs
from .networks import NATURE_CNN, Actor, ConvLayer, Critic, Encoder
from .replay_buffer import Batch, ReplayBuffer


@dataclass(frozen=True)
class SacConfig:
    """Hyperparameters of a `SacAgent`."""

    conv_layers: Sequence[ConvLayer] = NATURE_CNN
    hidden_dim: int = 512
    lr: float = 3e-4
    gamma: float = 0.99
    init_alpha: float = 1.0
    tau: float = 0.005  # of the target networks' moving average
    freeze_critics: bool = False  # skip the critics' gradients in the actor's step, where they are not used
    sync: bool = False  # wait for the GPU after each phase, so that each phase has its own time


class Metrics(NamedTuple):
    """What one update reports."""

    critic_1_loss: float
    critic_2_loss: float
    actor_loss: float
    alpha: float


def seed_everything(seed: int) -> None:
    """Seed torch's and numpy's global generators; buffers and environments have their own seeds."""
    torch.manual_seed(seed)
    np.random.seed(seed)


class SacAgent:
    """Twin critics, their target networks, a stochastic actor and an automatically tuned entropy weight."""

    def __init__(
        self,
        obs_shape: tuple[int, ...],
        action_dim: int,
        device: torch.device,
        config: SacConfig | None = None,
    ) -> None:
        self.config = cfg = config or SacConfig()
        self.device = device

        def encoder() -> Encoder:
            return Encoder(obs_shape[0], obs_shape[1], cfg.conv_layers)

        self.actor = Actor(encoder(), action_dim, cfg.hidden_dim).to(device)
        networks = [Critic(encoder(), action_dim, cfg.hidden_dim).to(device) for _ in range(4)]
        self.critics, self.target_critics = networks[:2], networks[2:]
        for critic, target in zip(self.critics, self.target_critics, strict=True):
            target.load_state_dict(critic.state_dict())
            target.requires_grad_(False)
        self.log_alpha = torch.full((1,), math.log(cfg.init_alpha), device=device, requires_grad=True)
        self.target_entropy = -float(action_dim)

        self.actor_optimizer = Adam(self.actor.parameters(), lr=cfg.lr)
        self.critic_optimizers = [Adam(critic.parameters(), lr=cfg.lr) for critic in self.critics]
        self.alpha_optimizer = Adam([self.log_alpha], lr=cfg.lr)

    def act(self, obs: Obs, deterministic: bool = False) -> Action:
        """Choose an action for one observation; the mean if `deterministic`."""
        with ticktree.section("act"), torch.no_grad():
            with ticktree.section("to tensor"):
                x = torch.from_numpy(obs).to(self.device).unsqueeze(0)
            if x.dtype == torch.uint8:
                with ticktree.section("normalise"):
                    x = x.float().div_(255.0)
            with ticktree.section("forward"):
                action = self.actor(x)[0].tanh() if deterministic else self.actor.sample(x)[0]
            with ticktree.section("to numpy"):
                result: Action = action.squeeze(0).cpu().numpy()
        return result

    def update(self, replay_buffer: ReplayBuffer, batch_size: int) -> Metrics:
        """Learn once from a batch drawn from the buffer."""
        with ticktree.section("update"):
            batch = replay_buffer.sample(batch_size)
            target_q = self.compute_target_q(batch)
            critic_losses = [self.update_critic(i, batch, target_q) for i in range(2)]
            actor_loss, log_prob = self.update_actor(batch)
            self.update_alpha(log_prob)
            self.update_targets()
            with ticktree.section("metrics"):  # the first place that needs the numbers themselves
                losses = [loss.item() for loss in (*critic_losses, actor_loss, self.log_alpha.exp())]
        return Metrics(*losses)

    def compute_target_q(self, batch: Batch) -> Tensor:
        """Bellman targets, (batch, 1): rewards where an episode has terminated."""
        with ticktree.section("target"), torch.no_grad():
            with ticktree.section("actor"):
                next_actions, next_log_prob = self.actor.sample(batch.next_obs)
            with ticktree.section("critic 1"):
                q1 = self.target_critics[0](batch.next_obs, next_actions)
            with ticktree.section("critic 2"):
                q2 = self.target_critics[1](batch.next_obs, next_actions)
            with ticktree.section("value"):
                next_v = torch.min(q1, q2) - self.log_alpha.exp() * next_log_prob
                target_q: Tensor = batch.rewards + (1.0 - batch.dones) * self.config.gamma * next_v
            self._sync()
        return target_q

    def update_critic(self, i: int, batch: Batch, target_q: Tensor) -> Tensor:
        """Take one step of critic `i` towards the targets; return its loss."""
        with ticktree.section(f"critic {i + 1}"):
            with ticktree.section("forward"):
                q = self.critics[i](batch.obs, batch.actions)
            with ticktree.section("loss"):
                loss = F.mse_loss(q, target_q)
            self._step(loss, self.critic_optimizers[i])
        return loss.detach()

    def update_actor(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Take one step of the actor; return its loss and the log-probabilities of its actions."""
        with ticktree.section("actor"):
            if self.config.freeze_critics:
                self._set_critics_trainable(False)
            with ticktree.section("forward"):
                actions, log_prob = self.actor.sample(batch.obs)
            with ticktree.section("critic 1"):
                q1 = self.critics[0](batch.obs, actions)
            with ticktree.section("critic 2"):
                q2 = self.critics[1](batch.obs, actions)
            with ticktree.section("loss"):
                loss = (self.log_alpha.detach().exp() * log_prob - torch.min(q1, q2)).mean()
            self._step(loss, self.actor_optimizer)
            if self.config.freeze_critics:
                self._set_critics_trainable(True)
        return loss.detach(), log_prob.detach()

    def update_alpha(self, log_prob: Tensor) -> None:
        """Move the entropy weight so that the actor's entropy approaches the target."""
        with ticktree.section("alpha"):
            with ticktree.section("loss"):
                loss = -(self.log_alpha * (log_prob + self.target_entropy)).mean()
            self._step(loss, self.alpha_optimizer)

    def update_targets(self) -> None:
        """Move the target networks by `tau` towards the critics."""
        with ticktree.section("soft update"), torch.no_grad():
            for critic, target in zip(self.critics, self.target_critics, strict=True):
                for param, target_param in zip(critic.parameters(), target.parameters(), strict=True):
                    target_param.lerp_(param, self.config.tau)
            self._sync()

    def _step(self, loss: Tensor, optimizer: Optimizer) -> None:
        with ticktree.section("zero grad"):
            # Also discards the critics' gradients left over from the actor's step.
            optimizer.zero_grad()
        with ticktree.section("backward"):
            loss.backward()  # type: ignore[no-untyped-call]
        with ticktree.section("step"):
            optimizer.step()
        self._sync()

    def _set_critics_trainable(self, trainable: bool) -> None:
        for critic in self.critics:
            critic.requires_grad_(trainable)

    def _sync(self) -> None:
        # On a GPU a phase would otherwise only queue its work, and the first phase to wait would be blamed.
        if self.config.sync and self.device.type == "cuda":
            with ticktree.section("synchronise", wait=True):
                torch.cuda.synchronize(self.device)
