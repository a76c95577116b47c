"""Ray clusters on this machine: slow to start, so as many tests as possible share one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ticktree import Profile, load

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """Runs a program under `ticktree run`; returns its profile, and the JSON in the last line of its output."""
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    # Ray's own files; sockets in them have names of at most 107 characters.
    monkeypatch.setenv("TMPDIR", os.environ.get("TMPDIR", "/tmp"))

    def run(name: str, *args: str, under: bool = True) -> tuple[Profile, dict]:
        out = tmp_path / "runs"
        before = ["-m", "ticktree", "run", "--quiet", "--out", str(out)] if under else []
        done = subprocess.run(
            [sys.executable, *before, str(PROGRAMS / name), *args],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=400,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        output = json.loads(done.stdout.strip().splitlines()[-1])
        (run_dir,) = (
            path for path in (out if under else tmp_path / "ticktree-runs").iterdir() if path.is_dir()
        )
        profile = load(run_dir)
        profile.check()
        return profile, output

    return run
