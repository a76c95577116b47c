"""Run a program so that neither it nor the process that started us notices the supervisor between them.

The program gets its own process group, as from a shell, and the terminal with it. Then the supervisor does what a
shell does for a job: it forwards signals to the program, and when the program stops, continues or ends, so does
the supervisor. This module uses no thread, so that the fork below is safe.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from typing import NoReturn

from ticktree.errors import TicktreeError
from ticktree.run.helper_process import SUPERVISOR_NICENESS
from ticktree.supervisor.terminal import SignalInbox, Terminal, in_a_pipeline

# Signals that the keyboard and the window send to every process in the foreground.
_FROM_THE_TERMINAL = {signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGWINCH}
_PR_SET_PDEATHSIG = 1


def supervise(
    command: Sequence[str],
    environment: Mapping[str, str],
    tasks: Callable[[], float] = lambda: 3600.0,
    ended: Callable[[resource.struct_rusage], None] = lambda _: None,
    started: Callable[[int], None] = lambda _: None,
) -> int:
    """Run a program until it ends, and return its status.

    Our standard input and output become the program's: when it closes them, they are closed.

    Args:
        command: The program and its arguments.
        environment: Its complete environment.
        tasks: Called once the program has started, and again after as many seconds as it returns.
        ended: Called once the program has ended, with the resources that it and the children it waited for used.
        started: Called with the program's pid as soon as it has started, while our priority is still the program's.

    Returns:
        The program's status, as `os.waitpid` returns it.

    Raises:
        TicktreeError: The program cannot be started.
    """
    # The other processes of a pipeline are in our group and would lose the terminal with us: there the program gets
    # it when it first needs it.
    at_once = not in_a_pipeline()
    _keep_standard_streams_free()
    with closing(SignalInbox()) as inbox, closing(Terminal()) as terminal:
        try:
            given_terminal = terminal if at_once and terminal.is_ours() else None
            pid = _start(command, environment, given_terminal, inbox.ignored)
        except OSError as error:
            raise TicktreeError(f"cannot start {command[0]}: {error.strerror}") from None
        job = _Job(pid, inbox, terminal, at_once)
        started(pid)
        _step_back()
        try:
            return job.until_end(tasks, ended)
        finally:
            job.hand_back_terminal()


def end_with_status(status: int) -> NoReturn:
    """End this process as the program ended: with its exit status, or by the signal that killed it.

    Args:
        status: What `supervise` returned.

    Raises:
        SystemExit: Always, unless a signal has ended this process.
    """
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        _leave_no_core()
        with suppress(OSError):  # SIGKILL has no handler to reset.
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
        code = 128 - code  # As a shell reports it, if the signal has not killed us.
    raise SystemExit(code)


def _start(
    command: Sequence[str], environment: Mapping[str, str], terminal: Terminal | None, ignored: Iterable[int]
) -> int:
    parent = os.getpid()
    die_with_parent = _parent_death_signal()

    def prepare() -> None:
        os.setpgid(0, 0)
        # Here and not in the parent, or the program could read from the terminal before it is allowed to.
        if terminal is not None:
            terminal.give(os.getpid())
        # We catch them; the program must find them as our parent left them, and may catch them itself.
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
        die_with_parent()
        if os.getppid() != parent:
            os._exit(1)

    # A signal that reaches the child before it has become the program is not lost: the child still writes it to
    # our inbox, and we forward it. The program inherits all inheritable descriptors.
    process = subprocess.Popen(command, env=environment, close_fds=False, preexec_fn=prepare)
    process.returncode = 0  # We wait for its end and its stops ourselves; subprocess must not.
    return process.pid


def _parent_death_signal() -> Callable[[], None]:
    """Return the function that a child calls to die with us on SIGKILL, which we cannot forward; on Linux only."""
    try:
        import ctypes

        prctl = ctypes.CDLL(None).prctl
        prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    except (ImportError, OSError, AttributeError):
        return lambda: None
    return lambda: prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def _keep_standard_streams_free() -> None:
    """Keep our descriptors off the numbers of closed standard streams; the program finds those closed."""
    while (fd := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(fd)


def _step_back() -> None:
    """Lower our priority, and release the program's standard input and output."""
    os.nice(SUPERVISOR_NICENESS)  # We share the cores with the measured program.
    # A reader of the program's output waits for its end, not for ours.
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)


