"""Runs the trainer's script in a process of its own, and finds what it leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import ticktree
from support.workloads import WORKLOADS

SHORT = ("--workers", "1", "--steps", "600", "--patient")


class Ended(NamedTuple):
    """A run that is over."""

    folder: Path
    status: int
    stdout: str
    stderr: str

    @property
    def timers_file(self):
        return self.folder / "results" / "ppo" / "run_logs" / "timers.json"

    def timers(self):
        return json.loads(self.timers_file.read_text())

    def profile(self):
        (run,) = (self.folder / "ticktree-runs").glob("*-*")
        profile = ticktree.load(run)
        profile.check()
        return profile


def run_trainer(folder, *arguments, under=(), status=0):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TICKTREE")}
    done = subprocess.run(
        [sys.executable, *under, str(WORKLOADS / "mlagents_trainer" / "train.py"), *arguments],
        cwd=folder,
        env={**kept, "TICKTREE_MEMORY_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == status, done.stderr
    return Ended(folder, done.returncode, done.stdout, done.stderr)


def below(tree, *names):
    """The timer at the end of a path of names."""
    for name in names:
        tree = tree["children"][name]
    return tree


def shape(tree):
    """Names, nesting, counts and which timers ran in parallel, but no times."""
    children = {name: shape(child) for name, child in tree.get("children", {}).items()}
    return {"count": tree["count"], "is_parallel": tree.get("is_parallel", False), "children": children}


def without_counts(tree):
    """Names and nesting alone."""
    return {name: without_counts(child) for name, child in tree.get("children", {}).items()}
