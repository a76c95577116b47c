"""The options of a run on the command line."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

QUICK = {"workers": 1, "steps": 1500}
FULL = {"workers": 2, "steps": 20_000}
MOST_WORKERS = 64

HELP = {
    "env": "gymnasium's name of the task, of vectors and with discrete or continuous actions (default: %(default)s)",
    "workers": f"players, each with a process of the trainer before it (default: {FULL['workers']})",
    "steps": f"steps to take, of all players together (default: {FULL['steps']})",
    "seed": "of everything random (default: %(default)s)",
    "quick": f"a run of under a minute: {QUICK['steps']} steps of {QUICK['workers']} player",
    "threaded": "learn in a separate thread, as the toolkit's `threaded: true`",
    "patient": "sleep until a step is in, instead of asking again and again whether one is",
    "own_timers": "the toolkit's own timers instead of ticktree's",
    "base_port": "the first player's port; each other's is one higher (default: free ones)",
    "run_id": "what this run's folder is called (default: %(default)s)",
    "results_dir": "where it goes (default: %(default)s)",
}


class Options(NamedTuple):
    """A checked command line."""

    env: str
    workers: int
    steps: int
    seed: int
    threaded: bool
    patient: bool
    own_timers: bool
    base_port: int | None
    run_id: str
    results_dir: Path

    @property
    def folder(self) -> Path:
        """Where the toolkit keeps what belongs to this run."""
        return self.results_dir / self.run_id

    @property
    def timers(self) -> Path:
        """Where the toolkit writes its timers."""
        return self.folder / "run_logs" / "timers.json"


def parse(arguments: list[str] | None = None) -> Options:
    """Read a command line; what makes no sense ends the program with one line and exit status 2."""
    parser = _parser()
    chosen = vars(parser.parse_args(arguments))
    for name, value in (QUICK if chosen.pop("quick") else FULL).items():
        chosen[name] = value if chosen[name] is None else chosen[name]
    options = Options(**chosen)
    try:
        _check(options)
    except ValueError as error:
        parser.error(str(error))
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="train.py",
        description="Train PPO with the ML-Agents toolkit's own trainer, its timers recorded by ticktree.",
        epilog="Run it as `ticktree run train.py ...` to get one tree of all its processes at the end.",
    )
    parser.add_argument("--env", default="CartPole-v1", metavar="ID", help=HELP["env"])
    for name, default in (("workers", None), ("steps", None), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=HELP[name])
    for name in ("quick", "threaded", "patient", "own_timers"):
        parser.add_argument(f"--{name.replace('_', '-')}", action="store_true", help=HELP[name])
    parser.add_argument("--base-port", type=int, metavar="PORT", help=HELP["base_port"])
    parser.add_argument("--run-id", default="ppo", metavar="NAME", help=HELP["run_id"])
    parser.add_argument(
        "--results-dir", type=Path, default=Path("results"), metavar="DIR", help=HELP["results_dir"]
    )
    return parser


def _check(options: Options) -> None:
    import gymnasium  # here, because --help needs no task

    try:
        gymnasium.spec(options.env)
    except gymnasium.error.Error as error:
        raise ValueError(f"--env {options.env}: {error}") from None
    if not 1 <= options.workers <= MOST_WORKERS:
        raise ValueError(f"--workers {options.workers}: from 1 to {MOST_WORKERS}")
    if options.steps < 1:
        raise ValueError(f"--steps {options.steps}: at least 1")
    if options.seed < 0:
        raise ValueError(f"--seed {options.seed}: at least 0")
    if options.run_id != Path(options.run_id).name:
        raise ValueError(f"--run-id {options.run_id} is no name of a folder")
    try:
        options.results_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"--results-dir {options.results_dir}: {error.strerror}") from None
