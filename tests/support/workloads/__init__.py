"""Run a workload's script in a process and a folder of its own, and read what it leaves."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import ticktree

WORKLOADS = Path(__file__).parents[3] / "workloads"
# The modules that each workload's tests import.
REQUIRED = {
    "mlagents_trainer": ("gymnasium", "grpc", "mlagents", "mlagents_envs", "torch"),
    "parallel_trainer": ("gymnasium", "mujoco", "torch"),
    "ppo_single_file": ("gymnasium", "torch"),
    "rest_racing": ("aiohttp", "Box2D", "gymnasium", "PIL", "pygame", "requests", "torch"),
    "rgb_convlstm": ("PIL", "gymnasium", "sb3_contrib", "stable_baselines3", "torch"),
    "rtc_robot": ("gym_aloha", "lerobot", "mujoco", "tokenizers", "torch", "torchvision", "transformers"),
    "visual_sac": ("cv2", "gymnasium", "psutil", "pygame", "torch"),
}


def missing(workload):
    """The modules that a workload needs and that are not installed."""
    return [name for name in REQUIRED[workload] if importlib.util.find_spec(name) is None]


class Ended(NamedTuple):
    """A run that has ended."""

    folder: Path
    stdout: str
    stderr: str

    def profile(self):
        (run,) = (self.folder / "ticktree-runs").glob("*-*")
        profile = ticktree.load(run)
        profile.check()
        return profile


def environment(folder, **variables):
    other_variables = {name: value for name, value in os.environ.items() if not name.startswith("TICKTREE")}
    return {**other_variables, "TICKTREE_MEMORY_DIR": str(folder), **variables}


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
