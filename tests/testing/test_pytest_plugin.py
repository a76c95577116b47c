"""The fixture `ticktree_check`, in test runs of their own."""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

import pytest

import ticktree

# pytester makes this process forget what a test imports, and numpy cannot be imported twice.
from ticktree.run.reading import image, reader  # noqa: F401

pytest_plugins = ["pytester"]

# Ticks are counted rather than timed where that will do: a busy machine changes no count.
PROGRAM = """
    import time, ticktree

    def run(ticks=20, busy_ms=0.0, hz=None):
        for tick in ticktree.loop("control", range(ticks), hz=hz, warmup=0):
            with ticktree.section("act"):
                time.sleep(busy_ms / 1000)
"""


@pytest.fixture
def outcome(pytester, monkeypatch):
    """Runs a test file against the program, and says how pytest ended."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("TICKTREE_RUN", raising=False)
    pytester.makepyfile(program=PROGRAM)

    def run(tests, *words):
        pytester.makepyfile(test_it="from program import run\nimport pytest, ticktree\n" + tests)
        return pytester.runpytest_subprocess("-p", "ticktree.testing.plugin", *words, timeout=500)

    return run


HOLDS = """
def test_holds(ticktree_check):
    with ticktree_check({"control": {"ticks": 20, "mean": "1 h"}}) as checked:
        run()
    assert checked.profile.loops["control"].ticks == 20
    assert [result.status for result in checked.checked.results] == ["pass", "pass"]
"""

BREAKS = """
def test_breaks(ticktree_check):
    with ticktree_check({"control": {"ticks": 20}, "act": {"max": "1 ns", "mean": "1 h"}}):
        run()
"""


def test_a_budget_that_holds_passes(outcome):
    outcome(HOLDS).assert_outcomes(passed=1)


def test_a_broken_budget_fails_naming_itself_and_showing_the_tree(outcome):
    done = outcome(BREAKS)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        [
            "*with ticktree_check(*",
            "E*AssertionError: 1 of 3 budgets failed",
            "E*fail: control/act max: *, budget <= 1 ns",
            "*Captured ticktree call*",
            "1 of 3 budgets failed",
            "*control/act max*fail*",
            "?─ act *",
        ]
    )
    assert "ticktree/testing" not in done.stdout.str()  # its inside is nobody's business


def test_a_number_that_was_not_measured_fails(outcome):
    done = outcome(
        """
def test_missed(ticktree_check):
    with ticktree_check({"control": {"missed": 0}}):
        run()
"""
    )
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["E*not measured: control missed: it has no target rate*"])


def test_without_an_argument_the_budgets_are_the_projects(outcome, pytester):
    pytester.makepyprojecttoml('[tool.ticktree.budgets]\ncontrol = {ticks = "<= 10"}\n')
    done = outcome(
        """
def test_project(ticktree_check):
    with ticktree_check():
        run(ticks=11)
"""
    )
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["E*fail: control ticks: 11, budget <= 10"])


def test_each_check_sees_what_ran_in_it_and_nothing_else(outcome):
    done = outcome(
        """
def test_apart(ticktree_check):
    run(ticks=3)
    for ticks in (5, 7):
        with ticktree_check({"control": {"ticks": f"{ticks} to {ticks}"}}):
            run(ticks=ticks)
        run(ticks=11)
    assert not ticktree.section("x").recorder.recording

def test_apart_from_the_other(ticktree_check):
    with ticktree_check({"control": {"ticks": "2 to 2"}}):
        run(ticks=2)
"""
    )
    done.assert_outcomes(passed=2)


RENAMED = """
def test_before(ticktree_check):
    with ticktree_check({"inference": {"p99": "1 s"}, "control": {"incomplete": "<= 0"}}):
        with ticktree.section("inference"):
            run(ticks=3)

def test_after(ticktree_check):
    with ticktree_check({"inference": {"calls": "<= 10"}}):
        with ticktree.section("infer"):
            pass
"""


def test_a_section_that_was_renamed_is_not_found_in_what_an_earlier_test_recorded(outcome):
    done = outcome(RENAMED)
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["*nothing in this run is called 'inference'*"])


def test_a_pattern_finds_only_what_its_own_block_recorded(outcome):
    done = outcome(
        """
