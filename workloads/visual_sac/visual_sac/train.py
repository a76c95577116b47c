"""The two programs: train SAC on CarRacing, and drive with what it learned."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import psutil
import torch

import ticktree

from .agent import Metrics, SacAgent, SacConfig, seed_everything
from .envs import ACTION_DIM, OBS_SHAPE, Action, Env, Obs, make_env
from .replay_buffer import BUFFERS, ReplayBuffer, Transition
from .timing import Budget, measure_memcpy, record_claimed_times

LOG_EVERY = 10
# Updates in which memory is claimed and kernels are chosen: not what the rest of a run looks like.
WARMUP_UPDATES = 3
MAX_MEMORY_FRACTION = 0.75


class Rollout:
    """Steps an environment, episode after episode, and adds each transition to the replay buffer."""

    def __init__(self, env: Env, replay_buffer: ReplayBuffer, seed: int) -> None:
        self.env = env
        self.replay_buffer = replay_buffer
        self.episode_returns: list[float] = []
        self.obs: Obs
        self._reset(seed)

    def step(self, action: Action) -> None:
        """Take one step, and begin the next episode where this one ends."""
        with ticktree.section("env step"):
            next_obs, reward, terminated, truncated, _ = self.env.step(action)
        with ticktree.section("store"):
            # A truncated episode would have continued: only a terminated one has no value after it.
            self.replay_buffer.add(Transition(self.obs, action, float(reward), next_obs, terminated))
        self.obs = next_obs
        self.episode_return += float(reward)
        if terminated or truncated:
            self.episode_returns.append(self.episode_return)
            self._reset(None)

    def _reset(self, seed: int | None) -> None:
        with ticktree.section("reset"):
            self.obs, _ = self.env.reset(seed=seed)
            self.replay_buffer.start_episode(self.obs)
        self.episode_return = 0.0


def fill(rollout: Rollout, steps: int, seed: int) -> None:
    """Take random steps, so that the first update has a batch to draw."""
    rng = np.random.default_rng(seed)
    for _ in ticktree.loop("fill", range(steps)):
        rollout.step(rng.uniform(-1.0, 1.0, ACTION_DIM).astype(np.float32))


def train(
    rollout: Rollout,
    agent: SacAgent,
    updates: int,
    batch_size: int,
    log: Callable[[int, Metrics], None],
) -> None:
    """Alternate one environment step and one update; call `log` after each update, numbered from 1."""
    for update in ticktree.loop("train", range(1, updates + 1), warmup=WARMUP_UPDATES):
        rollout.step(agent.act(rollout.obs))
        metrics = agent.update(rollout.replay_buffer, batch_size)
        with ticktree.section("report"):
            log(update, metrics)


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    """Read train.py's command line."""
    parser = argparse.ArgumentParser(
        prog="train.py",
        description="Train a soft actor-critic to drive CarRacing from pixels, and see where the time goes.",
        epilog="Run it as `ticktree run train.py ...` to get the tree of the whole run at the end.",
    )
    add = parser.add_argument
    add("--buffer", choices=list(BUFFERS), default="list", help="replay buffer (default: %(default)s)")
    add("--quick", action="store_true", help="a run of under a minute: 300 steps and 8 updates")
    add("--updates", type=int, help="gradient updates (default: 40)")
    add("--fill", type=int, help="random steps before the first update (default: 1000)")
    add("--batch", type=int, default=256, help="transitions per update (default: %(default)s)")
    add(
        "--capacity",
        type=int,
        default=4000,
        help="of the buffer, 147 KB per float32 transition (default: 4000)",
    )
    add("--threads", type=int, default=1, help="torch threads; on busy cores one is fastest (default: 1)")
    add("--device", default="cpu", help="cpu, cuda or cuda:N (default: %(default)s)")
    add("--sync", action="store_true", help="wait for a GPU after each phase, so that each has its own time")
    add("--freeze-critics", action="store_true", help="skip the critics' gradients in the actor's step")
    add(
        "--declare-breakdown",
        action="store_true",
        help="also record the times that a published breakdown claims",
    )
    add("--seed", type=int, default=0, help="(default: %(default)s)")
    add("--verbose-every", type=int, default=0, help="print the time budget every N updates (default: never)")
    add("--save", type=Path, metavar="FILE", help="write the networks' weights there at the end")
    args = parser.parse_args(argv)
    if args.updates is None:
        args.updates = 8 if args.quick else 40
    if args.fill is None:
        args.fill = 300 if args.quick else 1000
    try:
        check_args(args)
    except ValueError as error:
        parser.error(str(error))
    return args


