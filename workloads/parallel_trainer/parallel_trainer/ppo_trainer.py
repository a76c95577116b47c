"""PPO: what a trajectory is worth, and when and how often to learn from it."""

from __future__ import annotations

import numpy as np
import torch

import ticktree

from .buffer import UpdateBuffer, minibatches
from .gae import get_gae
from .messages import Array, Spec
from .moments import RunningMoments
from .networks import Critic, GaussianActor
from .optimizer import TorchPPOOptimizer
from .policy import Weights
from .rl_trainer import RLTrainer
from .settings import Settings
from .trajectory import Episode, Trajectory


class PPOTrainer(RLTrainer):
    """Proximal policy optimisation.

    Args:
        behavior: What is learned, as gauges are named.
        spec: What its observations and actions look like.
        settings: How to learn.
        steps: Steps of the whole run, over which the learning rate falls.
        seed: Of minibatches; networks start from torch's global generator.
        backlog: See `RLTrainer`.
        threaded: See `RLTrainer`.
    """

    def __init__(
        self,
        behavior: str,
        spec: Spec,
        settings: Settings,
        *,
        steps: int,
        seed: int,
        backlog: int = 0,
        threaded: bool = False,
    ) -> None:
        super().__init__(behavior, backlog, threaded)
        self.settings = settings
        self.actor = GaussianActor(spec.observations, len(spec.low))
        self.critic = Critic(spec.observations)
        self.optimizer = TorchPPOOptimizer(self.actor, self.critic, settings)
        self.buffer = UpdateBuffer()
        self._seen = RunningMoments(spec.observations)
        self._steps = steps
        self._random = np.random.default_rng(seed)

    def weights(self) -> dict[str, Weights]:
        """Those of the actor and the critic."""
        return {"actor": self.actor.state_dict(), "critic": self.critic.state_dict()}

    def policy_weights(self) -> Weights:
        """A copy of the actor's weights, which learning leaves alone."""
        return {name: value.clone() for name, value in self.actor.state_dict().items()}

    def _process_trajectory(self, trajectory: Trajectory) -> None:
        self._seen.add(trajectory.observations)
        with ticktree.section("value_estimates"):
            values, value_next = self._value_estimates(trajectory)
        with ticktree.section("get_gae"):
            advantages = get_gae(
                trajectory.rewards, values, value_next, self.settings.discount, self.settings.trace
            )
        self.buffer.append(trajectory, advantages, advantages + values)
        self.stats.add("Policy/Extrinsic Value Estimate", float(values.mean()))
        if trajectory.episode:
            self._note(trajectory.episode)

    def _is_ready_update(self) -> bool:
        return self.buffer.steps >= self.settings.buffer_size

    def _update_policy(self) -> Weights:
        self.optimizer.tell_progress(self.step / self._steps)
        whole = self.buffer.take()
        for _ in range(self.settings.epochs):
            for batch in minibatches(whole, self.settings.minibatch, self._random):
                learned = self.optimizer.update(batch)
                self.stats.add("Losses/Policy Loss", abs(learned.policy_loss))
                self.stats.add("Losses/Value Loss", learned.value_loss)
                self.stats.add("Policy/Entropy", learned.entropy)
        self.stats.add("Policy/Learning Rate", self.optimizer.learning_rate)
        self.stats.add("Policy/Epsilon", self.optimizer.epsilon)
        self.stats.add("Policy/Beta", self.optimizer.beta)
        # Only now: networks that saw differently in the middle would call their own actions unlikely.
        self._tell_normalizers()
        return self.policy_weights()

    def _value_estimates(self, trajectory: Trajectory) -> tuple[Array, float]:
        seen = np.concatenate([trajectory.observations, trajectory.following[np.newaxis]])
        with torch.no_grad():
            values = self.critic(torch.from_numpy(seen)).numpy()
        return values[:-1], 0.0 if trajectory.terminated else float(values[-1])

    def _tell_normalizers(self) -> None:
        mean, variance = map(torch.from_numpy, (self._seen.mean, self._seen.variance))
        for network in (self.actor, self.critic):
            network.normalizer.tell(mean, variance)

    def _note(self, episode: Episode) -> None:
        self.stats.add("Environment/Cumulative Reward", episode.reward)
        self.stats.add("Environment/Episode Length", episode.length)
        self.stats.add("Policy/Extrinsic Reward", episode.reward)
