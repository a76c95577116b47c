"""What can be asked on the command lines."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from .car import CARS
from .game import DRAW
from .pretraining import Plan

VARIANTS = ("many", "sliced", "one")
FRAMES = 5
# Steps driven, then for each car: steps of the expert's, and epochs.
QUICK = {"steps": 130, "lesson": 16, "epochs": 40}
FULL = {"steps": 400, "lesson": 60, "epochs": 150}

HELP = {
    "variant": "many models whose actions are merged, each given all of the input; the same, each given only the "
    "slice that it knows; or one model (default: %(default)s)",
    "draw": "frames that the game draws: all, as a game with a screen does, or only the last of an action, the one "
    "that is looked at (default: %(default)s)",
    "models": "how many there are to be merged (default: %(default)s)",
    "frames": "of the game, for each action (default: %(default)s)",
    "steps": f"of the driver (default: {FULL['steps']})",
    "lesson": f"of the expert's drive in each car, where models are trained first (default: {FULL['lesson']})",
    "epochs": f"over it (default: {FULL['epochs']})",
    "policies": "models that train.py wrote; without them, they are trained first",
    "quick": f"a run of under a minute: {QUICK['steps']} steps, after short lessons",
    "checkpoints": "note the time after each part of a step, and print running means",
    "after": "steps that those leave out (default: %(default)s)",
    "print_every": "steps from one line of means to the next (default: %(default)s)",
    "server": "a game's server that runs already, such as http://127.0.0.1:8737; by default one is started",
    "no_server_timing": "let the server say nothing of what took how long in it: its answer is one opaque row",
    "threads": "of torch; on busy cores more are slower than one (default: %(default)s)",
    "seed": "of everything random (default: %(default)s)",
    "out": "where to write the models (default: %(default)s)",
}


class Driving(NamedTuple):
    """What eval.py was asked for."""

    variant: str
    draw: str
    steps: int
    frames: int
    policies: Path | None
    plan: Plan
    checkpoints: bool
    after: int
    print_every: int
    server: str | None
    server_timing: bool
    threads: int
    seed: int


class Training(NamedTuple):
    """What train.py was asked for."""

    plan: Plan
    out: Path
    threads: int


def parse_driving(arguments: list[str] | None = None) -> Driving:
    """Read eval.py's command line; what makes no sense ends the program with one line and exit status 2."""
    parser = _parser("eval.py", "Race a car that lives in another process, behind HTTP.", _EPILOG)
    parser.add_argument("--variant", choices=VARIANTS, default="many", help=HELP["variant"])
    parser.add_argument("--draw", choices=DRAW, default="all", help=HELP["draw"])
    _number(parser, "steps", 1, None)
    parser.add_argument("--policies", type=Path, metavar="FILE", help=HELP["policies"])
    parser.add_argument("--checkpoints", action="store_true", help=HELP["checkpoints"])
    _number(parser, "after", 0, 100)
    _number(parser, "print_every", 1, 50)
    parser.add_argument("--server", metavar="ADDRESS", help=HELP["server"])
    parser.add_argument("--no-server-timing", action="store_true", help=HELP["no_server_timing"])
    chosen = parser.parse_args(arguments)
    if chosen.policies and not chosen.policies.is_file():
        parser.error(f"--policies {chosen.policies}: there is no such file; train.py makes one")
    if chosen.server and not chosen.server.startswith(("http://", "https://")):
        parser.error(f"--server {chosen.server}: an address begins with http://")
    return Driving(
        variant=chosen.variant,
        draw=chosen.draw,
        steps=_preset(chosen, "steps"),
        frames=chosen.frames,
        policies=chosen.policies,
        plan=_plan(chosen),
        checkpoints=chosen.checkpoints,
        after=chosen.after,
        print_every=chosen.print_every,
        server=chosen.server,
        server_timing=not chosen.no_server_timing,
        threads=chosen.threads,
        seed=chosen.seed,
    )


def parse_training(arguments: list[str] | None = None) -> Training:
    """Read train.py's command line."""
    parser = _parser(
        "train.py", "Teach the models that eval.py drives with: from an expert, one car each.", None
    )
    parser.add_argument("--out", type=Path, default=Path("policies.pt"), metavar="FILE", help=HELP["out"])
    chosen = parser.parse_args(arguments)
    if not chosen.out.absolute().parent.is_dir():
        parser.error(f"--out {chosen.out}: there is no such directory")
    return Training(_plan(chosen), chosen.out, chosen.threads)


_EPILOG = "Run it as `ticktree run --focus Driver.step --depth 4 eval.py ...` to get the tree of its calls at the end."


def _parser(name: str, about: str, epilog: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=name, description=about, epilog=epilog)
    parser.add_argument("--quick", action="store_true", help=HELP["quick"])
    _number(parser, "models", 1, CARS)
    _number(parser, "frames", 1, FRAMES)
    _number(parser, "lesson", 2, None)
    _number(parser, "epochs", 1, None)
    _number(parser, "threads", 1, 1)
    _number(parser, "seed", 0, 0)
    return parser


def _preset(chosen: argparse.Namespace, name: str) -> int:
    value: int | None = getattr(chosen, name)
    return (QUICK if chosen.quick else FULL)[name] if value is None else value


def _plan(chosen: argparse.Namespace) -> Plan:
    return Plan(
        chosen.models, _preset(chosen, "lesson"), _preset(chosen, "epochs"), chosen.frames, chosen.seed
    )


def _number(parser: argparse.ArgumentParser, name: str, least: int, default: int | None) -> None:
    flag = "--" + name.replace("_", "-")
    parser.add_argument(flag, type=_whole_number(least), default=default, metavar="N", help=HELP[name])


def _whole_number(least: int) -> Callable[[str], int]:
    def convert(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is less than {least}")
        return value

    return convert
