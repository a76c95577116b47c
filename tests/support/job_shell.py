"""A shell with a single job, for tests of job control: it runs on a new terminal, and the test drives the other end.

Run as a program it starts its arguments as a foreground job and says on the terminal what becomes of it;
while the job is stopped it takes `fg` and `bg`. `Shell` is the test's hand on it.
"""

from __future__ import annotations

import os
import pty
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


class Shell:
    """A terminal with a job on it."""

    def __init__(self, command: list[str], env: dict[str, str] | None = None) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(sys.executable, [sys.executable, __file__, *command], env or dict(os.environ))
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def expect(self, text: str, within_s: float = 500.0) -> str:
        """All that was printed up to and with `text`; what follows is left for the next call."""
        deadline = time.monotonic() + within_s
        while text not in self.seen:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise AssertionError(f"no {text!r} in {self.seen!r}")
            try:
                more = os.read(self.fd, 4096)
            except OSError:
                more = b""
            if not more:
                raise AssertionError(f"the terminal closed before {text!r}: {self.seen!r}")
            self.seen += more.decode(errors="replace")
        before, _, self.seen = self.seen.partition(text)
        return before + text

    def foreground(self) -> int:
        """The process group that has the terminal."""
        return os.tcgetpgrp(self.fd)

    def await_running(self, group: int) -> None:
        """Wait until a group has the terminal and runs: a Ctrl-Z before its SIGCONT would be discarded."""
        while self.foreground() != group or "T" in states_of(group):
            time.sleep(0.01)

    def close(self) -> None:
        os.close(self.fd)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def states_of(group: int) -> Iterator[str]:
    """The states of a process group's members, as the kernel abbreviates them."""
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdecimal() and os.getpgid(int(entry.name)) == group:
                yield (entry / "stat").read_text().rpartition(")")[2].split()[0]


def run_job(command: list[str]) -> None:
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execvp(command[0], command)
    while True:
        _, status = os.waitpid(pid, os.WUNTRACED)
        os.tcsetpgrp(0, os.getpgrp())
        if not os.WIFSTOPPED(status):
            break
        # As shells do: who is continued before it has stopped would stop after that, and for good.
        while not all(state in "TZX" for state in states_of(pid)):
            time.sleep(0.01)
        print(f"[stopped {signal.Signals(os.WSTOPSIG(status)).name}]", flush=True)
        answer = sys.stdin.readline().strip()
        if answer == "fg":
            os.tcsetpgrp(0, pid)
        os.killpg(pid, signal.SIGCONT)
        print(f"[{answer}]", flush=True)
    if os.WIFSIGNALED(status):
        print(f"[killed {signal.Signals(os.WTERMSIG(status)).name}]", flush=True)
    else:
        print(f"[exited {os.WEXITSTATUS(status)}]", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    run_job(sys.argv[1:])
