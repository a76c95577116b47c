"""Processes that ticktree starts next to the program, and one of them: the folding process.

Programs may end their children by `os._exit` or a signal, which skips Python's exit handlers. Under `ticktree run`
the supervisor folds, and a process that ends normally folds the other files. Otherwise memory files accumulate: then a
process that begins to record starts this process. It is not a child of the program, so that the program neither waits
for it nor notices its end, and it has none of the program's files open.
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

# How much lower than the program's priority ours are (`os.nice`). The supervisor finishes the run as soon as the
# program has ended.
SUPERVISOR_NICENESS = 5
# For processes that only read a run: no user waits for a single read.
READER_NICENESS = 10
# The interval at which a supervisor looks for finished files.
_INTERVAL_S = 2.0
# The shell ends immediately, and init adopts the process that it started.
_ORPHAN_COMMAND = '"$@" &'


def environment() -> dict[str, str]:
    """Return the environment of a helper process: the program's, so that it finds the same libraries.

    The helper uses no device and one thread, and is not recorded.
    """
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    variables = {**os.environ, OFF_VARIABLE: "1", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    if any(paths):
        variables["PYTHONPATH"] = os.pathsep.join(str(Path(path).absolute()) for path in paths if path)
    return variables


def start_folding(run: RunFiles) -> None:
    """Start a folding process, unless the run has a supervisor or one was started a moment ago.

    If it cannot be started, the files stay until another process folds them.
    """
    with suppress(Exception):
        if not run.is_supervised() and _is_due(run.memory_dir):
            _spawn_orphan(run.path)


def _is_due(memory_dir: Path) -> bool:
    """Return whether no folding process was started a moment ago, by the lock's modification time."""
    with suppress(FileNotFoundError):
        if abs(time.time() - (memory_dir / LOCK_NAME).stat().st_mtime) < _INTERVAL_S:
            return False
    fd = open_lock(memory_dir)
    try:
        os.utime(fd)
    finally:
        os.close(fd)
    return True


def _spawn_orphan(run: Path) -> None:
    # Not `os.posix_spawn` or `subprocess`: ticktree records their calls, and their children join the run.
    from posix import posix_spawn

    command = ["sh", "-c", _ORPHAN_COMMAND, "sh", sys.executable, "-P", "-m", __name__, os.fspath(run)]
    open_null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in range(3)]
    open_fds = filter(lambda fd: fd > 2, map(int, os.listdir("/proc/self/fd")))  # noqa: PTH208
    actions = [*open_null, *((os.POSIX_SPAWN_CLOSE, fd) for fd in open_fds)]
    with _child_signal_blocked():
        pid = posix_spawn("/bin/sh", command, environment(), file_actions=actions, setsigmask=(), setpgroup=0)
        os.waitpid(pid, 0)


@contextmanager
def _child_signal_blocked() -> Iterator[None]:
    """Keep the SIGCHLD of a child from the program's handler."""
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    try:
        yield
    finally:
        if signal.SIGCHLD not in previous and signal.SIGCHLD in signal.sigpending():
            signal.sigwait([signal.SIGCHLD])
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def main(path: str) -> None:
    """Run as the folding process."""
    from ticktree.run.directory import RunFiles
    from ticktree.run.folding import fold_if_many

    os.nice(READER_NICENESS)
    with suppress(Exception):  # an error would have no reader, and the run is complete either way
        fold_if_many(RunFiles.join(Path(path)))


if __name__ == "__main__":
    main(*sys.argv[1:])
