"""What every workload has, for `make`, `ticktree demo` and readers to find."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.workloads import missing

ROOT = Path(__file__).parents[2]
SCRIPTS = ("train.py", "eval.py", "eval_with_robot.py", "ppo.py")  # one of which `ticktree demo` runs
WORKLOADS = sorted(path for path in (ROOT / "workloads").iterdir() if path.is_dir())


def _pins(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict(re.fullmatch(r"([\w-]+)(?:\[\w+\])?==(.+)", line).groups() for line in lines if "==" in line)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda path: path.name)
def test_a_workload_has_a_script_its_requirements_tests_and_both_pages(workload):
    assert any((workload / script).exists() for script in SCRIPTS)
    for path in (
        workload / "requirements.txt",
        workload / "README.md",
        ROOT / "docs" / "workloads" / f"{workload.name}.md",
        ROOT / "tests" / "workloads" / workload.name,
    ):
        assert path.exists()


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda path: path.name)
def test_what_a_workload_needs_is_installed_or_its_tests_are_reported_as_skipped(workload):
    absent = missing(workload.name)
    if absent:
        pytest.skip(f"{workload.name} is not tested: {', '.join(absent)} not installed")


def test_all_workloads_without_a_place_of_their_own_can_be_installed_together():
    together = [workload for workload in WORKLOADS if not (workload / "install.sh").exists()]
    requirements = (workload / "requirements.txt" for workload in together)
    chosen = [_pins(path) for path in (ROOT / "constraints.txt", *requirements)]
    for name in {name for pins in chosen for name in pins}:
        assert len({pins[name] for pins in chosen if name in pins}) == 1
    assert {"torch", "gymnasium"} <= set(chosen[1])
