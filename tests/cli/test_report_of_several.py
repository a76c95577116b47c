"""`ticktree report RUN RUN ...`: variants of a program side by side."""

from __future__ import annotations

import pytest

from support.command_line import CommandLine, assert_one_clear_line

PROGRAM = """
import sys, ticktree
recorder = ticktree.Recorder(virtual_clock=True)
for tick in recorder.loop("train", range(100), hz=50):
    with recorder.section("sample"):
        recorder.advance(int(sys.argv[1]) * 1_000_000)
open(sys.argv[2], "w").write(recorder.snapshot().to_json())
"""


@pytest.fixture
def runs(here: CommandLine) -> CommandLine:
    here.write("program.py", PROGRAM)
    for milliseconds, name in (("4", "fast.json"), ("8", "slow.json")):
        assert here.python("program.py", milliseconds, name).returncode == 0
    return here


def test_several_runs_stand_side_by_side(runs: CommandLine) -> None:
    done = runs.ticktree("report", "fast.json", "slow.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("2 runs side by side   fast   slow\n")
    line = next(line for line in done.stdout.splitlines() if line.strip().startswith("sample"))
    assert line.split()[1:] == ["4.00", "ms", "8.00", "ms"]


@pytest.mark.parametrize(("name", "begins"), [("v.html", "<!doctype"), ("v.md", "# 2 runs side by side")])
def test_a_files_name_says_its_format(runs: CommandLine, name: str, begins: str) -> None:
    done = runs.ticktree("report", "fast.json", "slow.json", "-o", name)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (runs.directory / name).read_text().startswith(begins)


@pytest.mark.parametrize("form", ["json", "text", "png", "svg"])
def test_a_format_that_shows_one_run_says_so(runs: CommandLine, form: str) -> None:
    done = runs.ticktree("report", "fast.json", "slow.json", "--format", form)
    assert_one_clear_line(done, form, "one run", "terminal, markdown, html")


def test_columns_of_one_runs_processes_are_not_for_several(runs: CommandLine) -> None:
    assert_one_clear_line(runs.ticktree("report", "fast.json", "slow.json", "--by", "thread"), "--by")


def test_one_that_is_not_there_is_named(runs: CommandLine) -> None:
    assert_one_clear_line(runs.ticktree("report", "fast.json", "none.json"), "none.json")
