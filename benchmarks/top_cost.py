"""Cost of `ticktree top` for the program: an empty section with and without a real `ticktree top` that reads it.

The program is this process, which records a tree of some size. `ticktree top` runs on its own terminal, as
a user would start it, and is stopped and continued by signals: windows with it and without it alternate.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.report import Absent, Figure, Report
from harness.scratch import recording
from harness.watching import by_name, lines, pairs_of, parsed_options, round_the_tree
from ticktree.run.finishing import RunDirectory

PATIENCE_S = 60.0


class Top:
    """`ticktree top` on a terminal, reading a run as often as it does by default."""

    def __init__(self, run: Path) -> None:
        self._fd, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        environment = {key: value for key, value in os.environ.items() if key != "TICKTREE_RUN"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ticktree", "top", str(run)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**environment, "TERM": "xterm-256color"},
            start_new_session=True,
        )
        os.close(slave)
        os.set_blocking(self._fd, False)
        self._drawn_count, self._was_drawn = 0, False

    def wait_until_it_shows(self, words: bytes) -> None:
        """Wait for the first picture.

        Raises:
            RuntimeError: there is none.
        """
        screen, deadline = b"", time.monotonic() + PATIENCE_S
        while words not in screen:
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise RuntimeError(f"ticktree top shows nothing: {screen[-500:]!r}")
            select.select([self._fd], [], [], 0.1)
            screen += self._read()
            round_the_tree()

    def readings(self) -> int:
        """How often it has drawn; what it drew is taken off the terminal, so that it can draw on."""
        is_drawn = bool(self._read())
        self._drawn_count += is_drawn and not self._was_drawn
        self._was_drawn = is_drawn
        return self._drawn_count

    def attach(self) -> None:
        """Let it go on."""
        self._process.send_signal(signal.SIGCONT)

    def detach(self) -> None:
        """Let it stand still, so that it reads nothing."""
        self._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOWAIT)

    def close(self) -> None:
        """End it."""
        self.attach()
        self._process.terminate()
        deadline = time.monotonic() + PATIENCE_S
        while self._process.poll() is None and time.monotonic() < deadline:
            self._read()
            time.sleep(0.02)
        self._process.kill()
        self._process.wait()
        os.close(self._fd)

    def _read(self) -> bytes:
        try:
            return os.read(self._fd, 1 << 16)
        except (BlockingIOError, OSError):
            return b""


@contextmanager
def watched() -> Iterator[Top]:
    """This process, recording and watched."""
    with recording():
        round_the_tree()
        by_name(1000)
        watcher = Top(RunDirectory.newest().path)
        try:
            watcher.wait_until_it_shows(b"running for")
            yield watcher
        finally:
            watcher.close()


def main() -> None:
    arguments = parsed_options(__doc__)
    pairs = arguments.pairs
    title = f"A section's cost with `ticktree top` watching, by its cost without, {pairs} pairs of windows"
    if importlib.util.find_spec("textual") is None:
        figures: list[Figure | Absent] = [
            Absent("section", "not installed: textual (the extra ticktree[top])")
        ]
    else:
        with watched() as top:
            figures = lines(pairs_of(top, pairs, arguments.seconds), "drawings")
    Report("top_cost", title, figures).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