def check_args(args: argparse.Namespace) -> None:
    """Raise ValueError, in one line, where options make no sense; replace `device` by torch's."""
    for name in ("fill", "batch", "capacity", "threads"):
        if getattr(args, name) < 1:
            raise ValueError(f"--{name} {getattr(args, name)} is less than 1")
    for name in ("fill", "capacity"):
        if getattr(args, name) < args.batch:
            raise ValueError(f"--{name} {getattr(args, name)} is too little for a batch of {args.batch}")
    try:
        args.device = torch.device(args.device)
    except RuntimeError:
        raise ValueError(f"no such device: {args.device}") from None
    if args.device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError("no CUDA device here")
    if args.save and not args.save.parent.is_dir():
        raise ValueError(f"--save {args.save}: there is no such directory")
    # What this run will keep: a large capacity alone costs nothing.
    transitions = min(args.capacity, args.fill + args.updates)
    bytes_needed = BUFFERS[args.buffer].bytes_needed(transitions, OBS_SHAPE)
    available = psutil.virtual_memory().available
    if bytes_needed > MAX_MEMORY_FRACTION * available:
        raise ValueError(
            f"{transitions} transitions in the {args.buffer} buffer take {bytes_needed / 1e9:.1f} GB "
            f"and {available / 1e9:.1f} GB are free: choose a smaller --capacity"
        )


def main(argv: list[str] | None = None) -> int:
    """Train."""
    args = parse_args(argv)
    torch.set_num_threads(args.threads)
    cv2.setNumThreads(args.threads)
    seed_everything(args.seed)
    if args.verbose_every:
        ticktree.enable()  # a budget needs a recording even without `ticktree run`

    measure_memcpy()
    with ticktree.section("build"):
        buffer_type = BUFFERS[args.buffer]
        replay_buffer = buffer_type(args.capacity, OBS_SHAPE, ACTION_DIM, args.device, args.seed)
        config = SacConfig(freeze_critics=args.freeze_critics, sync=args.sync)
        agent = SacAgent(OBS_SHAPE, ACTION_DIM, args.device, config)
        env = make_env(normalize=replay_buffer.normalized)
        rollout = Rollout(env, replay_buffer, args.seed)
    if args.declare_breakdown:
        record_claimed_times(agent.actor.encoder, OBS_SHAPE)
    gigabytes = replay_buffer.bytes_needed(args.capacity, OBS_SHAPE) / 1e9
    print(
        f"visual SAC: batch {args.batch} from a {args.buffer} buffer of {args.capacity} "
        f"({gigabytes:.2f} GB full), {args.device}, torch threads {args.threads}, seed {args.seed}"
    )

    budget = Budget()

    def log(update: int, metrics: Metrics) -> None:
        if update == 1 or update % LOG_EVERY == 0:
            print(
                f"update {update}: critics {metrics.critic_1_loss:.4f} {metrics.critic_2_loss:.4f}  "
                f"actor {metrics.actor_loss:.3f}  alpha {metrics.alpha:.4f}",
                flush=True,
            )
        if args.verbose_every and update % args.verbose_every == 0:
            print(budget.render(update), flush=True)

    start = time.perf_counter()
    fill(rollout, args.fill, args.seed)
    filled_s = time.perf_counter()
    print(f"filled: {args.fill} steps in {filled_s - start:.1f} s")
    train(rollout, agent, args.updates, args.batch, log)
    print(f"trained: {args.updates} updates in {time.perf_counter() - filled_s:.1f} s")
    if rollout.episode_returns:
        print(f"episodes: {len(rollout.episode_returns)}, last return {rollout.episode_returns[-1]:.1f}")
    env.close()
    if args.save:
        networks = {"actor": agent.actor, "critic_1": agent.critics[0], "critic_2": agent.critics[1]}
        torch.save({name: network.state_dict() for name, network in networks.items()}, args.save)
    return 0


def evaluate(argv: list[str] | None = None) -> int:
    """Drive with the mean action of a trained actor."""
    parser = argparse.ArgumentParser(
        prog="eval.py",
        description="Drive CarRacing from pixels with what was learned, and see where the time goes.",
        epilog="Run it as `ticktree run eval.py ...` to get the tree of the whole run at the end.",
    )
    add = parser.add_argument
    add(
        "--weights",
        type=Path,
        metavar="FILE",
        help="what train.py --save wrote (default: an untrained network)",
    )
    add("--steps", type=int, help="steps to drive (default: 1000)")
    add("--quick", action="store_true", help="200 steps")
    add("--threads", type=int, default=1, help="torch threads (default: %(default)s)")
    add("--seed", type=int, default=0, help="(default: %(default)s)")
    args = parser.parse_args(argv)
    steps = args.steps if args.steps is not None else 200 if args.quick else 1000

    torch.set_num_threads(args.threads)
    seed_everything(args.seed)
    agent = SacAgent(OBS_SHAPE, ACTION_DIM, torch.device("cpu"))
    if args.weights:
        try:
            agent.actor.load_state_dict(torch.load(args.weights)["actor"])
        except Exception as error:  # torch raises many types for a file that holds no weights
            parser.error(f"--weights {args.weights}: {str(error).splitlines()[0]}")

    env = make_env(normalize=True)
    obs, _ = env.reset(seed=args.seed)
    returns = [0.0]  # by episode; the last step cuts the last one short
    for _ in ticktree.loop("drive", range(steps)):
        action = agent.act(obs, deterministic=True)
        with ticktree.section("env step"):
            obs, reward, terminated, truncated, _ = env.step(action)
        returns[-1] += float(reward)
        if terminated or truncated:
            with ticktree.section("reset"):
                obs, _ = env.reset()
            returns.append(0.0)
    env.close()
    print(f"drove {steps} steps, returns of the episodes: {', '.join(f'{value:.1f}' for value in returns)}")
    return 0
