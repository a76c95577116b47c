"""Runs a workload's script in a process and a folder of its own, and finds what it leaves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import ticktree


class Ended(NamedTuple):
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


def run_script(folder, script, *arguments, under=None, status=0, **variables):
    """`under`: the options of `ticktree run`; None for a run without it."""
    prefix = [] if under is None else ["-m", "ticktree", "run", *under]
    done = subprocess.run(
        [sys.executable, *prefix, str(script), *arguments],
        cwd=folder,
        env=environment(folder, **variables),
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == status, done.stderr
    return Ended(folder, done.stdout, done.stderr)
