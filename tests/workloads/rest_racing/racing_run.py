"""Runs the scripts of the race, small."""

from __future__ import annotations

from racing_workload import WORKLOAD
from running import run_script

SMALL = ["--models", "2", "--lesson", "3", "--epochs", "1", "--frames", "2"]
FOCUS = ["--focus", "Driver.step", "--depth", "4"]


def run_race(folder, *arguments, script="eval.py", **options):
    return run_script(folder, WORKLOAD / script, *arguments, **options)
