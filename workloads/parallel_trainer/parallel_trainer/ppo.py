"""PPO (Schulman et al., arXiv:1707.06347): networks, advantages, minibatches, the update, the acting policy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_
from torch.optim import Adam

import ticktree

from .worker import Array, EnvSpec


class PPOConfig(NamedTuple):
    """Hyperparameters, under ML-Agents' names where CleanRL's differ."""

    buffer_size: int = 512  # steps that an update waits for
    minibatch_size: int = 64
    epochs: int = 10  # per update
    horizon: int = 128  # longest trajectory
    gamma: float = 0.99
    gae_lambda: float = 0.95
    learning_rate: float = 1e-3
    epsilon: float = 0.2  # clipping range of the probability ratio
    beta: float = 1e-3  # coefficient of the entropy bonus
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5


HIDDEN_DIM = 64
MIN_STD = 1e-3  # of an observation that never changes


class Normalizer(nn.Module):
    """Normalizes observations by a mean and standard deviation that the trainer sets."""

    mean: Tensor
    scale: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("scale", torch.ones(size))

    def forward(self, observations: Tensor) -> Tensor:
        """Normalized observations, clipped to ten standard deviations."""
        return ((observations - self.mean) / self.scale).clamp(-10.0, 10.0)

    def set(self, mean: Tensor, variance: Tensor) -> None:
        """Set mean and variance."""
        self.mean.copy_(mean)
        self.scale.copy_(variance.sqrt().clamp(min=MIN_STD))


class GaussianActor(nn.Module):
    """Observations to a Gaussian over actions, whose standard deviation does not depend on the observation."""

    def __init__(self, observations: int, actions: int) -> None:
        super().__init__()
        self.normalizer = Normalizer(observations)
        # A small last layer: at first all observations lead to about the same action distribution.
        self.body = _layers(observations, actions, gain=0.01)
        self.log_std = nn.Parameter(torch.full((actions,), -0.5))

    def forward(self, observations: Tensor) -> Tensor:
        """The mean action for each observation, (batch, actions)."""
        mean: Tensor = self.body(self.normalizer(observations))
        return mean

    def log_prob(self, mean: Tensor, actions: Tensor) -> Tensor:
        """Log-probability of actions around these means, (batch,)."""
        z = (actions - mean) / self.log_std.exp()
        return (-0.5 * z.square() - self.log_std - 0.5 * math.log(2.0 * math.pi)).sum(dim=-1)

    def entropy(self) -> Tensor:
        """Entropy of the policy, in nats."""
        return (self.log_std + 0.5 * math.log(2.0 * math.pi * math.e)).sum()


class Critic(nn.Module):
    """Observations to state values."""

    def __init__(self, observations: int) -> None:
        super().__init__()
        self.normalizer = Normalizer(observations)
        self.body = _layers(observations, 1, gain=1.0)

    def forward(self, observations: Tensor) -> Tensor:
        """The value of each observation, (batch,)."""
        values: Tensor = self.body(self.normalizer(observations))
        return values.squeeze(-1)


def _layers(inputs: int, outputs: int, gain: float) -> nn.Sequential:
    sizes = (inputs, HIDDEN_DIM, HIDDEN_DIM)
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [_linear(before, after, math.sqrt(2.0)), nn.Tanh()]
    return nn.Sequential(*layers, _linear(HIDDEN_DIM, outputs, gain))


def _linear(inputs: int, outputs: int, gain: float) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


def get_gae(rewards: Array, values: Array, next_value: float, gamma: float, gae_lambda: float) -> Array:
    """Generalized advantage estimation (Schulman et al., arXiv:1506.02438) of one trajectory.

    `next_value` is the value after the last step; 0 where the episode has terminated.
    """
    deltas = rewards + gamma * np.append(values[1:], np.float32(next_value)) - values
    advantages = np.empty_like(deltas)
    last_gae = 0.0
    for step in range(len(deltas) - 1, -1, -1):
        last_gae = deltas[step] + gamma * gae_lambda * last_gae
        advantages[step] = last_gae
    return advantages.astype(np.float32)


class Episode(NamedTuple):
    """A whole episode's result."""

    reward: float
    length: int


