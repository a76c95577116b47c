"""Acting with what was learned: the mean action, episode after episode, and nothing learned."""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import fmean
from typing import Any

import gymnasium
import numpy as np
import torch

import ticktree

from .options import whole_number
from .policy import TorchPolicy
from .worker import UnsuitableError, spec_of

QUICK, FULL = 3, 20  # episodes


def main(arguments: list[str] | None = None) -> int:
    """Run the program with this command line and return its exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    try:
        environment = gymnasium.make(options.env)
        policy = TorchPolicy(spec_of(environment, options.env), options.seed)
        policy.load(torch.load(options.weights)["actor"])
    except (gymnasium.error.Error, UnsuitableError) as error:
        parser.error(f"--env {options.env}: {error}")
    except Exception as error:  # whatever torch makes of a file that is none of ours
        parser.error(f"--weights {options.weights}: {str(error).splitlines()[0]}")
    episodes = options.episodes or (QUICK if options.quick else FULL)
    rewards = [
        _episode(environment, policy, options.seed + number)
        for number in ticktree.loop("episode", range(episodes))
    ]
    environment.close()
    print(f"{episodes} episodes of {options.env}: mean reward {fmean(rewards):.1f}, least {min(rewards):.1f}")
    return 0


def _episode(environment: gymnasium.Env[Any, Any], policy: TorchPolicy, seed: int) -> float:
    observation, _ = environment.reset(seed=seed)
    earned, ended = 0.0, False
    while not ended:
        action = policy.likeliest(observation.astype(np.float32))
        with ticktree.section("env.step"):
            observation, reward, terminated, truncated, _ = environment.step(action)
        earned += float(reward)
        ended = terminated or truncated
    return earned


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="eval.py",
        description="Let what PPO learned act in one environment, and see where the time goes.",
        epilog="Run it as `ticktree run eval.py ...` to get its tree at the end.",
    )
    parser.add_argument(
        "--env",
        default="InvertedPendulum-v5",
        metavar="ID",
        help="what it was trained on (default: %(default)s)",
    )
    parser.add_argument(
        "--weights",
        type=Path,
        default=Path("results/ppo.pt"),
        metavar="FILE",
        help="what train.py left (default: %(default)s)",
    )
    parser.add_argument("--episodes", type=whole_number(1), metavar="N", help=f"how many (default: {FULL})")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} episodes")
    parser.add_argument(
        "--seed", type=whole_number(0), default=0, metavar="N", help="of the episodes (default: %(default)s)"
    )
    return parser
