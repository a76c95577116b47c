"""Programs under `ticktree run`, with the libraries that they use recorded by themselves."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from types import ModuleType

import pytest

import ticktree
from ticktree.run.finishing import RunDirectory

# Long enough for libraries that take a second to import where a busy machine makes that a minute.
SECONDS = 400

BEGIN = "import multiprocessing, os, queue, sys, threading, time, ticktree\n"


def pytest_collection_modifyitems(items):
    """Programs of slow tests import large libraries, some twice."""
    for item in items:
        if item.get_closest_marker("slow") and "recorded" in item.fixturenames:
            item.add_marker(pytest.mark.timeout(2 * SECONDS + 100))


@pytest.fixture
def recorded(tmp_path):
    """Runs a program and gives its profile; its parts that must run in the first process only are in `main()`."""

    def run(program, *options, status=0):
        memory = tmp_path / "memory"
        memory.mkdir(exist_ok=True)
        script = tmp_path / "program.py"
        ending = "\nif __name__ == '__main__':\n    main()\n"
        script.write_text(BEGIN + textwrap.dedent(program) + ending)
        environment = {**os.environ, "TICKTREE_MEMORY_DIR": str(memory)}
        command = [
            sys.executable,
            "-m",
            "ticktree",
            "run",
            "--quiet",
            "--name",
            "program",
            *options,
            str(script),
        ]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == status, done.stderr
        assert list(memory.glob("*/*")) == []
        profile = RunDirectory.newest(tmp_path / "ticktree-runs").profile()
        profile.check()
        run.output, run.complaints = done.stdout, done.stderr
        return profile

    return run


@pytest.fixture
def install(monkeypatch):
    """Instruments what a library's modules are made up of, and gives the recorder."""
    recorder, installed = ticktree.Recorder(), []

    def make(instrument, modules):
        for name, things in modules.items():
            module = ModuleType(name)
            monkeypatch.setitem(sys.modules, name, module)
            for thing in things:
                setattr(module, thing.__name__, thing)
        recorder.enable()
        instrument.install(recorder)
        installed.append(instrument)
        return recorder

    yield make
    for instrument in installed:
        instrument.uninstall()
    recorder.disable()


@pytest.fixture
def losses(monkeypatch):
    """What could not be instrumented."""
    reported = []
    monkeypatch.setattr("ticktree.instruments.losses.report", reported.append)
    return reported
