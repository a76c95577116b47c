"""The run: everything built, trained, saved and told."""

from __future__ import annotations

import hashlib
import sys
import time
from statistics import fmean

import torch

import ticktree

from .env_manager import SubprocessEnvManager, WorkerError
from .messages import Spec
from .optimizer import prepare_torch
from .options import Options, parse
from .policy import TorchPolicy
from .ppo_trainer import PPOTrainer
from .timers import write_timers
from .trainer_controller import TrainerController
from .trajectory import Episode

INTERRUPTED = 130  # as shells call it
FEW = 10  # episodes whose mean tells how it went
BACKLOG = 2  # trajectories a worker may have waiting for a learner in a thread


def main(arguments: list[str] | None = None) -> int:
    """Run the program with this command line and return its exit status."""
    options = parse(arguments)
    ticktree.role(
        "actor" if options.threaded else "learner"
    )  # a learner in a thread is one by the thread's name
    ticktree.enable()  # the timers are a result of a run like its weights, even without `ticktree run`
    torch.set_num_threads(1)
    torch.manual_seed(options.plan.seed)
    print(_describe(options), flush=True)
    try:
        _run_training(options)
    except WorkerError as error:
        print(f"parallel_trainer: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("parallel_trainer: interrupted", file=sys.stderr)
        return INTERRUPTED
    finally:
        written = write_timers(options.timers)
        print(f"timers: {options.timers}" if written else "timers: none, ticktree is off", flush=True)
    return 0


def _run_training(options: Options) -> None:
    with ticktree.section("run_training.setup"):
        prepare_torch()
        env_manager = SubprocessEnvManager(options.plan)
        controller = TrainerController(
            lambda spec: _trainer(options, spec), options.settings.horizon, options.weights
        )
    began = time.perf_counter()
    try:
        controller.start_learning(env_manager)
    finally:
        env_manager.close()
    seconds = time.perf_counter() - began
    print(
        f"trained: {options.plan.steps} steps in {seconds:.1f} s, {options.plan.steps / seconds:,.0f} steps/s"
    )
    print(_earned(controller.processor.episodes))
    assert isinstance(controller.trainer, PPOTrainer)
    print(f"weights: {options.weights}, sha256 {_fingerprint(controller.trainer)}")


def _trainer(options: Options, spec: Spec) -> tuple[PPOTrainer, TorchPolicy]:
    plan = options.plan
    trainer = PPOTrainer(
        plan.environment,
        spec,
        options.settings,
        steps=plan.steps,
        seed=plan.seed,
        backlog=BACKLOG * plan.workers if options.threaded else 0,
        threaded=options.threaded,
    )
    policy = TorchPolicy(spec, plan.seed)
    policy.load(trainer.policy_weights())
    return trainer, policy


def _describe(options: Options) -> str:
    plan = options.plan
    learner = "a thread" if options.threaded else "turn"
    workers = f"{plan.workers} worker{'s' if plan.workers > 1 else ''} by {plan.start_method}"
    return (
        f"PPO on {plan.environment}: {workers}, {plan.steps} steps, learning in {learner}, seed {plan.seed}"
    )


def _earned(episodes: list[Episode]) -> str:
    if not episodes:
        return "episodes: 0"
    first, last = (fmean(episode.reward for episode in part) for part in (episodes[:FEW], episodes[-FEW:]))
    few = min(FEW, len(episodes))
    return (
        f"episodes: {len(episodes)}, mean reward of the first {few} {first:.1f}, of the last {few} {last:.1f}"
    )


def _fingerprint(trainer: PPOTrainer) -> str:
    digest = hashlib.sha256()
    for weights in trainer.weights().values():
        for name, values in sorted(weights.items()):
            digest.update(name.encode() + values.numpy().tobytes())
    return digest.hexdigest()[:16]
