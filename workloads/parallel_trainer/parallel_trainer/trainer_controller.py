"""The controller: it advances the environments, and the trainer with what comes of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import ticktree

from .env_manager import SubprocessEnvManager
from .messages import Spec
from .policy import TorchPolicy
from .rl_trainer import RLTrainer
from .trajectory import AgentProcessor

TrainerFactory = Callable[[Spec], tuple[RLTrainer, TorchPolicy]]


class TrainerController:
    """Runs the training of one behavior.

    Args:
        trainer_factory: Makes the trainer and the policy, once it is known what the task looks like.
        horizon: Steps of the longest trajectory.
        path: Where the weights go at the end.
    """

    def __init__(self, trainer_factory: TrainerFactory, horizon: int, path: Path) -> None:
        self.trainer: RLTrainer | None = None
        self._trainer_factory = trainer_factory
        self.processor = AgentProcessor(horizon)
        self._path = path
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None  # what ended the trainer's thread

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
            while self.advance(env_manager, trainer):
                pass
        finally:
            self._join_thread(trainer)
            self._save_models(trainer)
        if self._failure:
            raise self._failure

    @ticktree.timed
    def _reset_env(self, env_manager: SubprocessEnvManager) -> None:
        env_manager.reset()

    @ticktree.timed
    def advance(self, env_manager: SubprocessEnvManager, trainer: RLTrainer) -> int:
        """Take at least one step, and let the trainer go on; return how many steps were taken, 0 at the end."""
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
                pass  # or whoever brings them would wait for room for ever