class Trajectory(NamedTuple):
    """Consecutive steps of one agent, within one episode."""

    observations: Array  # (steps, observations)
    actions: Array  # (steps, actions)
    log_probs: Array  # (steps,), when the actions were drawn
    rewards: Array  # (steps,)
    next_obs: Array  # after the last step
    terminated: bool  # and not truncated: no value follows
    episode: Episode | None  # the episode that ended here, if one did

    @property
    def steps(self) -> int:
        """How many steps it has."""
        return len(self.rewards)


class Batch(NamedTuple):
    """Steps to learn from."""

    observations: Tensor
    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor


class UpdateBuffer:
    """Trajectories with their advantages and returns, until the next update."""

    def __init__(self) -> None:
        self._parts: list[tuple[Array, ...]] = []
        self.steps = 0

    def append(self, trajectory: Trajectory, advantages: Array, returns: Array) -> None:
        """Keep a trajectory."""
        steps = (trajectory.observations, trajectory.actions, trajectory.log_probs)
        self._parts.append((*steps, advantages, returns))
        self.steps += trajectory.steps

    def take(self) -> Batch:
        """Return everything, with normalized advantages, and empty the buffer."""
        columns = [np.concatenate(column) for column in zip(*self._parts, strict=True)]
        batch = Batch(*map(torch.from_numpy, columns))
        self._parts, self.steps = [], 0
        advantages = batch.advantages - batch.advantages.mean()
        return batch._replace(advantages=advantages / (batch.advantages.std(correction=0) + 1e-8))


def minibatches(batch: Batch, size: int, rng: np.random.Generator) -> Iterator[Batch]:
    """Split into minibatches in random order; the last may be smaller."""
    order = torch.from_numpy(rng.permutation(len(batch.advantages)))
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        yield Batch(*(column[rows] for column in batch))


class RunningMeanStd:
    """Mean and variance of vectors that come in batches."""

    def __init__(self, size: int) -> None:
        self.count = 0
        self.mean: NDArray[np.float64] = np.zeros(size)
        self._squares: NDArray[np.float64] = np.zeros(size)  # sum of squared distances from the mean

    def update(self, batch: Array) -> None:
        """Add a batch of vectors."""
        x = batch.astype(np.float64)
        count = self.count + len(x)
        delta = x.mean(axis=0) - self.mean
        # Chan et al. (1979): a difference of two large sums would lose what they have in common.
        self._squares += x.var(axis=0) * len(x) + delta**2 * (self.count * len(x) / count)
        self.mean = self.mean + delta * (len(x) / count)
        self.count = count

    @property
    def variance(self) -> NDArray[np.float64]:
        """The variance of all vectors; 1 before there are any."""
        return self._squares / self.count if self.count else np.ones_like(self._squares)


MIN_SCHEDULE = 1e-3  # at the end of a run


class UpdateStats(NamedTuple):
    """What one minibatch reports."""

    policy_loss: float
    value_loss: float
    entropy: float


