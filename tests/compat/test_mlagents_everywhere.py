"""The one import that puts ticktree's timers in the place of the toolkit's, here with a toolkit of two modules."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.fixture
def run_with_a_toolkit(tmp_path):
    toolkit = tmp_path / "mlagents_envs"
    toolkit.mkdir()
    (toolkit / "__init__.py").touch()
    (toolkit / "timers.py").write_text("timed = 'its own'\n")
    (toolkit / "environment.py").write_text("from mlagents_envs.timers import timed\n")

    def run(program):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TICKTREE")}
        path = os.pathsep.join([str(tmp_path), *filter(None, [environment.get("PYTHONPATH")])])
        command = [sys.executable, "-c", program]
        return subprocess.run(
            command,
            cwd=tmp_path,
            env={**environment, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_whoever_imports_the_toolkits_timers_afterwards_has_ticktrees(run_with_a_toolkit):
    result = run_with_a_toolkit("""
import ticktree.compat.mlagents.everywhere
import mlagents_envs.environment, ticktree.compat.mlagents
from mlagents_envs import timers
assert timers is ticktree.compat.mlagents
assert mlagents_envs.environment.timed is ticktree.compat.mlagents.timed
import importlib
importlib.reload(ticktree.compat.mlagents.everywhere)  # twice is once
""")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_where_somebody_has_the_toolkits_already_it_says_so(run_with_a_toolkit):
    result = run_with_a_toolkit(
        "import mlagents_envs.environment\nimport ticktree.compat.mlagents.everywhere"
    )
    assert result.returncode == 1
    last_line = result.stderr.splitlines()[-1]
    assert last_line.startswith("ImportError: ticktree.compat.mlagents.everywhere comes too late")


def test_the_module_is_the_packages_attribute_too(run_with_a_toolkit):
    result = run_with_a_toolkit("""
import ticktree.compat.mlagents.everywhere
import mlagents_envs.timers
assert mlagents_envs.timers.timed is ticktree.compat.mlagents.timed
""")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_the_installed_release_says_how_the_tree_is_written(run_with_a_toolkit, tmp_path):
    (tmp_path / "mlagents_envs-0.13.1.dist-info").mkdir()
    (tmp_path / "mlagents_envs-0.13.1.dist-info" / "METADATA").write_text(
        "Name: mlagents-envs\nVersion: 0.13.1\n"
    )
    result = run_with_a_toolkit("""
import ticktree.compat.mlagents.everywhere
from mlagents_envs.timers import get_timer_tree, hierarchical_timer
with hierarchical_timer("step"):
    pass
assert get_timer_tree()["children"][0]["name"] == "step"
""")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
