"""`ticktree top` on a terminal, beside a real program."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import sys
import termios
import time

import pytest

from support.command_line import CommandLine, assert_one_clear_line, program_of

pytest.importorskip("textual")

LOOPS = """
import sys, time, ticktree
until = time.monotonic() + 500
for _ in ticktree.loop("control", hz=200, pace=True):
    with ticktree.section("[red]\\x1b]0;evil\\x07"):
        pass
    ticktree.gauge("depth", 3)
    if time.monotonic() > until:
        break
"""
# A moment is long on a machine that has other things to do.
PATIENCE_S = 500.0


class Terminal:
    """A terminal with `ticktree top` on it."""

    def __init__(self, here: CommandLine, *words: str, columns: int = 100, lines: int = 30) -> None:
        self.pid, self.fd = os.forkpty()
        if self.pid == 0:
            os.chdir(here.directory)
            size = struct.pack("HHHH", lines, columns, 0, 0)
            fcntl.ioctl(0, termios.TIOCSWINSZ, size)
            env = {**here.env, "TERM": "xterm-256color"}
            os.execve(sys.executable, [sys.executable, "-m", "ticktree", "top", *words], env)
        self.seen = ""

    def read(self, within_s: float) -> bool:
        """Take in what was printed; whether the terminal is still open."""
        if select.select([self.fd], [], [], within_s)[0]:
            try:
                self.seen += os.read(self.fd, 65536).decode(errors="replace")
            except OSError:
                return False
        return True

    def expect(self, text: str) -> str:
        """All that was printed up to `text`, without what only moves and paints."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in plain(self.seen):
            assert self.read(1.0), f"the terminal closed before {text!r}: {plain(self.seen)!r}"
            assert time.monotonic() < deadline, f"no {text!r} in {plain(self.seen)!r}"
        before, _, _ = plain(self.seen).partition(text)
        self.seen = ""
        return before

    def type(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def end(self) -> int:
        """Read to the end, and return how it ended."""
        deadline = time.monotonic() + PATIENCE_S
        while self.read(1.0):
            assert time.monotonic() < deadline, plain(self.seen)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def plain(text: str) -> str:
    """What is on a terminal's screen, as far as words are concerned."""
    text = re.sub(r"\x1b\[[0-9;?<>=]*[ -/]*[@-~]", "", text)
    return re.sub(r"\x1b[()][A-Z0-9]|\x1b[=>78]", "", text)


@pytest.mark.slow
def test_it_shows_rates_while_the_program_runs_and_says_when_it_has_ended(here: CommandLine) -> None:
    here.write("loops.py", LOOPS)
    program = here.start("run", "--quiet", "loops.py")
    while not here.runs() or not here.memory():
        time.sleep(0.05)
    top = Terminal(here, "--every", "0.2")
    top.expect("running for")
    top.expect(" /s")
    top.expect("200 Hz")
    os.kill(program_of(program.pid), signal.SIGKILL)
    program.communicate(timeout=PATIENCE_S)
    top.expect("run ended, killed by SIGKILL")
    top.type("s")  # it goes on hearing keys
    top.expect("rate")
    top.type("q")
    assert top.end() == 0
    assert "\x1b[?1049l" in top.seen  # the terminal is as it was


@pytest.mark.slow
def test_names_that_would_move_the_cursor_are_shown_as_what_they_are(here: CommandLine) -> None:
    here.write("script.py", "import ticktree\nwith ticktree.section('[red]\\x1b]0;evil\\x07'): pass")
    here.ticktree("run", "--quiet", "script.py")
    top = Terminal(here)
    assert "\x1b]0;evil" not in top.seen
    top.expect("[red]\\x1b]0;evil\\x07")
    top.type("q")
    assert top.end() == 0
    assert "\x07" not in top.seen


@pytest.mark.slow
def test_a_finished_run_and_a_saved_profile_are_shown_as_such(here: CommandLine) -> None:
    here.write("train.py")
    here.ticktree("run", "--quiet", "train.py")
    here.ticktree("report", "-o", "saved.json")
    for words, said in (
        ((), "finished run, exit status 0"),
        ((str(here.runs()[0]),), "finished run"),
        (("saved.json",), "saved"),
    ):
        top = Terminal(here, *words)
        top.expect(said)
        top.type("q")
        assert top.end() == 0


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_whatever_ends_it_the_terminal_is_left_as_it_was(here: CommandLine, number: int) -> None:
    here.write("train.py")
    here.ticktree("run", "--quiet", "train.py")
    top = Terminal(here)
    top.expect("finished run")
    os.kill(top.pid, number)
    assert top.end() == 0
    assert "\x1b[?1049l" in top.seen


@pytest.mark.slow
def test_it_gives_way_to_everything_else_on_the_machine(here: CommandLine) -> None:
    here.write("train.py")
    here.ticktree("run", "--quiet", "train.py")
    top = Terminal(here)
    top.expect("finished run")
    assert os.getpriority(os.PRIO_PROCESS, top.pid) >= 10
    top.type("q")
    top.end()


def test_without_textual_one_line_says_how_to_get_it(here: CommandLine) -> None:
    here.write("train.py")
    here.ticktree("run", "--quiet", "train.py")
    here.write("blocked/textual/__init__.py", "raise ModuleNotFoundError('gone', name='textual')")
    here.env["PYTHONPATH"] = os.pathsep.join(
        [str(here.directory / "blocked"), here.env.get("PYTHONPATH", "")]
    )
    top = Terminal(here)
    assert top.end() == 2
    assert top.seen.strip() == "ticktree: top needs textual: python -m pip install 'ticktree[top]'"


@pytest.mark.slow
def test_what_cannot_be_watched_is_one_clear_line(here: CommandLine) -> None:
    here.write("bad.json", "[]")
    for words, said in (((), "no run"), (("missing",), "no such file"), (("bad.json",), "bad.json: profile")):
        top = Terminal(here, *words, columns=300)
        assert top.end() == 2
        assert top.seen.startswith("ticktree: ")
        assert said in top.seen
        assert top.seen.count("\n") == 1


def test_it_is_only_for_terminals(here: CommandLine) -> None:
    assert_one_clear_line(here.ticktree("top"), "needs a terminal", "ticktree report")


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "x", "1e9"])
def test_times_that_cannot_be_waited_for_are_refused(here: CommandLine, value: str) -> None:
    for option in ("--every", "--last"):
        assert_one_clear_line(here.ticktree("top", option, value), option)
