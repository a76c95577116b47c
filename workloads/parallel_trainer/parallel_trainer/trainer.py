"""From steps to trajectories to updates, and the loop that advances environments and trainer."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, Queue, SimpleQueue

import numpy as np
import torch

import ticktree

from .env_manager import EnvironmentStep, SubprocessEnvManager
from .ppo import (
    Critic,
    Episode,
    GaussianActor,
    PPOConfig,
    RunningMeanStd,
    TorchPolicy,
    TorchPPOOptimizer,
    Trajectory,
    UpdateBuffer,
    Weights,
    get_gae,
    minibatches,
)
from .worker import Array, EnvSpec


class AgentProcessor:
    """Assembles the steps of each worker's agent into trajectories."""

    def __init__(self, horizon: int) -> None:
        self._horizon = horizon  # longest trajectory; the critic estimates what follows
        self._steps: dict[int, list[EnvironmentStep]] = {}
        self._episodes: dict[int, Episode] = {}
        self.episodes: list[Episode] = []  # that have ended

    def add(self, step: EnvironmentStep) -> Trajectory | None:
        """Add a step; return the trajectory that it completes."""
        result = step.result
        steps = self._steps.setdefault(result.worker, [])
        steps.append(step)
        before = self._episodes.get(result.worker, Episode(0.0, 0))
        episode = Episode(before.reward + result.reward, before.length + 1)
        self._episodes[result.worker] = Episode(0.0, 0) if result.done else episode
        if result.done:
            self.episodes.append(episode)
        if not result.done and len(steps) < self._horizon:
            return None
        del self._steps[result.worker]
        return _trajectory(steps, episode if result.done else None)


def _trajectory(steps: list[EnvironmentStep], episode: Episode | None) -> Trajectory:
    last = steps[-1].result
    return Trajectory(
        np.stack([step.action.observation for step in steps]),
        np.stack([step.action.action for step in steps]),
        np.array([step.action.log_prob for step in steps], np.float32),
        np.array([step.result.reward for step in steps], np.float32),
        last.observation if last.final_obs is None else last.final_obs,
        last.terminated,
        episode,
    )


class StatsReporter:
    """Collects values between two summaries."""

    def __init__(self, behavior: str) -> None:
        self._behavior = behavior
        self._values: defaultdict[str, list[float]] = defaultdict(list)

    def add(self, name: str, value: float) -> None:
        """Add a value, e.g. of `Losses/Policy Loss`; a summary has mean and sum."""
        self._values[name].append(value)

    def mean(self, name: str) -> float | None:
        """The mean since the last summary."""
        values = self._values.get(name)
        return sum(values) / len(values) if values else None

    def write(self, step: int) -> None:
        """Record the gauges, print a line, and start the next summary."""
        self.add("Step", step)
        for name, values in self._values.items():
            gauge = f"{self._behavior}.{name}".replace("/", ".").replace(" ", "")
            ticktree.gauge(f"{gauge}.mean", sum(values) / len(values))
            ticktree.gauge(f"{gauge}.sum", sum(values))
        print(self._line(step), flush=True)
        self._values.clear()

    def _line(self, step: int) -> str:
        reward = self.mean("Environment/Cumulative Reward")
        reward_text = "no episode ended" if reward is None else f"reward {reward:.1f}"
        values = {
            "policy loss": "Losses/Policy Loss",
            "value loss": "Losses/Value Loss",
            "entropy": "Policy/Entropy",
        }
        losses = (f"{label} {self.mean(name):.4g}" for label, name in values.items() if name in self._values)
        return "  ".join([f"step {step}: {reward_text}", *losses])


