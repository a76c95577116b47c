"""The two programs: train with PPO, and act with what was learned."""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import sys
import time
from pathlib import Path
from statistics import fmean

import gymnasium
import numpy as np
import torch

import ticktree
from ticktree.outputs import EXPORTS

from .env_manager import START_METHODS, EnvManagerConfig, SubprocessEnvManager, WorkerError
from .ppo import Episode, PPOConfig, TorchPolicy, prepare_torch
from .trainer import PPOTrainer, TrainerController
from .worker import EnvSpec, UnsupportedEnvError, spec_of

MAX_WORKERS = 1000
EXIT_INTERRUPTED = 130  # as shells call it
SUMMARY_EPISODES = 10
BACKLOG = 2  # trajectories a worker may have waiting for a learner in a thread


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    """Read train.py's command line."""
    parser = argparse.ArgumentParser(
        prog="train.py",
        description="Train PPO on a MuJoCo task whose environments run in separate processes.",
        epilog="Run it as `ticktree run train.py ...` to get one tree of all its processes at the end.",
    )
    add = parser.add_argument
    add("--env", default="InvertedPendulum-v5", metavar="ID", help="gymnasium's name (default: %(default)s)")
    add("--workers", type=int, help="environments, each in a separate process (default: 4)")
    add("--steps", type=int, help="steps of all environments together (default: 60000)")
    add("--seed", type=int, default=0, help="(default: %(default)s)")
    add("--quick", action="store_true", help="a run of under a minute: 6000 steps of 2 workers")
    add("--threaded", action="store_true", help="learn in a thread, while the environments step")
    add(
        "--lockstep",
        action="store_true",
        help="wait for all workers' steps; the same seed gives the same run",
    )
    add("--batched", action="store_true", help="choose the actions of all ready workers at once")
    add(
        "--start-method", choices=START_METHODS, default="spawn", help="of the workers (default: %(default)s)"
    )
    add(
        "--slow-worker",
        type=worker_delay,
        action="append",
        default=[],
        metavar="K=MS",
        help="make each step of worker K take MS milliseconds longer; may be repeated",
    )
    add("--run-id", default="ppo", metavar="NAME", help="name of this run's files (default: %(default)s)")
    add("--results-dir", type=Path, default=Path("results"), metavar="DIR", help="(default: %(default)s)")
    args = parser.parse_args(argv)
    if args.workers is None:
        args.workers = 2 if args.quick else 4
    if args.steps is None:
        args.steps = 6000 if args.quick else 60_000
    try:
        check_args(args)
    except ValueError as error:
        parser.error(str(error))
    args.weights = args.results_dir / f"{args.run_id}.pt"
    args.timers = args.results_dir / f"{args.run_id}_timers.json"
    return args


def worker_delay(text: str) -> tuple[int, float]:
    """Read `K=MS`."""
    match = re.fullmatch(r"(\d+)=(\d+(?:\.\d+)?)", text, re.ASCII)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is not a worker's number, =, and milliseconds")
    return int(match[1]), float(match[2])


def check_args(args: argparse.Namespace) -> None:
    """Raise ValueError, in one line, where options make no sense; create the results directory."""
    for name in ("workers", "steps"):
        if getattr(args, name) < 1:
            raise ValueError(f"--{name} {getattr(args, name)} is less than 1")
    if args.workers > MAX_WORKERS:
        raise ValueError(f"--workers {args.workers}: no more than {MAX_WORKERS}")
    try:
        gymnasium.spec(args.env)
    except gymnasium.error.Error as error:
        raise ValueError(f"--env {args.env}: {error}") from None
    for worker, _ in args.slow_worker:
        if worker >= args.workers:
            raise ValueError(f"--slow-worker {worker}: workers are numbered from 0 to {args.workers - 1}")
    if args.start_method != "spawn" and os.name != "posix":
        raise ValueError(f"--start-method {args.start_method}: there is only spawn here")
    if args.run_id != Path(args.run_id).name:
        raise ValueError(f"--run-id {args.run_id} is no name of a file")
    try:
        args.results_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"--results-dir {args.results_dir}: {error.strerror}") from None


