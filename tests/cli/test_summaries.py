"""`ticktree run --summary-every`: the tree on standard error while the program runs."""

from __future__ import annotations

import os
import pty
import signal
import sys
import termios
import threading

import pytest

from support.command_line import CommandLine, assert_one_clear_line
from ticktree.cli.screen import show_at_once

LOOPS = """
import sys, threading, ticktree
for _ in ticktree.loop("train"):
    with ticktree.section("sample"):
        if sys.stdin in __import__("select").select([sys.stdin], [], [], 0.01)[0]:
            break
print("threads", threading.active_count(), len(__import__("os").listdir("/proc/self/task")))
"""


@pytest.mark.slow
def test_the_tree_is_printed_while_the_program_runs_and_the_program_gets_no_thread(here: CommandLine) -> None:
    here.write("train.py", LOOPS)
    plain = here.python("train.py", input="")
    program = here.start("run", "--summary-every", "0.3", "train.py")
    seen: list[str] = []
    while sum("sample" in line for line in seen) < 3:  # three summaries of a program that still runs
        seen.append(program.stderr.readline())
        assert seen[-1], seen
    output, _ = program.communicate("\n", timeout=500)
    assert program.returncode == 0
    assert output == plain.stdout
    assert any(line.startswith("--- ") and "-train ---" in line for line in seen)


def test_it_is_silent_without_the_option(here: CommandLine) -> None:
    here.write("train.py", LOOPS)
    done = here.ticktree("run", "--quiet", "train.py", input="\n")
    assert done.stderr == ""


@pytest.mark.parametrize("value", ["0", "-3", "nan", "inf", "x"])
def test_a_time_that_is_none_is_refused(here: CommandLine, value: str) -> None:
    here.write("train.py")
    assert_one_clear_line(here.ticktree("run", "--summary-every", value, "train.py"), "--summary-every")
    assert here.runs() == []


def test_to_be_quiet_and_to_print_is_refused(here: CommandLine) -> None:
    here.write("train.py")
    done = here.ticktree("run", "--quiet", "--summary-every", "5", "train.py")
    assert_one_clear_line(done, "--quiet", "--summary-every")


def test_on_a_terminal_the_whole_block_is_written_at_once(tmp_path) -> None:
    master, slave = pty.openpty()
    written: list[int] = []
    block = ("x" * 79 + "\n").encode() * 20
    real = os.write

    def noted(fd: int, data: bytes) -> int:
        written.append(len(data))
        return real(fd, data)

    with os.fdopen(slave, "w") as stream:
        os.write = noted
        try:
            show_at_once(block, stream)
        finally:
            os.write = real
    assert written == [len(block)]
    os.close(master)


def test_a_terminal_that_lets_only_its_program_write_does_not_stop_the_one_who_prints(tmp_path) -> None:
    pid, fd = pty.fork()
    if pid == 0:
        attributes = termios.tcgetattr(1)
        attributes[3] |= termios.TOSTOP
        termios.tcsetattr(1, termios.TCSANOW, attributes)
        child = os.fork()
        if child == 0:  # in the background, as a supervisor is
            os.setpgid(0, 0)
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            show_at_once(b"a block\n", sys.__stdout__)
            os._exit(0)
        _, status = os.waitpid(child, os.WUNTRACED)
        os._exit(0 if os.WIFEXITED(status) else 1)
    seen = b""
    while True:
        try:
            seen += os.read(fd, 4096)
        except OSError:
            break
    os.close(fd)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert b"a block" in seen


def test_a_pipe_that_nobody_reads_is_not_waited_for() -> None:
    read_fd, write_fd = os.pipe()
    with os.fdopen(write_fd, "w") as stream:
        done = threading.Event()

        def print_much() -> None:
            for _ in range(3):
                show_at_once(b"x" * 1_000_000, stream)
            done.set()

        thread = threading.Thread(target=print_much, daemon=True)
        thread.start()
        assert done.wait(60)
        assert os.read(read_fd, 10) == b"x" * 10
    os.close(read_fd)


def test_a_reader_who_has_gone_is_no_reason_to_fail() -> None:
    read_fd, write_fd = os.pipe()
    os.close(read_fd)
    with os.fdopen(write_fd, "w") as stream:
        show_at_once(b"anything\n", stream)
    show_at_once(b"anything\n", None)