def _leave_no_core() -> None:
    """Disable our core file: it would overwrite the program's."""
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


class _Job:
    """A started program: one process that leads its own process group."""

    def __init__(self, pid: int, inbox: SignalInbox, terminal: Terminal, wants_terminal: bool) -> None:
        self._pid = pid
        self._inbox = inbox
        self._terminal = terminal
        self._wants_terminal = wants_terminal

    def until_end(self, tasks: Callable[[], float], ended: Callable[[resource.struct_rusage], None]) -> int:
        due = 0.0
        while True:
            if time.monotonic() >= due:
                due = tasks() + time.monotonic()
            for number in self._inbox.wait(max(0.0, due - time.monotonic())):
                self._forward(number)
            pid, status, usage = os.wait4(self._pid, os.WNOHANG | os.WUNTRACED)
            if pid and os.WIFSTOPPED(status):
                self._stop_too(os.WSTOPSIG(status))
            elif pid:
                ended(usage)
                return status

    def hand_back_terminal(self) -> None:
        if self._terminal.holder() == self._pid:
            self._terminal.give(os.getpgrp())

    def _forward(self, number: int) -> None:
        if number == signal.SIGCHLD:
            return
        if number == signal.SIGCONT:
            self._continue(self._wants_terminal)
        # While our group has the terminal we get the keyboard's signals in the program's place, and the keyboard
        # signals a whole group. All other signals were sent to one process.
        elif number in _FROM_THE_TERMINAL and self._terminal.is_ours():
            self._signal_group(number)
        else:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self._pid, number)

    def _stop_too(self, number: int) -> None:
        """Stop because the program has stopped, so that our shell notices; then let it continue with us."""
        if number in (signal.SIGTTIN, signal.SIGTTOU) and self._terminal.is_ours():
            # It needs the terminal, which our group still holds because of a pipeline.
            self._continue(with_terminal=True)
            return
        had_terminal = self._terminal.holder() == self._pid
        if number == signal.SIGSTOP and not had_terminal:
            return  # The signal was sent to the program only, and so will SIGCONT be.
        self.hand_back_terminal()
        # SIGSTOP would stop us even if no shell can continue us; the kernel then ignores SIGTSTP.
        own_signal = signal.SIGTSTP if number == signal.SIGSTOP else number
        # The keyboard would have stopped our whole group, in which a script or make may be waiting for us.
        # If so, SIGTSTP would not have stopped the program without us either. A program that stopped because it
        # lacks the terminal stays stopped: continued, it would only stop again.
        if self._stop(own_signal, stop_group=had_terminal) or number == signal.SIGTSTP:
            self._continue(with_terminal=had_terminal)

    def _stop(self, number: int, stop_group: bool) -> bool:
        """Stop by a signal until a SIGCONT, and return whether one arrived."""
        # The other processes of the group may stop, and continue with us, before we have stopped. A SIGCONT that
        # arrives while the signal is pending cancels it; an earlier one is in the inbox.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [number])
        handler = signal.signal(number, signal.SIG_DFL)
        os.kill(0 if stop_group else os.getpid(), number)
        was_continued = self._inbox.take(signal.SIGCONT)
        if was_continued:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(number, handler)
        return self._inbox.take(signal.SIGCONT) or was_continued

    def _continue(self, with_terminal: bool) -> None:
        if with_terminal and self._terminal.is_ours():
            self._terminal.give(self._pid)
        self._signal_group(signal.SIGCONT)

    def _signal_group(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)
