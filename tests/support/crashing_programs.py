"""Programs that crash, with and without ticktree, and the profiles that they leave."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

from ticktree.run.finishing import RunDirectory
from ticktree.run.sweep import finish_abandoned

TIMEOUT_S = 500
HARMLESS = {"nodes_caught_in_a_write"}


class Sandbox:
    """A directory for programs, with memory of its own.

    Args:
        path: The directory.
        memory: Where memory directories are made; by default in it.
    """

    def __init__(self, path: Path, memory: Path | None = None) -> None:
        self.path = path
        self.memory = path / "memory" if memory is None else memory
        self.memory.mkdir(exist_ok=True)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("TICKTREE")},
            "TICKTREE_MEMORY_DIR": str(self.memory),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def write(self, program: str, name: str = "program.py") -> Path:
        script = self.path / name
        script.write_text(textwrap.dedent(program))
        return script

    def command(self, program: str, supervised: bool = True) -> list[str]:
        script = self.write(program)
        how = ["-m", "ticktree", "run", "--quiet"] if supervised else []
        return [sys.executable, *how, str(script)]

    def run(self, command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        options = {"cwd": self.path, "env": self.environment, "timeout": TIMEOUT_S, **options}
        return subprocess.run(command, capture_output=True, text=True, **options)

    def both(self, program: str, **options: object) -> subprocess.CompletedProcess[str]:
        """Runs a program without ticktree and with it; what it prints and how it ends must be the same."""
        command = self.command(program)
        off = {**self.environment, "TICKTREE_OFF": "1"}
        plain = self.run(self.command(program, supervised=False), env=off, **options)
        recorded = self.run(command, **options)
        assert recorded.returncode == plain.returncode, recorded.stderr
        assert recorded.stdout == plain.stdout
        assert recorded.stderr == plain.stderr
        return recorded

    def profile(self, losses: frozenset[str] = frozenset(HARMLESS)):
        """The newest run's profile, as any reader gets it."""
        profile = RunDirectory.newest(self.path / "ticktree-runs").profile()
        profile.check()
        assert set(profile.losses) <= losses
        return profile

    def wait_for_the_dead(self) -> RunDirectory:
        """The newest run, once none of its processes is alive: the killed take a moment to die."""
        run = RunDirectory.newest(self.path / "ticktree-runs")
        until = time.monotonic() + TIMEOUT_S
        while run.is_live():
            assert time.monotonic() < until, "somebody is still alive"
            time.sleep(0.01)
        return run

    def left_in_memory(self) -> list[str]:
        return sorted(path.name for path in self.memory.glob("*/*"))

    def sweep(self, monkeypatch) -> None:
        """What the next ticktree command does first."""
        monkeypatch.setenv("TICKTREE_MEMORY_DIR", str(self.memory))
        finish_abandoned()


def counts(profile) -> dict[str, int]:
    return {path: node.count for path, _, node in profile.root.walk() if path}
