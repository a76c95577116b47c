"""Processes that ticktree starts next to the program; of them, the one that folds.

Programs may end their children without ending Python: by `os._exit`, or by a signal. Under `ticktree run` the
supervisor folds, and a process that ends well folds for the others. Where neither happens, memory files pile up: then
a process that begins to record starts this one. It is no child of the program's, so that the program neither waits for
it nor learns of its end, and it holds none of the program's files.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ticktree.recorder import OFF_VARIABLE
from ticktree.run.memory import LOCK_NAME, open_lock

if TYPE_CHECKING:
    from ticktree.run.directory import RunFiles

# How far what is ours stands back behind the program, where both want the same core: `os.nice`. The supervisor ends
# the run as soon as the program is over.
SUPERVISOR = 5
# What only reads a run: no user waits for a single read.
ONLOOKER = 10
# As often as a supervisor looks.
_EVERY_S = 2.0
# The shell goes at once, and what it has started is the system's child.
_ORPHAN = '"$@" &'


def environment() -> dict[str, str]:
    """The environment of a process of ours: the program's, so that the same libraries are found.

    It uses no device, needs no threads, and is not recorded.
    """
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    whole = {"PYTHONPATH": os.pathsep.join(str(Path(path).absolute()) for path in paths if path)}
    alone = {OFF_VARIABLE: "1", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    return {**os.environ, **(whole if any(paths) else {}), **alone}


def fold_aside(run: RunFiles) -> None:
    """Start a process that folds, unless the run has a supervisor or one was started a moment ago.

    If it cannot be started, the program continues, and the files stay until another process folds them.
    """
    with suppress(Exception):
        if not run.is_supervised() and _is_time(run.memory_dir):
            _start(run.path)


def _is_time(memory: Path) -> bool:
    """Whether none was started a moment ago: the lock's time of change tells."""
    with suppress(FileNotFoundError):
        if abs(time.time() - (memory / LOCK_NAME).stat().st_mtime) < _EVERY_S:
            return False
    fd = open_lock(memory)
    try:
        os.utime(fd)
    finally:
        os.close(fd)
    return True


def _start(run: Path) -> None:
    # Not `os.posix_spawn` and not `subprocess`, whose calls are recorded and led into the run.
    from posix import posix_spawn

    words = ["sh", "-c", _ORPHAN, "sh", sys.executable, "-P", "-m", __name__, os.fspath(run)]
    null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in range(3)]
    ours = [(os.POSIX_SPAWN_CLOSE, int(fd)) for fd in os.listdir("/proc/self/fd") if int(fd) > 2]  # noqa: PTH208
    with _end_untold():
        shell = posix_spawn(
            "/bin/sh", words, environment(), file_actions=[*null, *ours], setsigmask=(), setpgroup=0
        )
        os.waitpid(shell, 0)


@contextmanager
def _end_untold() -> Iterator[None]:
    """Keeps from the program's handler that a child has ended."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    try:
        yield
    finally:
        if signal.SIGCHLD not in before and signal.SIGCHLD in signal.sigpending():
            signal.sigwait([signal.SIGCHLD])
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def main(path: str) -> None:
    """Be that process."""
    from ticktree.run.directory import RunFiles
    from ticktree.run.folding import fold_if_many

    os.nice(ONLOOKER)
    with suppress(Exception):  # there is no reader for an error, and the run is complete either way
        fold_if_many(RunFiles.join(Path(path)))


if __name__ == "__main__":
    main(*sys.argv[1:])
