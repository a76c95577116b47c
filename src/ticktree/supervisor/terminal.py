"""The controlling terminal and signals: the requests of the keyboard and the shell to the program."""

from __future__ import annotations

import os
import select
import signal
import stat
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any


class Terminal:
    """The terminal we were started from; if there is none, every method works and does nothing."""

    def __init__(self) -> None:
        try:
            self._fd: int | None = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
        except OSError:
            self._fd = None

    def close(self) -> None:
        """Close our descriptor; the process group in the foreground keeps the terminal."""
        if self._fd is not None:
            os.close(self._fd)

    def holder(self) -> int | None:
        """Return the process group in the foreground, which may read and gets Ctrl-C; None without a terminal."""
        if self._fd is None:
            return None
        try:
            return os.tcgetpgrp(self._fd)
        except OSError:  # It has hung up.
            return None

    def is_ours(self) -> bool:
        """Return whether our own process group is in the foreground."""
        return self.holder() == os.getpgrp()

    def give(self, group: int) -> bool:
        """Put a process group into the foreground, and return whether that was possible."""
        if self._fd is None:
            return False
        # Unless it is blocked, a process in the background gets SIGTTOU for this call, which stops it.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
        try:
            os.tcsetpgrp(self._fd, group)
        except OSError:
            return False
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return True


def in_a_pipeline() -> bool:
    """Return whether a standard stream is a pipe, whose other end may be in our group and need the terminal."""
    return any(_is_pipe(fd) for fd in (0, 1, 2))


def _is_pipe(fd: int) -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(fd).st_mode)
    except OSError:  # It is closed.
        return False


_FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGSYS}
_LIMITS_AND_TIMERS = {signal.SIGPIPE, signal.SIGXCPU, signal.SIGXFSZ, signal.SIGPROF, signal.SIGVTALRM}
# Not caught: signals that cannot be; those that our own faults, limits and timers raise; and those by which the
# terminal stops a process in the background, which must stop us like any other.
_NOT_CAUGHT = {signal.SIGKILL, signal.SIGSTOP, *_FAULTS, *_LIMITS_AND_TIMERS, signal.SIGTTIN, signal.SIGTTOU}

_Handler = Callable[[int, "FrameType | None"], Any] | int | None


class SignalInbox:
    """Collects every signal that can be caught, as a number, while it is open.

    Python writes each signal's number to a pipe the moment it arrives, so one that arrives just before
    `wait` wakes it, and none is lost between two calls.

    Attributes:
        ignored: The signals that were ignored when we were started, as SIGHUP is under nohup.
    """

    def __init__(self) -> None:
        self._signals: list[int] = []
        self._read_fd, self._write_fd = os.pipe()
        os.set_blocking(self._read_fd, False)
        os.set_blocking(self._write_fd, False)
        self._previous_fd = signal.set_wakeup_fd(self._write_fd, warn_on_full_buffer=False)
        self._handlers: dict[int, _Handler] = {}
        for number in signal.valid_signals() - _NOT_CAUGHT:
            self._handlers[number] = signal.signal(number, _do_nothing)
        self.ignored = [number for number, handler in self._handlers.items() if handler is signal.SIG_IGN]

    def close(self) -> None:
        """Restore the previous signal handlers."""
        for number, handler in self._handlers.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        signal.set_wakeup_fd(self._previous_fd)
        os.close(self._read_fd)
        os.close(self._write_fd)

    def wait(self, timeout_s: float) -> list[int]:
        """Return the signals since the last call, in order; if there are none, wait up to `timeout_s` for one."""
        if not self._signals:
            select.select([self._read_fd], [], [], timeout_s)
        self._fetch()
        signals, self._signals = self._signals, []
        return signals

    def take(self, number: int) -> bool:
        """Return whether a signal has arrived, and remove it; the others stay for `wait`."""
        self._fetch()
        has_arrived = number in self._signals
        self._signals = [other for other in self._signals if other != number]
        return has_arrived

    def _fetch(self) -> None:
        with suppress(BlockingIOError):
            self._signals += os.read(self._read_fd, 4096)


def _do_nothing(number: int, frame: FrameType | None) -> None:
    """Do nothing: Python writes to the pipe only for signals that have a handler."""
