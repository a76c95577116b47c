"""The run: the toolkit's trainer, started as its own command starts it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from .options import Options, parse

INTERRUPTED = 130  # as shells call it
PLAYER = Path(__file__).parents[1] / "player.py"


def main(arguments: list[str] | None = None) -> int:
    """Run the program with this command line and return its exit status."""
    try:
        options = parse(arguments)
        _train(options)
    except ModuleNotFoundError as error:
        print(
            f"mlagents_trainer: NOT RUN: {error.name} is not installed; install.sh does it", file=sys.stderr
        )
        return 1
    except KeyboardInterrupt:
        print("mlagents_trainer: interrupted", file=sys.stderr)
        return INTERRUPTED
    print(f"timers: {options.timers}")
    return 0


def _train(options: Options) -> None:
    # Here, because --help needs no toolkit, and its absence is one line.
    import torch
    from mlagents.plugins.trainer_type import register_trainer_plugins
    from mlagents.trainers.learn import run_cli
    from mlagents.trainers.settings import RunOptions

    from .settings import settings
    from .toolkit import prepare

    prepare(options.patient)
    register_trainer_plugins()
    chosen = RunOptions.from_dict(settings(options, _executable(options.results_dir)))
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    run_cli(chosen)


def _executable(folder: Path) -> Path:
    """Write what the toolkit takes for an executable of its editor: the player under this interpreter."""
    path = folder.resolve() / "player"
    player = shlex.join([sys.executable, str(PLAYER)])
    path.write_text(f'#!/bin/sh\nexec {player} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return path