class RLTrainer(ABC):
    """Takes trajectories from a queue, and puts the weights of a better policy into another.

    Args:
        behavior: Prefix of the gauges' names.
        backlog: Longest queue of trajectories, at which `put` waits; 0 for no limit.
        threaded: Whether `advance` runs in a separate thread and may wait for trajectories.
    """

    def __init__(self, behavior: str, backlog: int, threaded: bool) -> None:
        self.step = 0
        self.threaded = threaded
        self.ended = False  # no more trajectories will come
        self.trajectories: Queue[Trajectory | None] = Queue(backlog)  # None: no more will come
        self.policies: SimpleQueue[Weights] = SimpleQueue()
        self.stats = StatsReporter(behavior)

    def put(self, trajectory: Trajectory | None) -> None:
        """Put a trajectory into the queue; waits while it is full."""
        with ticktree.section("trajectory_queue.put", wait=True):
            self.trajectories.put(trajectory)

    def advance(self) -> None:
        """Process the trajectories that have arrived, and update if there are enough."""
        with ticktree.section("process_trajectory"):
            for trajectory in self._trajectories():
                self.step += trajectory.steps
                self._process_trajectory(trajectory)
        if self._is_ready_update():
            with ticktree.section("_update_policy"):
                self.policies.put(self._update_policy())
            self.stats.write(self.step)

    def save_model(self, path: Path) -> None:
        """Write the weights."""
        self._checkpoint(path)

    @abstractmethod
    def weights(self) -> dict[str, Weights]:
        """The weights of each network."""

    @abstractmethod
    def _process_trajectory(self, trajectory: Trajectory) -> None:
        """Compute advantages, and add to the buffer."""

    @abstractmethod
    def _is_ready_update(self) -> bool:
        """Whether the buffer is full."""

    @abstractmethod
    def _update_policy(self) -> Weights:
        """Learn from the buffer; return the policy's new weights."""

    @ticktree.timed
    def _checkpoint(self, path: Path) -> None:
        torch.save(self.weights(), path)

    def _trajectories(self) -> Iterator[Trajectory]:
        # No more than were there at first: arriving trajectories must not delay an update.
        waiting = max(self.trajectories.qsize(), 1 if self.threaded else 0)
        for _ in range(waiting):
            trajectory = self._next()
            if trajectory is None:
                self.ended = True
                return
            yield trajectory

    def _next(self) -> Trajectory | None:
        try:
            return self.trajectories.get_nowait()
        except Empty:
            with ticktree.section("trajectory_queue.get", wait=True):
                return self.trajectories.get()


class PPOTrainer(RLTrainer):
    """Proximal policy optimisation.

    Args:
        behavior: Prefix of the gauges' names.
        spec: Sizes of observations and actions.
        config: Hyperparameters.
        steps: Steps of the whole run, over which the learning rate falls.
        seed: Of minibatches; networks start from torch's global generator.
        backlog: See `RLTrainer`.
        threaded: See `RLTrainer`.
    """

    def __init__(
        self,
        behavior: str,
        spec: EnvSpec,
        config: PPOConfig,
        *,
        steps: int,
        seed: int,
        backlog: int = 0,
        threaded: bool = False,
    ) -> None:
        super().__init__(behavior, backlog, threaded)
        self.config = config
        self.actor = GaussianActor(spec.observations, len(spec.low))
        self.critic = Critic(spec.observations)
        self.optimizer = TorchPPOOptimizer(self.actor, self.critic, config)
        self.buffer = UpdateBuffer()
        self._obs_stats = RunningMeanStd(spec.observations)
        self._steps = steps
        self._rng = np.random.default_rng(seed)

    def weights(self) -> dict[str, Weights]:
        """The weights of actor and critic."""
        return {"actor": self.actor.state_dict(), "critic": self.critic.state_dict()}

    def policy_weights(self) -> Weights:
        """A copy of the actor's weights, which learning does not change."""
        return {name: value.clone() for name, value in self.actor.state_dict().items()}

    def _process_trajectory(self, trajectory: Trajectory) -> None:
        self._obs_stats.update(trajectory.observations)
        with ticktree.section("value_estimates"):
            values, next_value = self._value_estimates(trajectory)
        with ticktree.section("get_gae"):
            advantages = get_gae(
                trajectory.rewards, values, next_value, self.config.gamma, self.config.gae_lambda
            )
        self.buffer.append(trajectory, advantages, advantages + values)
        self.stats.add("Policy/Extrinsic Value Estimate", float(values.mean()))
        if trajectory.episode:
            self._add_episode_stats(trajectory.episode)

    def _is_ready_update(self) -> bool:
        return self.buffer.steps >= self.config.buffer_size

    def _update_policy(self) -> Weights:
        self.optimizer.set_progress(self.step / self._steps)
        rollout = self.buffer.take()
        for _ in range(self.config.epochs):
            for batch in minibatches(rollout, self.config.minibatch_size, self._rng):
                stats = self.optimizer.update(batch)
                self.stats.add("Losses/Policy Loss", abs(stats.policy_loss))
                self.stats.add("Losses/Value Loss", stats.value_loss)
                self.stats.add("Policy/Entropy", stats.entropy)
        self.stats.add("Policy/Learning Rate", self.optimizer.learning_rate)
        self.stats.add("Policy/Epsilon", self.optimizer.epsilon)
        self.stats.add("Policy/Beta", self.optimizer.beta)
        # Only now: a change within an update would change the probability ratios.
        self._update_normalizers()
        return self.policy_weights()

    def _value_estimates(self, trajectory: Trajectory) -> tuple[Array, float]:
        observations = np.concatenate([trajectory.observations, trajectory.next_obs[np.newaxis]])
        with torch.no_grad():
            values = self.critic(torch.from_numpy(observations)).numpy()
        return values[:-1], 0.0 if trajectory.terminated else float(values[-1])

    def _update_normalizers(self) -> None:
        mean, variance = map(torch.from_numpy, (self._obs_stats.mean, self._obs_stats.variance))
        for network in (self.actor, self.critic):
            network.normalizer.set(mean, variance)

    def _add_episode_stats(self, episode: Episode) -> None:
        self.stats.add("Environment/Cumulative Reward", episode.reward)
        self.stats.add("Environment/Episode Length", episode.length)
        self.stats.add("Policy/Extrinsic Reward", episode.reward)


