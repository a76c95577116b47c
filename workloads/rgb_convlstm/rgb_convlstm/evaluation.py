"""Evaluation: what was trained solves puzzles that it has not seen."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib import RecurrentPPO

import ticktree

from .arguments import add_rules, device, number, take_rules
from .environment import RicochetEnv
from .painter import Picture

# Chooses an action from what is seen, and whether it is the first of an episode.
Player: TypeAlias = Callable[[Picture, bool], int]


def main(arguments: list[str] | None = None) -> int:
    """Run the program with this command line and return its exit status."""
    parser = _parser()
    chosen = vars(parser.parse_args(arguments))
    try:
        environment = RicochetEnv(take_rules(chosen))
        player = _player(chosen, environment)
    except ValueError as error:
        parser.error(str(error))
    torch.set_num_threads(chosen["threads"])
    torch.manual_seed(chosen["seed"])
    moves = [_solve(player, environment, chosen["seed"] + episode) for episode in range(chosen["episodes"])]
    solved = [taken for taken in moves if taken is not None]
    print(f"solved {len(solved)} of {len(moves)}" + (f", in {np.mean(solved):.1f} moves" if solved else ""))
    return 0


def _player(chosen: dict[str, Any], environment: RicochetEnv) -> Player:
    """Return who is to play.

    Raises:
        ValueError: nobody, or one who knows another board.
    """
    path: Path | None = chosen["model"]
    if path is None:
        if not chosen["random"]:
            raise ValueError("either a MODEL or --random")
        drawn = np.random.default_rng(chosen["seed"])
        actions = environment.action_space.n  # type: ignore[attr-defined]
        return lambda _seen, _first: int(drawn.integers(actions))
    on = device(chosen["device"])
    if not path.is_file():
        raise ValueError(f"{path}: there is no such file")
    model = RecurrentPPO.load(path, device=on)
    known = environment.observation_space == model.observation_space
    if not known or environment.action_space != model.action_space:
        raise ValueError("the model was trained on another board: say --size, --robots and so on")
    return _Trained(model, chosen["deterministic"])


class _Trained:
    """A trained model, with its state."""

    def __init__(self, model: RecurrentPPO, deterministic: bool) -> None:
        self._model = model
        self._deterministic = deterministic
        self._state: tuple[NDArray[np.float32], ...] | None = None

    def __call__(self, seen: Picture, first: bool) -> int:
        action, self._state = self._model.predict(
            seen, None if first else self._state, np.array([first]), deterministic=self._deterministic
        )
        return int(action)


def _solve(player: Player, environment: RicochetEnv, seed: int) -> int | None:
    """Return in how many moves a puzzle was solved; None where it was not."""
    seen, _ = environment.reset(seed=seed)
    for move in ticktree.loop("evaluate", range(environment.rules.episode_moves)):
        seen, _, solved, _, _ = environment.step(player(seen, move == 0))
        if solved:
            return move + 1
    return None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="eval.py",
        description="Let a model that train.py saved solve puzzles, and see how fast it moves.",
    )
    parser.add_argument("model", type=Path, nargs="?", metavar="MODEL", help="what train.py --save wrote")
    parser.add_argument("--random", action="store_true", help="play at random, without a model")
    number(parser, "episodes", "puzzles (default: %(default)s)", 1, 20)
    parser.add_argument("--deterministic", action="store_true", help="take the likeliest action, draw none")
    add_rules(parser)
    number(parser, "threads", "torch threads (default: %(default)s)", 1, 1)
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N (default: %(default)s)")
    number(
        parser, "seed", "of the first puzzle, and of actions that are drawn (default: %(default)s)", 0, 10_000
    )
    return parser
