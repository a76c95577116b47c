"""Job control on a terminal: a supervised program behaves like a plain one."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.job_shell import Shell
from support.supervised import PLAIN, SUPERVISED

Start = Callable[..., Shell]


# One write a line: others write to the same terminal.
PREAMBLE = """
import os, signal, sys, time
def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())
"""


@pytest.fixture(params=[PLAIN, SUPERVISED], ids=["plain", "supervised"])
def start(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Start]:
    """Start a program as a job on a terminal; `around` is a shell script with `PROGRAM` in it."""
    shells = []

    def start(source: str, around: str | None = None) -> Shell:
        script = tmp_path / "program.py"
        script.write_text(PREAMBLE + source)
        command = [*request.param, sys.executable, str(script)]
        if around is not None:
            command = ["sh", "-c", around.replace("PROGRAM", shlex.join(command))]
        shells.append(Shell(command))
        return shells[-1]

    yield start
    for shell in shells:
        shell.close()


def test_the_program_leads_its_own_group_in_the_foreground(start: Start) -> None:
    shell = start("say(os.getpid() == os.getpgrp() == os.tcgetpgrp(0), os.isatty(0), os.isatty(1))")
    assert "True True True" in shell.expect("[exited 0]")


def test_the_program_reads_typed_input(start: Start) -> None:
    shell = start("say('you said', input('name? '))")
    shell.expect("name? ")
    shell.type("Ada\n")
    shell.expect("you said Ada")
    shell.expect("[exited 0]")


def test_ctrl_c_reaches_the_program_once(start: Start) -> None:
    shell = start("""
count = 0
def interrupted(*_):
    global count
    count += 1
signal.signal(signal.SIGINT, interrupted)
say('ready')
while not count:
    time.sleep(0.01)
time.sleep(0.3)
say('interrupted', count)
sys.exit(5)
""")
    shell.expect("ready")
    shell.type("\x03")
    shell.expect("interrupted 1")
    shell.expect("[exited 5]")


def test_an_unhandled_ctrl_c_kills_by_sigint_with_the_programs_own_traceback(start: Start) -> None:
    shell = start("say('ready'); time.sleep(1000)")
    shell.expect("ready")
    shell.type("\x03")
    output = shell.expect("[killed SIGINT]")
    assert output.count("Traceback") == 1
    assert "program.py" in output
    assert "KeyboardInterrupt" in output


def test_ctrl_backslash_kills_by_sigquit(start: Start) -> None:
    shell = start("say('ready'); time.sleep(1000)")
    shell.expect("ready")
    shell.type("\x1c")
    shell.expect("[killed SIGQUIT]")


def test_ctrl_z_stops_and_fg_continues(start: Start) -> None:
    shell = start("say('ready'); line = input(); say('after', line)")
    shell.expect("ready")
    program = shell.foreground()
    for _ in range(3):
        shell.type("\x1a")
        shell.expect("[stopped SIGTSTP]")
        shell.type("fg\n")
        shell.expect("[fg]")
        shell.await_running(program)
    shell.type("hello\n")
    shell.expect("after hello")
    shell.expect("[exited 0]")


def test_a_program_continued_in_the_background_runs_until_it_wants_the_terminal(start: Start) -> None:
    shell = start("""
say('ready')
while os.tcgetpgrp(0) == os.getpgrp():
    time.sleep(0.01)
say('in the background')
say('got', input())
""")
    shell.expect("ready")
    shell.type("\x1a")
    shell.expect("[stopped SIGTSTP]")
    shell.type("bg\n")
    shell.expect("in the background")
    shell.expect("[stopped SIGTTIN]")
    shell.type("fg\n")
    shell.expect("[fg]")
    shell.type("it\n")
    shell.expect("got it")
    shell.expect("[exited 0]")


def test_a_program_that_stops_itself_can_be_continued(start: Start) -> None:
    shell = start("os.kill(0, signal.SIGTSTP); say('went on')")
    shell.expect("[stopped SIGTSTP]")
    shell.type("fg\n")
    shell.expect("went on")
    shell.expect("[exited 0]")


def test_ctrl_z_also_stops_the_script_that_started_the_program(start: Start) -> None:
    # The script may stop first: if the program still read, it would get what is typed for the shell.
    shell = start(
        """
continued = []
signal.signal(signal.SIGCONT, lambda *_: continued.append(1))
say('ready')
while not continued:
    time.sleep(0.01)
say('got', input())
""",
        around="PROGRAM; echo then $?",
    )
    shell.expect("ready")
    shell.type("\x1a")
    shell.expect("[stopped SIGTSTP]")
    shell.type("fg\n")
    shell.expect("[fg]")
    shell.type("it\n")
    shell.expect("got it")
    shell.expect("then 0")


def test_a_program_in_a_pipeline_can_read_the_terminal(start: Start) -> None:
    shell = start("say('ready'); say('got', input())", around="PROGRAM | cat")
    shell.expect("ready")
    shell.type("it\n")
    shell.expect("got it")
    shell.expect("[exited 0]")


def test_a_program_at_the_end_of_a_pipeline_can_read_the_terminal(start: Start) -> None:
    shell = start("say('page'); time.sleep(0.3)", around="PROGRAM | (cat; read key </dev/tty; echo key $key)")
    shell.expect("page")
    shell.type("q\n")
    shell.expect("key q")
    shell.expect("[exited 0]")


def test_ctrl_c_reaches_a_program_in_a_pipeline_once_and_its_children_too(start: Start) -> None:
    shell = start(
        """
count = 0
def interrupted(*_):
    global count
    count += 1
signal.signal(signal.SIGINT, interrupted)
born, tell = os.pipe()
child = os.fork()
if child:
    os.read(born, 1)
    say('ready')
else:
    os.write(tell, b'!')
while not count:
    time.sleep(0.01)
time.sleep(0.3)
if child:
    os.waitpid(child, 0)
say('parent' if child else 'child', 'interrupted', count)
""",
        around="trap '' INT; PROGRAM | cat",
    )
    # The script's own shell ignores Ctrl-C, and so would all it starts, had the program not said otherwise.
    shell.expect("ready")
    shell.type("\x03")
    output = shell.expect("[exited 0]")
    assert "child interrupted 1" in output
    assert "parent interrupted 1" in output


def test_ctrl_z_stops_a_pipeline(start: Start) -> None:
    shell = start(
        """
continued = []
signal.signal(signal.SIGCONT, lambda *_: continued.append(1))
say('ready')
while not continued:
    time.sleep(0.01)
say('went on')
""",
        around="PROGRAM | cat",
    )
    shell.expect("ready")
    shell.type("\x1a")
    shell.expect("[stopped SIGTSTP]")
    shell.type("fg\n")
    shell.expect("went on")
    shell.expect("[exited 0]")
