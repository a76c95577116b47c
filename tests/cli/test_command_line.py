"""What holds for every command."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import ticktree
from support.command_line import CommandLine, assert_one_clear_line

COMMANDS = ["run", "report", "list", "doctor", "demo"]


def test_without_a_command_the_help_is_shown_with_every_command(here: CommandLine) -> None:
    done = here.ticktree()
    assert done.returncode == 0
    for name in COMMANDS:
        assert f"\n  {name} " in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_help(here: CommandLine, command: str) -> None:
    done = here.ticktree(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Usage: ticktree {command}" in done.stdout


def test_the_version_is_told(here: CommandLine) -> None:
    assert here.ticktree("--version").stdout == f"ticktree {ticktree.__version__}\n"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["nonsense"], "No such command"),
        (["--nonsense"], "No such option"),
        (["run"], "Missing argument"),
        (["run", "--nonsense", "x.py"], "No such option"),
        (["report", "--format", "nonsense"], "nonsense"),
        (["report", "--width", "few"], "few"),
        (["top", ".", "."], "unexpected extra argument"),
    ],
)
def test_a_wrong_command_line_is_one_clear_line(here: CommandLine, words: list[str], complaint: str) -> None:
    assert_one_clear_line(here.ticktree(*words), complaint, "--help")


def test_a_message_cannot_hold_more_than_its_line_or_move_the_cursor(here: CommandLine) -> None:
    done = here.ticktree("report", "no\nsuch\x1b[31mrun")
    assert_one_clear_line(done, "no such")
    assert "\x1b" not in done.stderr


def test_files_of_the_working_directory_are_not_taken_for_what_ticktree_imports(here: CommandLine) -> None:
    for name in ("select", "click", "signal", "rich", "numpy", "json"):
        here.write(f"{name}.py", "raise SystemExit('imported the wrong file')")
    here.write("script.py", "print('ran')")
    # The program, as under plain Python, sees its own directory first: the recorder in it must not need
    # these names.
    done = here.ticktree("report")
    assert_one_clear_line(done, "no run in ticktree-runs yet")


def test_a_reader_that_has_had_enough_is_no_error(here: CommandLine) -> None:
    here.write("train.py")
    here.ticktree("run", "--quiet", "train.py")
    command = f"'{sys.executable}' -m ticktree report --format json | head -c 1"
    done = subprocess.run(
        command, shell=True, cwd=here.directory, env=here.env, capture_output=True, text=True
    )
    assert done.stdout == "{"
    assert done.stderr == ""


def test_a_stream_that_cannot_say_it_gets_question_marks(here: CommandLine) -> None:
    here.write("train.py", "import ticktree\nwith ticktree.section('prüfen'): pass")
    here.env["PYTHONIOENCODING"] = "ascii"
    done = here.ticktree("run", "train.py")
    assert done.returncode == 0
    assert "pr?fen" in done.stderr


@pytest.mark.parametrize("closed", [1, 2])
def test_closed_standard_streams_are_no_error(here: CommandLine, closed: int) -> None:
    here.write("train.py", "import ticktree\nwith ticktree.section('x'): pass")
    done = here.ticktree("run", "train.py", preexec_fn=lambda: os.close(closed))
    assert done.returncode == 0
    assert len(here.runs()) == 1
