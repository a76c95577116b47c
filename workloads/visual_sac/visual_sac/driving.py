"""Driving with what was learned: the likeliest action, step after step, and nothing remembered."""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

import ticktree

from .agent import SacAgent, seed_everything
from .environment import make_environment
from .options import ACTIONS, SHAPE, whole_number

QUICK, FULL = 200, 1000


def main(arguments: list[str] | None = None) -> int:
    """Run the program with this command line and return its exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    seed_everything(options.seed)
    agent = SacAgent(SHAPE, ACTIONS, torch.device("cpu"))
    if options.weights:
        try:
            agent.actor.load_state_dict(torch.load(options.weights)["actor"])
        except Exception as error:  # whatever torch makes of a file that is none of ours
            parser.error(f"--weights {options.weights}: {str(error).splitlines()[0]}")
    steps = options.steps or (QUICK if options.quick else FULL)
    returns = _drive(agent, steps, options.seed)
    print(f"drove {steps} steps, returns of the episodes: {', '.join(f'{earned:.1f}' for earned in returns)}")
    return 0


def _drive(agent: SacAgent, steps: int, seed: int) -> list[float]:
    """Return what each episode earned, that which the last step cut short included."""
    environment = make_environment(normalize=True)
    observation, _ = environment.reset(seed=seed)
    returns = [0.0]
    for _ in ticktree.loop("drive", range(steps)):
        action = agent.act(observation, deterministic=True)
        with ticktree.section("env step"):
            observation, reward, terminated, truncated, _ = environment.step(action)
        returns[-1] += float(reward)
        if terminated or truncated:
            with ticktree.section("reset"):
                observation, _ = environment.reset()
            returns.append(0.0)
    environment.close()
    return returns


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="eval.py",
        description="Drive CarRacing from pixels with what was learned, and see where the time goes.",
        epilog="Run it as `ticktree run eval.py ...` to get the tree of the whole run at the end.",
    )
    number = whole_number(1)
    parser.add_argument(
        "--weights",
        type=Path,
        metavar="FILE",
        help="what train.py --save wrote (default: a network that learned nothing)",
    )
    parser.add_argument("--steps", type=number, metavar="N", help=f"steps to drive (default: {FULL})")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} steps")
    parser.add_argument(
        "--threads", type=number, default=1, metavar="N", help="torch threads (default: %(default)s)"
    )
    parser.add_argument(
        "--seed",
        type=whole_number(0),
        default=0,
        metavar="N",
        help="of everything random (default: %(default)s)",
    )
    return parser