class TorchPPOOptimizer:
    """Improves an actor and a critic; learning rate, clipping and entropy bonus fall linearly over the run."""

    def __init__(self, actor: GaussianActor, critic: Critic, config: PPOConfig) -> None:
        self.config = config
        self.schedule = 1.0  # falls linearly over the run
        self._actor, self._critic = actor, critic
        self._optimizer = Adam([*actor.parameters(), *critic.parameters()], lr=config.learning_rate)

    @property
    def learning_rate(self) -> float:
        """The current value."""
        return self.config.learning_rate * self.schedule

    @property
    def epsilon(self) -> float:
        """The current value."""
        return max(0.1, self.config.epsilon * self.schedule)

    @property
    def beta(self) -> float:
        """The current value."""
        return self.config.beta * self.schedule

    def set_progress(self, progress: float) -> None:
        """Set which fraction of the run is done."""
        self.schedule = max(MIN_SCHEDULE, 1.0 - progress)

    @ticktree.timed
    def update(self, batch: Batch) -> UpdateStats:
        """Learn from one minibatch."""
        with ticktree.section("forward"):
            log_probs = self._actor.log_prob(self._actor(batch.observations), batch.actions)
            values = self._critic(batch.observations)
            entropy = self._actor.entropy()
        with ticktree.section("loss"):
            policy_loss = clipped_policy_loss(batch.advantages, log_probs, batch.log_probs, self.epsilon)
            value_loss = (values - batch.returns).square().mean()
            loss: Tensor = policy_loss + self.config.vf_coef * value_loss - self.beta * entropy
        with ticktree.section("backward"):
            self._optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
        with ticktree.section("step"):
            # Each by itself: the critic's errors, squared returns, would leave nothing of the actor's gradient.
            for network in (self._actor, self._critic):
                clip_grad_norm_(network.parameters(), self.config.max_grad_norm)
            for group in self._optimizer.param_groups:
                group["lr"] = self.learning_rate
            self._optimizer.step()
        return UpdateStats(policy_loss.item(), value_loss.item(), entropy.item())


def clipped_policy_loss(
    advantages: Tensor, log_probs: Tensor, old_log_probs: Tensor, epsilon: float
) -> Tensor:
    """PPO's clipped surrogate loss, from log-probabilities under the new and the old policy."""
    ratio = (log_probs - old_log_probs).exp()
    return -torch.min(ratio * advantages, ratio.clamp(1.0 - epsilon, 1.0 + epsilon) * advantages).mean()


def prepare_torch() -> None:
    """Take an optimizer step, for which torch imports for seconds, before training begins."""
    with ticktree.section("prepare_torch"):
        parameter = torch.zeros(1, requires_grad=True)
        parameter.grad = torch.zeros(1)
        Adam([parameter]).step()


Weights = dict[str, Tensor]


class ActionInfo(NamedTuple):
    """An action, and what the learner needs of it."""

    observation: Array
    action: Array  # as drawn, not clipped
    log_prob: float
    env_action: Array  # clipped and scaled to the action space


class TorchPolicy:
    """Draws actions from its own copy of the actor: a learner in another thread changes the other copy meanwhile."""

    def __init__(self, spec: EnvSpec, seed: int) -> None:
        self.actor = GaussianActor(spec.observations, len(spec.low))
        self._action_center = (spec.high + spec.low) / np.float32(2.0)
        self._action_scale = (spec.high - spec.low) / np.float32(2.0)
        # Not the global one, from which a learner in another thread draws at unpredictable moments.
        self._rng = torch.Generator().manual_seed(seed)

    def load(self, weights: Weights) -> None:
        """Set the actor's weights."""
        self.actor.load_state_dict(weights)

    @ticktree.timed
    def evaluate(self, observations: Sequence[Array]) -> list[ActionInfo]:
        """Draw an action for each observation."""
        with torch.inference_mode():
            mean = self.actor(torch.from_numpy(np.stack(observations)))
            noise = torch.randn(mean.shape, generator=self._rng)
            actions = mean + self.actor.log_std.exp() * noise
            log_probs = self.actor.log_prob(mean, actions).tolist()
        samples = actions.numpy()
        return list(map(ActionInfo, observations, samples, log_probs, self._to_env(samples)))

    @ticktree.timed
    def mean_action(self, observation: Array) -> Array:
        """The mean action, clipped and scaled to the action space."""
        with torch.inference_mode():
            return self._to_env(self.actor(torch.from_numpy(observation[None])).numpy()[0])

    def _to_env(self, actions: Array) -> Array:
        env_actions: Array = self._action_center + self._action_scale * actions.clip(-1.0, 1.0)
        return env_actions
