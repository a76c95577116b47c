"""Evaluation: what was trained solves puzzles that it has not seen."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import torch
from sb3_contrib import RecurrentPPO

import ticktree

from .arguments import add_rules, device, number, take_rules
from .environment import RicochetEnv


def main(arguments: list[str] | None = None) -> int:
    """Run the program with this command line and return its exit status."""
    parser = _parser()
    chosen = vars(parser.parse_args(arguments))
    try:
        rules = take_rules(chosen)
        on = device(chosen["device"])
    except ValueError as error:
        parser.error(str(error))
    torch.set_num_threads(chosen["threads"])
    torch.manual_seed(chosen["seed"])
    path: Path = chosen["model"]
    if not path.is_file():
        parser.error(f"{path}: there is no such file")
    model = RecurrentPPO.load(path, device=on)
    environment = RicochetEnv(rules)
    if (
        environment.observation_space != model.observation_space
        or environment.action_space != model.action_space
    ):
        print(
            "eval.py: the model was trained on another board: say --size, --robots and so on", file=sys.stderr
        )
        return 2
    moves = [
        _solve(model, environment, chosen["seed"] + episode, chosen["deterministic"])
        for episode in range(chosen["episodes"])
    ]
    solved = [taken for taken in moves if taken is not None]
    print(f"solved {len(solved)} of {len(moves)}" + (f", in {np.mean(solved):.1f} moves" if solved else ""))
    return 0


def _solve(model: RecurrentPPO, environment: RicochetEnv, seed: int, deterministic: bool) -> int | None:
    """Return in how many moves a puzzle was solved; None where it was not."""
    observation, _ = environment.reset(seed=seed)
    state = None
    for move in ticktree.loop("evaluate", range(environment.rules.episode_moves)):
        first = np.array([move == 0])
        action, state = model.predict(observation, state, first, deterministic=deterministic)
        observation, _, solved, _, _ = environment.step(int(action))
        if solved:
            return move + 1
    return None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="eval.py",
        description="Let a model that train.py saved solve puzzles, and see how fast it moves.",
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help="what train.py --save wrote")
    number(parser, "episodes", "puzzles (default: %(default)s)", 1, 20)
    parser.add_argument("--deterministic", action="store_true", help="take the likeliest action, draw none")
    add_rules(parser)
    number(parser, "threads", "torch threads (default: %(default)s)", 1, 1)
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N (default: %(default)s)")
    number(
        parser, "seed", "of the first puzzle, and of actions that are drawn (default: %(default)s)", 0, 10_000
    )
    return parser
