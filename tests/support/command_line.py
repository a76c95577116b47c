"""Run ticktree as its users do: as a command, in a separate directory."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from ticktree.cli import main

# A program that records a little and says so.
RECORDS = """
import sys, ticktree
for _ in ticktree.loop("train", range(5), warmup=0):
    with ticktree.section("sample"):
        pass
ticktree.gauge("depth", 3)
print("done", *sys.argv[1:])
"""


class CommandLine:
    """A working directory with programs and runs in it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("TICKTREE", "NO_COLOR"))}
        # Runs of other tests are nobody's business here.
        self.env["TICKTREE_MEMORY_DIR"] = str(directory)
        # And so is what somebody has measured of this machine.
        self.env["XDG_CACHE_HOME"] = str(directory / "cache")

    def write(self, name: str, source: str = RECORDS) -> Path:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
        return path

    def ticktree(self, *words: str, **options: object) -> subprocess.CompletedProcess[str]:
        return self.python("-m", "ticktree", *words, **options)

    def python(self, *words: str, **options: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *words]
        options = {"cwd": self.directory, "env": self.env, "capture_output": True, "text": True, **options}
        return subprocess.run(command, timeout=500, **options)

    def start(self, *words: str) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        command = [sys.executable, "-m", "ticktree", *words]
        return subprocess.Popen(
            command, cwd=self.directory, env=self.env, stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )

    def runs(self) -> list[Path]:
        return sorted((self.directory / "ticktree-runs").glob("*-*"))

    def memory(self) -> list[Path]:
        return sorted(self.directory.glob("ticktree-[0-9]*/*"))


def program_of(supervisor: int) -> int:
    """Return the process of the program that `ticktree run` has started, by that command's process.

    The command may have other children: it asks `uname` and git about the run, and uploads have their own process.
    """
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text(encoding="ascii").split()
    [program] = (pid for pid in map(int, children) if _is_job(pid, os.getsid(supervisor)))
    return program


def _is_job(pid: int, session: int) -> bool:
    """Return whether a process leads a process group of its own in a session, like what a shell starts."""
    try:
        return os.getpgid(pid) == pid and os.getsid(pid) == session
    except ProcessLookupError:  # it has ended since
        return False


def assert_one_clear_line(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert done.stderr.startswith("ticktree: ")
    assert done.stderr.count("\n") == 1, done.stderr
    for word in words:
        assert word in done.stderr


def run_in_process(*words: str) -> tuple[object, str, str]:
    """Run a command in the test's own process, for tests of a thousand commands.

    Returns its exit status, standard output and standard error; raises what ends it in a traceback.
    """
    out, err = io.StringIO(), io.StringIO()
    with patch.object(sys, "argv", ["ticktree", *words]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            return ended.code or 0, out.getvalue(), err.getvalue()
    raise AssertionError("main returned")