TrainerFactory = Callable[[EnvSpec], tuple[RLTrainer, TorchPolicy]]


class TrainerController:
    """Runs the training of one behavior.

    Args:
        trainer_factory: Makes the trainer and the policy for an `EnvSpec`.
        horizon: Longest trajectory.
        path: Where the weights are saved at the end.
    """

    def __init__(self, trainer_factory: TrainerFactory, horizon: int, path: Path) -> None:
        self.trainer: RLTrainer | None = None
        self._trainer_factory = trainer_factory
        self.processor = AgentProcessor(horizon)
        self._path = path
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None  # of the trainer's thread

    @ticktree.timed
    def start_learning(self, env_manager: SubprocessEnvManager) -> None:
        """Train until all steps have been taken.

        Raises:
            WorkerError: An environment is gone.
        """
        spec = env_manager.start()
        with ticktree.section("create_trainer"):
            trainer, env_manager.policy = self._trainer_factory(spec)
        self.trainer = trainer
        try:
            self._reset_env(env_manager)
            if trainer.threaded:
                self._start_thread(trainer)
            for _ in ticktree.loop("TrainerController.advance"):
                if not self.advance(env_manager, trainer):
                    break
        finally:
            self._join_thread(trainer)
            self._save_models(trainer)
        if self._failure:
            raise self._failure

    @ticktree.timed
    def _reset_env(self, env_manager: SubprocessEnvManager) -> None:
        env_manager.reset()

    def advance(self, env_manager: SubprocessEnvManager, trainer: RLTrainer) -> int:
        """Take at least one step and advance the trainer; return the number of steps, 0 at the end."""
        with ticktree.section("env_step"):
            self._update_policy_of(env_manager, trainer)
            steps = env_manager.get_steps()
            with ticktree.section("process_steps"):
                for step in steps:
                    trajectory = self.processor.add(step)
                    if trajectory:
                        trainer.put(trajectory)
        if not trainer.threaded:
            with ticktree.section("trainer_advance"):
                trainer.advance()
        return 0 if self._failure else len(steps)

    @staticmethod
    def _update_policy_of(env_manager: SubprocessEnvManager, trainer: RLTrainer) -> None:
        while not trainer.policies.empty():
            assert env_manager.policy is not None
            env_manager.policy.load(trainer.policies.get())

    @ticktree.timed
    def _save_models(self, trainer: RLTrainer) -> None:
        trainer.save_model(self._path)

    def _start_thread(self, trainer: RLTrainer) -> None:
        with ticktree.section("trainer_threads"):
            self._thread = threading.Thread(
                target=self._trainer_update_func, args=(trainer,), name="learner", daemon=True
            )
            self._thread.start()

    def _join_thread(self, trainer: RLTrainer) -> None:
        if self._thread:
            with ticktree.section("join_threads", wait=True):
                trainer.put(None)
                self._thread.join()

    def _trainer_update_func(self, trainer: RLTrainer) -> None:
        try:
            with ticktree.section("thread_root"):
                while not trainer.ended:
                    with ticktree.section("trainer_advance"):
                        trainer.advance()
        except BaseException as error:  # raised again by the thread that is waited for
            self._failure = error
            while trainer.trajectories.get() is not None:
                pass  # or their producer would wait for room for ever
