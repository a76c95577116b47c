"""What can be asked of a run on the command line."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import gymnasium

from .env_manager import START_METHODS, Plan
from .settings import Settings

QUICK = {"steps": 6000, "workers": 2}
FULL = {"steps": 60_000, "workers": 4}
MOST_WORKERS = 1000

HELP = {
    "env": "gymnasium's name of the task (default: %(default)s)",
    "workers": f"environments, each in a process of its own (default: {FULL['workers']})",
    "steps": f"steps to take, of all environments together (default: {FULL['steps']})",
    "seed": "of everything random (default: %(default)s)",
    "quick": f"a run of under a minute: {QUICK['steps']} steps of {QUICK['workers']} workers",
    "threaded": "learn in a thread of its own, while the environments go on",
    "lockstep": "wait for all workers' steps instead of the first's: the same seed then gives the same run",
    "batched": "choose the actions of all workers that are ready at once",
    "start_method": "how workers are started: %(choices)s (default: %(default)s)",
    "slow_worker": "make each step of worker K take MS milliseconds longer; may be repeated",
    "run_id": "what the files of this run are called (default: %(default)s)",
    "results_dir": "where they go (default: %(default)s)",
}


class Options(NamedTuple):
    """A checked command line."""

    plan: Plan
    settings: Settings
    threaded: bool
    run_id: str
    results_dir: Path

    @property
    def weights(self) -> Path:
        """Where the networks' weights go."""
        return self.results_dir / f"{self.run_id}.pt"

    @property
    def timers(self) -> Path:
        """Where the timers go."""
        return self.results_dir / f"{self.run_id}_timers.json"


def parse(arguments: list[str] | None = None) -> Options:
    """Read a command line; what makes no sense ends the program with one line and exit status 2."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    for name, value in (QUICK if chosen.quick else FULL).items():
        if getattr(chosen, name) is None:
            setattr(chosen, name, value)
    plan = Plan(
        chosen.env,
        chosen.workers,
        chosen.steps,
        chosen.seed,
        chosen.start_method,
        chosen.lockstep,
        chosen.batched,
        tuple(chosen.slow_worker),
    )
    options = Options(plan, Settings(), chosen.threaded, chosen.run_id, chosen.results_dir)
    try:
        _check(options)
    except ValueError as error:
        parser.error(str(error))
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="train.py",
        description="Train PPO on a MuJoCo task whose environments run in processes of their own.",
        epilog="Run it as `ticktree run train.py ...` to get one tree of all its processes at the end.",
    )

    def number(name: str, least: int, default: int | None) -> None:
        parser.add_argument(
            "--" + name, type=whole_number(least), default=default, metavar="N", help=HELP[name]
        )

    def switch(name: str) -> None:
        parser.add_argument("--" + name, action="store_true", help=HELP[name])

    parser.add_argument("--env", default="InvertedPendulum-v5", metavar="ID", help=HELP["env"])
    number("workers", 1, None)
    number("steps", 1, None)
    number("seed", 0, 0)
    for name in ("quick", "threaded", "lockstep", "batched"):
        switch(name)
    parser.add_argument("--start-method", choices=START_METHODS, default="spawn", help=HELP["start_method"])
    parser.add_argument(
        "--slow-worker", type=_delay, action="append", default=[], metavar="K=MS", help=HELP["slow_worker"]
    )
    parser.add_argument("--run-id", default="ppo", metavar="NAME", help=HELP["run_id"])
    parser.add_argument(
        "--results-dir", type=Path, default=Path("results"), metavar="DIR", help=HELP["results_dir"]
    )
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


def _delay(text: str) -> tuple[int, float]:
    match = re.fullmatch(r"(\d+)=(\d+(?:\.\d+)?)", text, re.ASCII)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is not a worker's number, =, and milliseconds")
    return int(match[1]), float(match[2])


def _check(options: Options) -> None:
    plan = options.plan
    if plan.workers > MOST_WORKERS:
        raise ValueError(f"--workers {plan.workers}: no more than {MOST_WORKERS}")
    try:
        gymnasium.spec(plan.environment)
    except gymnasium.error.Error as error:
        raise ValueError(f"--env {plan.environment}: {error}") from None
    for worker, _ in plan.delays_ms:
        if worker >= plan.workers:
            raise ValueError(f"--slow-worker {worker}: workers are numbered from 0 to {plan.workers - 1}")
    if plan.start_method != "spawn" and os.name != "posix":
        raise ValueError(f"--start-method {plan.start_method}: there is only spawn here")
    if options.run_id != Path(options.run_id).name:
        raise ValueError(f"--run-id {options.run_id} is no name of a file")
    try:
        options.results_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"--results-dir {options.results_dir}: {error.strerror}") from None
