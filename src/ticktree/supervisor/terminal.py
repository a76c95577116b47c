"""The controlling terminal: which process group its keyboard belongs to."""

from __future__ import annotations

import os
import signal
import stat


class Terminal:
    """The terminal we were started from; where there is none, every method works and does nothing."""

    def __init__(self) -> None:
        try:
            self._fd: int | None = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
        except OSError:
            self._fd = None

    def close(self) -> None:
        """Close our way to it; it stays with whom it was given to."""
        if self._fd is not None:
            os.close(self._fd)

    def holder(self) -> int | None:
        """The process group in the foreground: it may read, and Ctrl-C goes to it."""
        if self._fd is None:
            return None
        try:
            return os.tcgetpgrp(self._fd)
        except OSError:  # It has hung up.
            return None

    def is_ours(self) -> bool:
        """Whether this process's own group is in the foreground."""
        return self.holder() == os.getpgrp()

    def give(self, group: int) -> bool:
        """Put a process group into the foreground; whether that was possible."""
        if self._fd is None:
            return False
        # To a process in the background this call means SIGTTOU, which stops it, unless it is blocked.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
        try:
            os.tcsetpgrp(self._fd, group)
        except OSError:
            return False
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return True


def in_a_pipeline() -> bool:
    """Whether a standard stream is a pipe: its other end may be in our group and need the terminal."""
    return any(_is_pipe(fd) for fd in (0, 1, 2))


def _is_pipe(fd: int) -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(fd).st_mode)
    except OSError:  # It is closed.
        return False