def test_train(ticktree_check):
    with ticktree_check({"inference": {"p99": "1 s"}}):
        with ticktree.section("train"), ticktree.section("inference"):
            pass

def test_serve(ticktree_check):
    for name in ("inference", "s*/inference", "**/inference"):
        with ticktree_check({name: {"calls": "1 to 1"}}):
            with ticktree.section("serve"), ticktree.section("inference"):
                pass
"""
    )
    done.assert_outcomes(passed=2)


def test_a_program_that_records_by_itself_goes_on_recording(outcome, pytester):
    done = outcome(
        """
ticktree.enable()

def test_enabled(ticktree_check):
    run(ticks=3)
    with ticktree_check({"control": {"ticks": "2 to 2"}}):
        run(ticks=2)
    assert ticktree.section("x").recorder.recording
"""
    )
    done.assert_outcomes(passed=1)


def test_threads_are_seen_and_other_threads_cannot_check_at_once(outcome):
    done = outcome(
        """
import threading

def test_threads(ticktree_check):
    with ticktree_check({"**/work": {"calls": ">= 1"}}):
        def work():
            with ticktree.section("work"):
                pass
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

def test_nested(ticktree_check):
    with ticktree_check({"control": {"ticks": 1}}):
        run()
        with pytest.raises(ticktree.TicktreeError, match="do not nest"):
            with ticktree_check({"control": {"ticks": 1}}):
                pass
"""
    )
    done.assert_outcomes(passed=2)


def test_a_test_that_fails_by_itself_fails_by_that_and_shows_the_tree(outcome):
    done = outcome(
        """
def test_fails(ticktree_check):
    with ticktree_check({"control": {"ticks": 100}}):
        run()
        raise ValueError("its own")

def test_skips(ticktree_check):
    with ticktree_check({"control": {"ticks": 100}}):
        pytest.skip("not here")

def test_after_it(ticktree_check):
    with ticktree_check({"control": {"ticks": 1}}):
        run()
"""
    )
    done.assert_outcomes(failed=1, skipped=1, passed=1)
    done.stdout.fnmatch_lines(["E*ValueError: its own", "*Captured ticktree call*", "?─ act *"])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ('{"control": {"mised": 0}}', "*BudgetError: ticktree_check: control.mised: *did you mean 'missed'*"),
        ('{"nowhere": {"mean": "1 s"}}', "*BudgetError: ticktree_check: nowhere.mean: nothing in this run*"),
        ("", "*BudgetError: ticktree_check: there is no budget*"),
    ],
)
def test_a_bad_budget_fails_in_one_line(outcome, call, words):
    done = outcome(f"def test_it(ticktree_check):\n    with ticktree_check({call}):\n        run()\n")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines([f"E{words}"])


@pytest.mark.slow
def test_the_tree_of_a_check_that_held_is_shown_where_more_is_asked_for(outcome):
    assert "control" not in outcome(HOLDS).stdout.str()
    done = outcome(HOLDS, "-v")
    done.stdout.fnmatch_lines(["*ticktree: test_it.py::test_holds*", "all 2 budgets passed", "*act*"])


# What was recorded is what the test says was: on a clock of its own no machine is too slow.
AS_SAID = """
from ticktree.testing.check import current

current.snapshot = lambda: ticktree.load("said.json")

def test_it(ticktree_check):
    with ticktree_check({"act": {"calls": ">= 1"}}):
        pass
