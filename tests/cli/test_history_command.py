"""`ticktree history`, as its users meet it."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
from contextlib import closing

import pytest

from support.command_line import CommandLine, assert_one_clear_line

# The clock is the test's own: every run is as long as the program says, and the noise is that of its number.
PROGRAM = """
import random, sys
import ticktree
noise = random.Random(sys.argv[1])
recorder = ticktree.Recorder(virtual_clock=True)
ticks_ns = 1_000_000
for tick in recorder.loop("train", range(40)):
    with recorder.section("sample"):
        recorder.advance(int(ticks_ns * SLOWER * noise.uniform(0.98, 1.02)))
    with recorder.section("update"):
        recorder.advance(int(9 * ticks_ns * noise.uniform(0.99, 1.01)))
"""
# Runs of that, as `ticktree run` would have left them.
KEEP = """
import sys, dataclasses
from ticktree.run.finishing import RunDirectory
from ticktree.run.facts import describe_program
from pathlib import Path
source, first, count = Path("train.py"), int(sys.argv[1]), int(sys.argv[2])
code = compile(source.read_text(), "train.py", "exec")
for number in range(first, first + count):
    run = RunDirectory.create("train", argv=["train.py"])
    run.describe(describe_program(["train.py"], Path.cwd()))
    sys.argv = ["train.py", str(number)]
    names = {}
    exec(code, names)
    facts = {key: frozenset([value]) for key, value in run.manifest.metadata.items()}
    profile = dataclasses.replace(names["recorder"].snapshot(), metadata=facts)
    run.finish()
    (run.path / "profile.json").write_text(profile.to_json())
"""


def commit(here, message: str, slower: str) -> str:
    here.write("train.py", f"SLOWER = {slower}\n{PROGRAM}")
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    for words in (["add", "train.py"], ["commit", "-qm", message]):
        subprocess.run([*git, *words], cwd=here.directory, check=True)
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=here.directory, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def keep(here, first: int, count: int) -> None:
    done = here.python("keep.py", str(first), str(count))
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A repository with two commits, eight runs of each, of which the second made sampling three times as slow."""
    here = CommandLine(tmp_path_factory.mktemp("made"))
    subprocess.run(["git", "init", "-q", "."], cwd=here.directory, check=True)
    here.write("keep.py", KEEP)
    commit(here, "Sample from memory", "1")
    keep(here, 0, 8)
    here.culprit = commit(here, "Sample from the disk", "3")
    keep(here, 8, 8)
    return here


@pytest.fixture
def slowed(made, tmp_path):
    """A copy of it, to do with as a test likes."""
    shutil.copytree(made.directory, tmp_path / "copy")
    here = CommandLine(tmp_path / "copy")
    here.culprit = made.culprit
    return here


@pytest.mark.slow
def test_it_names_the_commit_that_made_it_slower_and_by_how_much(slowed):
    done = slowed.ticktree("history", "--width", "120")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^train.py .* 16 runs", done.stdout, re.MULTILINE)
    assert re.search(r"^train \(loop\) +▁\S+█? +slower +\+(19|20)\.\d% ", done.stdout, re.MULTILINE)
    changes = done.stdout.partition("\nchanges")[2]
    for section in ("train ", "train/sample "):
        assert re.search(rf"^{section} *{slowed.culprit[:9]} ", changes, re.MULTILINE), changes
    assert changes.count("Sample from the disk") == 2
    assert "train/update" not in done.stdout


@pytest.mark.slow
def test_one_section_is_drawn_over_the_runs(slowed):
    done = slowed.ticktree("history", "--node", "train/sample", "--width", "80")
    assert done.returncode == 0, done.stderr
    picture = done.stdout.partition("sections")[0]
    assert picture.count("●") == 16
    assert f"^ {slowed.culprit[:9]}" in picture
    assert max(map(len, picture.splitlines())) <= 80


@pytest.mark.slow
def test_it_can_fail_on_a_regression_and_accept_it(slowed):
    failed = slowed.ticktree("history", "--fail-on", "regression")
    assert failed.returncode == 1
    assert re.search(
        rf"^regression: train \+\S+ \(\S+ to \S+\) at {slowed.culprit[:9]}: .* → .*, train.py",
        failed.stderr,
        re.MULTILINE,
    )
    assert f"to accept it: --accept {slowed.culprit[:9]}" in failed.stderr
    accepted = slowed.ticktree("history", "--fail-on", "regression", "--accept", slowed.culprit[:9])
    assert accepted.returncode == 0, accepted.stderr
    assert "accepted" in accepted.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--accept", ""), "'' is not the beginning of a commit's name"),
        (("--accept", "main"), "'main' is not the beginning of a commit's name"),
        (("--threshold", "nan"), "nan is not a percentage"),
        (("--threshold", "inf"), "inf is not a percentage"),
    ],
)
def test_no_slip_of_the_pen_lets_every_regression_pass(slowed, words, said):
    assert_one_clear_line(slowed.ticktree("history", "--fail-on", "regression", *words), said)


