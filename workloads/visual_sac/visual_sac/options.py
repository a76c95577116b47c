"""What can be asked of a run on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import psutil
import torch

from .buffers import BUFFERS, Room

QUICK = {"updates": 8, "fill": 300}
FULL = {"updates": 40, "fill": 1000}
SHAPE = (4, 96, 96)
ACTIONS = 2
MOST_OF_MEMORY = 0.75

HELP = {
    "buffer": "how transitions are kept (default: %(default)s)",
    "quick": f"a run of under a minute: {QUICK['fill']} steps and {QUICK['updates']} updates",
    "updates": f"gradient updates (default: {FULL['updates']})",
    "fill": f"random steps before the first update (default: {FULL['fill']})",
    "batch": "transitions an update (default: %(default)s)",
    "capacity": "transitions kept; a float32 one takes 147 KB (default: %(default)s)",
    "threads": "torch threads; on busy cores more are slower than one (default: %(default)s)",
    "device": "cpu, cuda or cuda:N (default: %(default)s)",
    "sync": "wait for a GPU after each phase, so that each phase carries its own time",
    "freeze_critics": "skip the gradients that the actor's step computes and nobody uses",
    "declare_breakdown": "also record the times that a published breakdown claims, to see what becomes of them",
    "seed": "of everything random (default: %(default)s)",
    "verbose_every": "print the time budget every N updates (default: never)",
    "save": "write the networks' weights there at the end",
}


class Options(NamedTuple):
    """A checked command line."""

    buffer: str
    updates: int
    fill: int
    batch: int
    room: Room
    threads: int
    device: torch.device
    sync: bool
    freeze_critics: bool
    declare_breakdown: bool
    seed: int
    verbose_every: int
    save: Path | None


def parse(arguments: list[str] | None = None) -> Options:
    """Read a command line; what makes no sense ends the program with one line and exit status 2."""
    parser = _parser()
    chosen = vars(parser.parse_args(arguments))
    preset = QUICK if chosen.pop("quick") else FULL
    for name, value in preset.items():
        if chosen[name] is None:
            chosen[name] = value
    room = Room(chosen.pop("capacity"), SHAPE, ACTIONS)
    try:
        chosen["device"] = _device(chosen["device"])
        options = Options(**chosen, room=room)
        _check(options)
    except ValueError as error:
        parser.error(str(error))
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="train.py",
        description="Train a soft actor-critic to drive CarRacing from pixels, and see where the time goes.",
        epilog="Run it as `ticktree run train.py ...` to get the tree of the whole run at the end.",
    )

    def number(name: str, least: int, default: int | None) -> None:
        flag = "--" + name.replace("_", "-")
        parser.add_argument(flag, type=whole_number(least), default=default, metavar="N", help=HELP[name])

    def switch(name: str) -> None:
        parser.add_argument("--" + name.replace("_", "-"), action="store_true", help=HELP[name])

    parser.add_argument("--buffer", choices=list(BUFFERS), default="list", help=HELP["buffer"])
    switch("quick")
    number("updates", 0, None)
    number("fill", 1, None)
    number("batch", 1, 256)
    number("capacity", 1, 4000)
    number("threads", 1, 1)
    parser.add_argument("--device", default="cpu", help=HELP["device"])
    switch("sync")
    switch("freeze_critics")
    switch("declare_breakdown")
    number("seed", 0, 0)
    number("verbose_every", 0, 0)
    parser.add_argument("--save", type=Path, metavar="FILE", help=HELP["save"])
    return parser


def whole_number(least: int) -> Callable[[str], int]:
    """What reads an option's whole number, and says which is too small."""

    def convert(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is less than {least}")
        return value

    return convert


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ValueError(f"no such device: {name}") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError("no CUDA device here")
    return device


def _check(options: Options) -> None:
    if options.fill < options.batch:
        raise ValueError(f"--fill {options.fill} is too little for a batch of {options.batch}")
    if options.room.capacity < options.batch:
        raise ValueError(f"--capacity {options.room.capacity} is too little for a batch of {options.batch}")
    if options.save and not options.save.parent.is_dir():
        raise ValueError(f"--save {options.save}: there is no such directory")
    # What this run will really keep: a large capacity alone costs nothing.
    kept = min(options.room.capacity, options.fill + options.updates)
    needed = BUFFERS[options.buffer].bytes_needed(options.room._replace(capacity=kept))
    available = psutil.virtual_memory().available
    if needed > MOST_OF_MEMORY * available:
        raise ValueError(
            f"{kept} transitions in the {options.buffer} buffer take {needed / 1e9:.1f} GB "
            f"and {available / 1e9:.1f} GB are free: choose a smaller --capacity"
        )
