"""PPO's step of learning: one minibatch, two losses, one descent."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_
from torch.optim import Adam

import ticktree

from .buffer import Batch
from .networks import Critic, GaussianActor
from .settings import Settings

LEAST_LEFT = 1e-3  # of the learning rate and the like, at the end of a run


class UpdateStats(NamedTuple):
    """What one minibatch reports."""

    policy_loss: float
    value_loss: float
    entropy: float


class TorchPPOOptimizer:
    """Improves an actor and a critic; learning rate, clipping and entropy bonus fall linearly over the run."""

    def __init__(self, actor: GaussianActor, critic: Critic, settings: Settings) -> None:
        self.settings = settings
        self.left = 1.0  # share of the run that is still to come
        self._actor, self._critic = actor, critic
        self._descent = Adam([*actor.parameters(), *critic.parameters()], lr=settings.learning_rate)

    @property
    def learning_rate(self) -> float:
        """As it is now."""
        return self.settings.learning_rate * self.left

    @property
    def epsilon(self) -> float:
        """As it is now."""
        return max(0.1, self.settings.epsilon * self.left)

    @property
    def beta(self) -> float:
        """As it is now."""
        return self.settings.beta * self.left

    def tell_progress(self, done: float) -> None:
        """Say which share of the run is over."""
        self.left = max(LEAST_LEFT, 1.0 - done)

    @ticktree.timed
    def update(self, batch: Batch) -> UpdateStats:
        """Learn once from these steps."""
        with ticktree.section("forward"):
            log_probabilities = self._actor.log_probability(self._actor(batch.observations), batch.actions)
            values = self._critic(batch.observations)
            entropy = self._actor.entropy()
        with ticktree.section("loss"):
            policy_loss = clipped_policy_loss(
                batch.advantages, log_probabilities, batch.log_probabilities, self.epsilon
            )
            value_loss = (values - batch.returns).square().mean()
            loss: Tensor = policy_loss + self.settings.value_weight * value_loss - self.beta * entropy
        with ticktree.section("backward"):
            self._descent.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
        with ticktree.section("step"):
            # Each by itself: the critic's errors, squared returns, would leave nothing of the actor's gradient.
            for network in (self._actor, self._critic):
                clip_grad_norm_(network.parameters(), self.settings.largest_gradient)
            for group in self._descent.param_groups:
                group["lr"] = self.learning_rate
            self._descent.step()
        return UpdateStats(policy_loss.item(), value_loss.item(), entropy.item())


def clipped_policy_loss(advantages: Tensor, now: Tensor, before: Tensor, epsilon: float) -> Tensor:
    """PPO's loss of the actor.

    Args:
        advantages: Of the actions.
        now: Their log-probabilities under the policy that learns.
        before: The same under the policy that drew them.
        epsilon: A probability that has moved further than this in the direction that pays gains no more.
    """
    ratio = (now - before).exp()
    bounded = ratio.clamp(1.0 - epsilon, 1.0 + epsilon)
    return -torch.min(ratio * advantages, bounded * advantages).mean()


def prepare_torch() -> None:
    """Make torch import now what its first step of descent would import in the middle of training: seconds of it."""
    with ticktree.section("prepare_torch"):
        parameter = torch.zeros(1, requires_grad=True)
        parameter.grad = torch.zeros(1)
        Adam([parameter]).step()