def main(argv: list[str] | None = None) -> int:
    """Train; return the exit status."""
    args = parse_args(argv)
    # With --threaded this thread only acts: the learner is the thread of that name.
    ticktree.role("actor" if args.threaded else "learner")
    ticktree.enable()  # the timers are a result of a run like its weights, even without `ticktree run`
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    workers = f"{args.workers} worker{'s' if args.workers > 1 else ''} by {args.start_method}"
    learner = "a thread" if args.threaded else "turn"
    print(
        f"PPO on {args.env}: {workers}, {args.steps} steps, learning in {learner}, seed {args.seed}",
        flush=True,
    )
    try:
        train(args)
    except WorkerError as error:
        print(f"parallel_trainer: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("parallel_trainer: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    finally:
        timers_path = write_timers(args.timers)
        print(f"timers: {args.timers}" if timers_path else "timers: none, ticktree is off", flush=True)
    return 0


def train(args: argparse.Namespace) -> None:
    """Start the workers, train, and print what was learned."""
    config = PPOConfig()

    def make_trainer(spec: EnvSpec) -> tuple[PPOTrainer, TorchPolicy]:
        trainer = PPOTrainer(
            args.env,
            spec,
            config,
            steps=args.steps,
            seed=args.seed,
            backlog=BACKLOG * args.workers if args.threaded else 0,
            threaded=args.threaded,
        )
        policy = TorchPolicy(spec, args.seed)
        policy.load(trainer.policy_weights())
        return trainer, policy

    with ticktree.section("run_training.setup"):
        prepare_torch()
        env_manager = SubprocessEnvManager(
            EnvManagerConfig(
                args.env,
                args.workers,
                args.steps,
                args.seed,
                args.start_method,
                args.lockstep,
                args.batched,
                tuple(args.slow_worker),
            )
        )
        controller = TrainerController(make_trainer, config.horizon, args.weights)
    start = time.perf_counter()
    try:
        controller.start_learning(env_manager)
    finally:
        env_manager.close()
    seconds = time.perf_counter() - start
    print(f"trained: {args.steps} steps in {seconds:.1f} s, {args.steps / seconds:,.0f} steps/s")
    print(episode_summary(controller.processor.episodes))
    assert isinstance(controller.trainer, PPOTrainer)
    print(f"weights: {args.weights}, sha256 {weights_hash(controller.trainer)}")


def episode_summary(episodes: list[Episode]) -> str:
    """One line on the rewards of the first and the last episodes."""
    if not episodes:
        return "episodes: 0"
    count = min(SUMMARY_EPISODES, len(episodes))
    first, last = (
        fmean(episode.reward for episode in part) for part in (episodes[:count], episodes[-count:])
    )
    return f"episodes: {len(episodes)}, mean reward of the first {count} {first:.1f}, of the last {count} {last:.1f}"


def weights_hash(trainer: PPOTrainer) -> str:
    """A hash of all weights: the same for two runs that learned the same."""
    digest = hashlib.sha256()
    for weights in trainer.weights().values():
        for name, values in sorted(weights.items()):
            digest.update(name.encode() + values.numpy().tobytes())
    return digest.hexdigest()[:16]


def write_timers(path: Path) -> bool:
    """Write the tree recorded so far, of all processes, in ML-Agents' format; False where ticktree is off."""
    run = os.environ.get("TICKTREE_RUN")
    if run is None:
        return False
    path.write_bytes(EXPORTS["mlagents"].render(ticktree.load(run)))
    return True


def evaluate(argv: list[str] | None = None) -> int:
    """Act with the mean action of a trained policy, episode after episode."""
    parser = argparse.ArgumentParser(
        prog="eval.py",
        description="Let what PPO learned act in one environment, and see where the time goes.",
        epilog="Run it as `ticktree run eval.py ...` to get its tree at the end.",
    )
    add = parser.add_argument
    add(
        "--env",
        default="InvertedPendulum-v5",
        metavar="ID",
        help="what it was trained on (default: %(default)s)",
    )
    add("--weights", type=Path, default=Path("results/ppo.pt"), metavar="FILE", help="(default: %(default)s)")
    add("--episodes", type=int, help="(default: 20)")
    add("--quick", action="store_true", help="3 episodes")
    add("--seed", type=int, default=0, help="of the first episode (default: %(default)s)")
    args = parser.parse_args(argv)
    episodes = args.episodes or (3 if args.quick else 20)
    torch.set_num_threads(1)
    try:
        env = gymnasium.make(args.env)
        policy = TorchPolicy(spec_of(env, args.env), args.seed)
        policy.load(torch.load(args.weights)["actor"])
    except (gymnasium.error.Error, UnsupportedEnvError) as error:
        parser.error(f"--env {args.env}: {error}")
    except Exception as error:  # torch raises many types for a file that holds no weights
        parser.error(f"--weights {args.weights}: {str(error).splitlines()[0]}")

    rewards = []
    for episode in ticktree.loop("episode", range(episodes)):
        obs, _ = env.reset(seed=args.seed + episode)
        total_reward, done = 0.0, False
        while not done:
            action = policy.mean_action(obs.astype(np.float32))
            with ticktree.section("env.step"):
                obs, reward, terminated, truncated, _ = env.step(action)
            total_reward += float(reward)
            done = terminated or truncated
        rewards.append(total_reward)
    env.close()
    print(f"{episodes} episodes of {args.env}: mean reward {fmean(rewards):.1f}, least {min(rewards):.1f}")
    return 0
