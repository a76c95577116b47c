"""Runs the trainer's script in a process of its own, and finds what it leaves."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from trainer_workload import WORKLOAD

import ticktree

SCRIPT = str(WORKLOAD / "train.py")


class Ended(NamedTuple):
    """A run that is over."""

    folder: Path
    status: int
    stdout: str
    stderr: str

    def number(self, pattern):
        """The number that the output says there."""
        return int(re.search(pattern, self.stdout)[1])

    @property
    def fingerprint(self):
        return re.search(r"sha256 (\w+)", self.stdout)[1]

    def profile(self):
        (run,) = (self.folder / "ticktree-runs").glob("*-*")
        profile = ticktree.load(run)
        profile.check()
        return profile


def environment(folder, **variables):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TICKTREE")}
    return {**kept, "TICKTREE_MEMORY_DIR": str(folder), **variables}


def run_trainer(folder, *arguments, recorded=True, status=0, **variables):
    prefix = ["-m", "ticktree", "run", "--quiet"] if recorded else []
    done = subprocess.run(
        [sys.executable, *prefix, SCRIPT, *arguments],
        cwd=folder,
        env=environment(folder, **variables),
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == status, done.stderr
    return Ended(folder, done.returncode, done.stdout, done.stderr)
