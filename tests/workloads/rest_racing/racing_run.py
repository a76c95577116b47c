"""Runs the scripts of the race in processes of their own, small, and finds what they leave."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from racing_workload import WORKLOAD

import ticktree

SMALL = ["--models", "2", "--lesson", "3", "--epochs", "1", "--frames", "2"]
FOCUS = ["--focus", "Driver.step", "--depth", "4"]


class Raced(NamedTuple):
    """A run that is over."""

    folder: Path
    stdout: str
    stderr: str

    def profile(self):
        (run,) = (self.folder / "ticktree-runs").glob("*-*")
        profile = ticktree.load(run)
        profile.check()
        return profile


def environment(folder, **variables):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TICKTREE")}
    return {**kept, "TICKTREE_MEMORY_DIR": str(folder), **variables}


def run_race(folder, *arguments, script="eval.py", under=None, status=0, **variables):
    """`under`: the options of `ticktree run`; None for a run without it."""
    prefix = [] if under is None else ["-m", "ticktree", "run", *under]
    done = subprocess.run(
        [sys.executable, *prefix, str(WORKLOAD / script), *arguments],
        cwd=folder,
        env=environment(folder, **variables),
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == status, done.stderr
    return Raced(folder, done.stdout, done.stderr)
