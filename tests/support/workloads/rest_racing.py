"""Runs the scripts of the race, small."""

from __future__ import annotations

from support.workloads import WORKLOADS, run_script

SMALL = ["--models", "2", "--lesson", "3", "--epochs", "1", "--frames", "2"]
FOCUS = ["--focus", "Driver.step", "--depth", "4"]


def run_race(folder, *arguments, script="eval.py", **options):
    return run_script(folder, WORKLOADS / "rest_racing" / script, *arguments, **options)