@pytest.mark.slow
def test_a_burst_of_slow_runs_fails_nothing_and_what_lasts_does(slowed):
    source = (slowed.directory / "train.py").read_text()
    slowed.write("train.py", source.replace("SLOWER = 3", "SLOWER = 6"))
    keep(slowed, 16, 2)
    calm = slowed.ticktree("history", "--node", "train/sample", "--fail-on", "regression", "--last", "10")
    assert calm.returncode == 0, calm.stderr
    slowed.write("train.py", source)
    keep(slowed, 18, 8)
    slowed.write("train.py", source.replace("SLOWER = 3", "SLOWER = 6"))
    keep(slowed, 26, 3)
    asked = ("history", "--node", "train/sample", "--fail-on", "regression", "--last", "21")
    assert (
        slowed.ticktree(*asked).returncode == 0
    )  # three runs: as long as a burst may be that follows one of two
    keep(slowed, 29, 1)
    failed = slowed.ticktree(*(asked[:-1]), "22")
    assert failed.returncode == 1
    assert "regression: train/sample" in failed.stderr


def test_what_cannot_be_told_is_no_regression(slowed):
    done = slowed.ticktree("history", "--fail-on", "regression", "--last", "6")
    assert done.returncode == 0, done.stderr
    assert "too few runs" in done.stdout


@pytest.mark.slow
def test_runs_are_remembered_though_their_directories_are_deleted(slowed):
    before = json.loads(slowed.ticktree("history", "--format", "json").stdout)
    for run in slowed.runs():
        shutil.rmtree(run)
    after = json.loads(slowed.ticktree("history", "--format", "json").stdout)
    assert after == before
    assert len(after["series"][0]["runs"]) == 16


@pytest.mark.parametrize(
    ("name", "begins"), [("h.html", b"<!doctype html>"), ("h.md", b"# ticktree history")]
)
def test_a_files_name_says_its_format(slowed, name, begins):
    done = slowed.ticktree("history", "-o", name)
    assert done.returncode == 0, done.stderr
    written = (slowed.directory / name).read_bytes()
    assert written.startswith(begins)
    assert slowed.culprit[:9].encode() in written


@pytest.mark.slow
@pytest.mark.parametrize(("form", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_it_is_drawn_as_a_picture_too(slowed, form, begins):
    pytest.importorskip("matplotlib")
    done = slowed.ticktree("history", "-o", f"h.{form}")
    assert done.returncode == 0, done.stderr
    assert (slowed.directory / f"h.{form}").read_bytes().startswith(begins)


@pytest.mark.slow
def test_a_run_is_remembered_at_its_end_unless_that_is_not_wished(here):
    here.write("program.py")
    assert here.ticktree("run", "--quiet", "--no-history", "program.py").returncode == 0
    database = here.directory / "ticktree-runs" / "history.sqlite"
    assert not database.exists()
    done = here.ticktree("run", "--quiet", "program.py")
    assert (done.returncode, done.stderr) == (0, "")
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT directory FROM runs").fetchall() == [(here.runs()[1].name,)]
    # The other is taken in as soon as somebody asks.
    document = json.loads(here.ticktree("history", "--format", "json").stdout)
    assert [run["directory"] for run in document["series"][0]["runs"]] == [run.name for run in here.runs()]


def test_a_history_that_cannot_be_written_is_said_once_and_changes_no_exit_status(here):
    here.write("program.py", "import sys; sys.exit(7)")
    (here.directory / "ticktree-runs").mkdir()
    (here.directory / "ticktree-runs" / "history.sqlite").write_bytes(b"no database" * 100)
    done = here.ticktree("run", "program.py")
    assert done.returncode == 7
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("ticktree: ")]
    assert "the run is not in the history yet" in line
    assert "is damaged" in line


@pytest.mark.slow
def test_a_damaged_or_newer_history_is_one_clear_line(slowed):
    database = slowed.directory / "ticktree-runs" / "history.sqlite"
    assert slowed.ticktree("history").returncode == 0
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA user_version = 9")
    assert_one_clear_line(slowed.ticktree("history"), "newer ticktree", "format is 9")
    database.write_bytes(b"no database" * 100)
    assert_one_clear_line(slowed.ticktree("history"), "is damaged", "move it away")
    database.unlink()
    assert slowed.ticktree("history").returncode == 0


def test_where_it_cannot_be_written_the_runs_are_shown_all_the_same(slowed):
    (slowed.directory / "ticktree-runs" / "history.sqlite").symlink_to("/nowhere/history.sqlite")
    done = slowed.ticktree("history")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Not kept for later:") == 1
    assert "16 runs" in done.stdout


def test_a_damaged_run_is_named_and_the_others_are_shown(slowed):
    (slowed.runs()[3] / "profile.json").write_text("{}")
    done = slowed.ticktree("history")
    assert done.returncode == 0, done.stderr
    assert f"Not in the history: {slowed.runs()[3].name}: " in done.stderr
    assert "15 runs" in done.stdout


@pytest.mark.slow
def test_what_is_not_there_is_one_clear_line(slowed):
    assert_one_clear_line(slowed.ticktree("history", "nowhere"), "no run in nowhere yet")
    assert_one_clear_line(slowed.ticktree("history", "--node", "train/sampel"), "did you mean train/sample?")
    assert_one_clear_line(slowed.ticktree("history", "--name", "other"), "no run called other")
