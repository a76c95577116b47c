"""The run: the toolkit's trainer, with its settings, started as its own command starts it."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

QUICK = {"workers": 1, "steps": 1500}
FULL = {"workers": 2, "steps": 20_000}
MAX_WORKERS = 64
INTERRUPTED = 130  # the exit status that shells give
PLAYER = Path(__file__).parents[1] / "player.py"


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    """Parse train.py's command line."""
    parser = argparse.ArgumentParser(
        prog="train.py",
        description="Train PPO with the ML-Agents toolkit's own trainer, its timers recorded by ticktree.",
        epilog="Run it as `ticktree run train.py ...` to get one tree of all its processes at the end.",
    )
    add = parser.add_argument
    add(
        "--env",
        default="CartPole-v1",
        metavar="ID",
        help="gymnasium's name of the task, of vectors and with discrete or continuous actions (default: %(default)s)",
    )
    add(
        "--workers",
        type=int,
        metavar="N",
        help=f"players, each with a process of the trainer before it (default: {FULL['workers']})",
    )
    add(
        "--steps",
        type=int,
        metavar="N",
        help=f"steps to take, of all players together (default: {FULL['steps']})",
    )
    add("--seed", type=int, default=0, metavar="N", help="of everything random (default: %(default)s)")
    add(
        "--quick",
        action="store_true",
        help=f"a run of under a minute: {QUICK['steps']} steps of {QUICK['workers']} player",
    )
    add(
        "--threaded",
        action="store_true",
        help="learn in a separate thread, as the toolkit's `threaded: true`",
    )
    add(
        "--patient",
        action="store_true",
        help="sleep until a step is in, instead of asking again and again whether one is",
    )
    add("--own-timers", action="store_true", help="the toolkit's own timers instead of ticktree's")
    add(
        "--base-port",
        type=int,
        metavar="PORT",
        help="the first player's port; each other's is one higher (default: free ones)",
    )
    add(
        "--run-id",
        default="ppo",
        metavar="NAME",
        help="what this run's folder is called (default: %(default)s)",
    )
    add(
        "--results-dir",
        type=Path,
        default=Path("results"),
        metavar="DIR",
        help="where it goes (default: %(default)s)",
    )
    args = parser.parse_args(argv)
    for name, value in (QUICK if args.quick else FULL).items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    try:
        check_args(args)
    except ValueError as error:
        parser.error(str(error))
    return args


def check_args(args: argparse.Namespace) -> None:
    """Check the command line.

    Raises:
        ValueError: An option makes no sense; one line that names it.
    """
    import gymnasium  # here, because --help needs no task

    try:
        gymnasium.spec(args.env)
    except gymnasium.error.Error as error:
        raise ValueError(f"--env {args.env}: {error}") from None
    if not 1 <= args.workers <= MAX_WORKERS:
        raise ValueError(f"--workers {args.workers}: from 1 to {MAX_WORKERS}")
    if args.steps < 1:
        raise ValueError(f"--steps {args.steps}: at least 1")
    if args.seed < 0:
        raise ValueError(f"--seed {args.seed}: at least 0")
    if args.run_id != Path(args.run_id).name:
        raise ValueError(f"--run-id {args.run_id} is no name of a folder")
    try:
        args.results_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"--results-dir {args.results_dir}: {error.strerror}") from None


def main(argv: list[str] | None = None) -> int:
    """Run train.py with this command line and return its exit status."""
    try:
        args = parse_args(argv)
        train(args)
    except ModuleNotFoundError as error:
        print(
            f"mlagents_trainer: NOT RUN: {error.name} is not installed; install.sh does it", file=sys.stderr
        )
        return 1
    except KeyboardInterrupt:
        print("mlagents_trainer: interrupted", file=sys.stderr)
        return INTERRUPTED
    print(f"timers: {args.results_dir / args.run_id / 'run_logs' / 'timers.json'}")
    return 0


def train(args: argparse.Namespace) -> None:
    """Train.

    Raises:
        ModuleNotFoundError: The toolkit is not installed.
    """
    # Here, because --help needs no toolkit, and its absence is one line.
    import torch
    from mlagents.plugins.trainer_type import register_trainer_plugins
    from mlagents.trainers.learn import run_cli
    from mlagents.trainers.settings import RunOptions

    from .toolkit import free_ports, prepare

    prepare(args.patient)
    register_trainer_plugins()
    port = args.base_port or free_ports(args.workers)
    options = RunOptions.from_dict(settings(args, write_executable(args.results_dir), port))
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    run_cli(options)


def write_executable(folder: Path) -> Path:
    """Write what the toolkit takes for an executable of its editor: the player under this interpreter."""
    path = folder.resolve() / "player"
    player = shlex.join([sys.executable, str(PLAYER)])
    path.write_text(f'#!/bin/sh\nexec {player} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return path


def settings(args: argparse.Namespace, executable: Path, port: int) -> dict[str, Any]:
    """Return the settings of a run, in the form of the toolkit's YAML files.

    Args:
        args: The command line.
        executable: The player.
        port: The first of the players' ports.
    """
    return {
        "default_settings": {
            "trainer_type": "ppo",
            "hyperparameters": {"batch_size": 64, "buffer_size": 512, "learning_rate": 1e-3},
            "network_settings": {"hidden_units": 64, "num_layers": 2, "normalize": False},
            "time_horizon": 64,
            "max_steps": args.steps,
            "summary_freq": max(args.steps // 4, 1),
            "checkpoint_interval": max(args.steps // 2, 1),
            "threaded": args.threaded,
        },
        "env_settings": {
            "env_path": str(executable),
            "env_args": ["--env", args.env],
            "base_port": port,
            "num_envs": args.workers,
            "seed": args.seed,
        },
        "engine_settings": {"no_graphics": True},
        "checkpoint_settings": {
            "run_id": args.run_id,
            "results_dir": str(args.results_dir),
            "force": True,
        },
        "torch_settings": {"device": "cpu"},
    }