"""


def say(pytester, ms):
    """Write what the inner test will have recorded: ticks of so many milliseconds."""
    noise = random.Random(ms)
    recorder = ticktree.Recorder(virtual_clock=True)
    for _ in recorder.loop("control", range(200), warmup=0):
        with recorder.section("act"):
            recorder.advance(int(ms * 1_000_000 * noise.uniform(0.98, 1.02)))
    (pytester.path / "said.json").write_text(recorder.snapshot().to_json())
    recorder.disable()


@pytest.mark.slow
def test_saved_profiles_are_baselines_for_later(outcome, pytester):
    say(pytester, 20)
    outcome(AS_SAID, "--ticktree-save", "base").assert_outcomes(passed=1)
    (saved,) = (pytester.path / "base").iterdir()
    assert saved.name == "test_it.py-test_it.json"
    profile = json.loads(saved.read_text())
    assert profile["schema"] == "ticktree-profile/1"
    assert "python" in profile["metadata"]
    outcome(AS_SAID, "--ticktree-baseline", "base").assert_outcomes(passed=1)
    say(pytester, 24)
    done = outcome(AS_SAID, "--ticktree-baseline", "base")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["E*fail: control slower: +20*, budget <= 5.0%"])


@pytest.mark.slow
def test_a_baseline_of_another_machine_is_refused(outcome, pytester):
    say(pytester, 20)
    outcome(AS_SAID, "--ticktree-save", "base").assert_outcomes(passed=1)
    (saved,) = (pytester.path / "base").iterdir()
    profile = json.loads(saved.read_text())
    profile["metadata"]["cpu"] = "another"
    saved.write_text(json.dumps(profile))
    done = outcome(AS_SAID, "--ticktree-baseline", "base")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        ["E*TicktreeError: the baseline differs in more than the program (cpu: another -> *"]
    )


def test_a_new_test_has_no_baseline_and_is_warned_of(outcome):
    done = outcome(HOLDS, "--ticktree-baseline", "base")
    done.assert_outcomes(passed=1, warnings=1)
    done.stdout.fnmatch_lines(["*PytestWarning: ticktree_check: no baseline *test_it.py-test_holds.json"])


def test_nothing_is_recorded_or_imported_where_nobody_asks_for_it(outcome, pytester):
    done = outcome(
        """
import sys

def test_without():
    run()
    assert not ticktree.section("x").recorder.recording
    assert not {"numpy", "rich", "click", "ticktree.profile", "ticktree.analysis"} & set(sys.modules)
"""
    )
    done.assert_outcomes(passed=1)
    assert not (pytester.path / "ticktree-runs").exists()


def test_a_check_leaves_no_run_behind(outcome, pytester):
    outcome(HOLDS).assert_outcomes(passed=1)
    assert not (pytester.path / "ticktree-runs").exists()


def test_where_ticktree_is_off_a_check_fails_rather_than_pass(outcome, monkeypatch):
    monkeypatch.setenv("TICKTREE_OFF", "1")
    done = outcome(HOLDS)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["E*TicktreeError: ticktree is off for good here*"])


@pytest.mark.slow
def test_under_ticktree_run_its_record_is_not_cleared(outcome, pytester, monkeypatch):
    outcome(HOLDS)  # writes the files
    monkeypatch.setenv("TICKTREE_MEMORY_DIR", str(pytester.path))
    words = ("run", "--quiet", "-m", "pytest", "-p", "ticktree.testing.plugin", "test_it.py")
    done = pytester.run(sys.executable, "-m", "ticktree", *words, timeout=500)
    assert done.ret == 1, done.stderr.str()
    done.stdout.fnmatch_lines(["E*TicktreeError: this process is recorded by ticktree run*"])


@pytest.mark.slow
def test_pytest_finds_it_by_its_entry_point(pytester, monkeypatch):
    """As in an environment in which ticktree is installed."""
    about = pytester.mkdir("site") / "ticktree-0.dist-info"
    about.mkdir()
    about.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: ticktree\nVersion: 0\n")
    about.joinpath("RECORD").write_text("ticktree/__init__.py,,\nticktree-0.dist-info/METADATA,,\n")
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    entry = project.partition("[project.entry-points.pytest11]\n")[2].partition("\n\n")[0].replace('"', "")
    about.joinpath("entry_points.txt").write_text(f"[pytest11]\n{entry}\n")
    paths = [str(about.parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    monkeypatch.setenv("TICKTREE_MEMORY_DIR", str(pytester.path))
    pytester.makepyfile(program=PROGRAM, test_it="from program import run\n" + HOLDS)
    pytester.runpytest_subprocess(timeout=500).assert_outcomes(passed=1)
    # Recorded itself, pytest finds us imported before it came to that, and must not warn.
    words = ("run", "--quiet", "-m", "pytest", "-W", "error::pytest.PytestAssertRewriteWarning", "test_it.py")
    recorded = pytester.run(sys.executable, "-m", "ticktree", *words, timeout=500)
    recorded.assert_outcomes(failed=1)
