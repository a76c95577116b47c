from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

import ticktree


@pytest.fixture
def recorder():
    """A recorder on a virtual clock; whatever a test did to it, its accounts must add up at the end."""
    recorder = ticktree.Recorder(virtual_clock=True)
    yield recorder
    recorder.snapshot().check()
    recorder.disable()
    recorder.snapshot().check()


@pytest.fixture
def run_python(tmp_path):
    """Runs a program in a process of its own; it must end well, and says what it printed."""

    def run(program, *, status=0, **variables):
        environment = {**os.environ, "TICKTREE_MEMORY_DIR": str(tmp_path), "PYTHONWARNINGS": "error", **variables}
        environment = {name: value for name, value in environment.items() if value is not None}
        script = tmp_path / "program.py"
        script.write_text(textwrap.dedent(program))
        done = subprocess.run(
            [sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100
        )
        assert done.returncode == status, done.stderr
        return done

    return run
