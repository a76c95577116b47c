"""Runs the workload's scripts as users do, with small networks and boards."""

from __future__ import annotations

import os
import subprocess
import sys

from support.workloads import WORKLOADS

BOARD = ("--size", "6", "--robots", "2", "--picture-pixels", "36", "--episode-moves", "6")
NETWORK = ("--channels", "4", "--layers", "1", "--features", "16")
SMALL = (
    *("--envs", "2", "--rollout-steps", "8", "--timesteps", "32", "--batch", "8", "--epochs", "1"),
    *BOARD,
    *NETWORK,
)


def run_script(name, *arguments, cwd, before=(), seconds=100, **environment):
    command = [sys.executable, *before, str(WORKLOADS / "rgb_convlstm" / name), *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, timeout=seconds
    )


def rows(summary):
    """Return the numbers of each operation in a printed summary, by name; of several, those of the last."""
    rows_by_name = {}
    for line in summary.splitlines():
        name, *numbers = line.split() or [""]
        if len(numbers) == 7 and numbers[0].isdigit():
            rows_by_name[name] = numbers
    return rows_by_name
