"""The game's server as a process of ours."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .server import LISTENING

SCRIPT = Path(__file__).parents[1] / "server.py"
_SECONDS_TO_END = 10


@contextmanager
def game_server(*, server_timing: bool) -> Iterator[str]:
    """Start a server, and end it afterwards; what comes out is its address.

    Raises:
        RuntimeError: It did not start.
    """
    command = [sys.executable, str(SCRIPT), "--or-any-port", "--until-stdin-ends"]
    if not server_timing:
        command.append("--no-server-timing")
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line.startswith(LISTENING):
            raise RuntimeError(f"the game's server did not start: it ended with status {process.wait()}")
        yield f"http://127.0.0.1:{int(line.removeprefix(LISTENING))}"
    finally:
        process.stdin.close()  # which tells it to end, as our own end would
        try:
            process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
