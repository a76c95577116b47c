"""`ticktree bench`, as its users meet it."""

from __future__ import annotations

import json
import sys

import pytest

from support.command_line import assert_one_clear_line

# Sleeping is what a busy machine only makes longer, and here so much of it that this cannot hide which is slower.
SLEEPS = """
import sys, time, ticktree
for _ in ticktree.loop("train", range(3)):
    with ticktree.section("sleep"):
        time.sleep(float(sys.argv[1]))
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_programs_run_in_turn_until_they_are_told_apart(here):
    here.write("sleeps.py", SLEEPS)
    done = here.ticktree(
        "bench", "sleeps.py 0.01", f"{sys.executable} sleeps.py 0.5", "--pairs", "12", "--format", "json"
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["unit"] == "pairs"
    verdicts = {entry["path"]: entry["verdict"] for entry in document["entries"] if entry["kind"] == "node"}
    assert verdicts["train/sleep"] == "slower"
    (place,) = (here.directory / "ticktree-runs").glob("*-bench")
    runs = [len(list((place / side).glob("*/profile.json"))) for side in "ab"]
    assert runs[0] == runs[1] < 12  # it stopped early
    assert f"{runs[0]} pairs kept in" in done.stderr


@pytest.mark.slow
def test_a_program_that_fails_ends_it_with_one_line(here):
    here.write("fails.py", "print('what went wrong'); raise SystemExit(3)")
    done = here.ticktree("bench", "fails.py", "fails.py", "--pairs", "2")
    assert_one_clear_line(done, "status 3", "output.txt")
    (log,) = here.directory.glob("ticktree-runs/*-bench/a/output.txt")
    assert "what went wrong" in log.read_text()


@pytest.mark.slow
def test_what_is_no_command_is_refused(here):
    assert_one_clear_line(here.ticktree("bench", "'", "x.py"), "is not a command")
    assert_one_clear_line(here.ticktree("bench", "python", "x.py"), "ticktree run SCRIPT")
