"""What the command lines of this workload share: kinds of values, and the options of the board."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from .environment import MODES, Rules
from .painter import ROBOTS

DEFAULTS = Rules()

RULES_HELP = {
    "size": "cells of a side of the board (default: %(default)s)",
    "robots": f"how many, at most {len(ROBOTS)} (default: %(default)s)",
    "moves": "the target is at most N moves away (default: %(default)s)",
    "episode_moves": "moves there are to reach it (default: %(default)s)",
    "cell_pixels": "pixels of a cell's side as it is drawn (default: %(default)s)",
    "picture_pixels": "pixels of the side of the resized picture (default: %(default)s)",
}


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Let `parser` ask for the board and how it is seen."""
    parser.add_argument(
        "--obs-mode",
        choices=MODES,
        default=DEFAULTS.obs_mode,
        help="see the board as a picture, or as a plane for each kind of thing (default: %(default)s)",
    )
    parser.add_argument(
        "--cached-background",
        action="store_true",
        help="draw grid and walls once a board instead of in every picture",
    )
    for name, text in RULES_HELP.items():
        number(parser, name, text, 2 if name in {"size", "cell_pixels"} else 1, getattr(DEFAULTS, name))


def take_rules(chosen: dict[str, Any]) -> Rules:
    """Return the rules that were asked for, taken out of what `parse_args` found.

    Raises:
        ValueError: they make no sense together.
    """
    rules = Rules(**{name: chosen.pop(name) for name in Rules._fields})
    if rules.robots > len(ROBOTS):
        raise ValueError(f"--robots {rules.robots}: there are colours for {len(ROBOTS)}")
    if rules.robots >= rules.size**2:
        raise ValueError(f"--robots {rules.robots} do not fit on a board of {rules.size} x {rules.size}")
    return rules


def number(
    parser: argparse.ArgumentParser, name: str, text: str, least: int, default: int | None, **more: Any
) -> None:
    """Let `parser` ask for a whole number that is at least `least`."""
    flag = "--" + name.replace("_", "-")
    parser.add_argument(flag, type=whole_number(least), default=default, metavar="N", help=text, **more)


def whole_number(least: int) -> Callable[[str], int]:
    """Return what reads a whole number that is at least `least`."""

    def convert(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is less than {least}")
        return value

    return convert


def device(name: str) -> torch.device:
    """Return a device that is there.

    Raises:
        ValueError: it is not.
    """
    try:
        found = torch.device(name)
    except RuntimeError:
        raise ValueError(f"no such device: {name}") from None
    if found.type == "cuda" and not torch.cuda.is_available():
        raise ValueError("no CUDA device here")
    return found


def check_folder(flag: str, path: Path | None) -> None:
    """See that a file can be put there.

    Raises:
        ValueError: its directory is not there.
    """
    if path is not None and not path.absolute().parent.is_dir():
        raise ValueError(f"{flag} {path}: there is no such directory")
