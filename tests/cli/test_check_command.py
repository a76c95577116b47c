"""`ticktree check`, as its users meet it."""

from __future__ import annotations

import json
import random
import re

import pytest

import ticktree
from support.command_line import assert_one_clear_line

HELD = """
[tool.ticktree.budgets]
"control/act/inference" = {p99 = "15 ms", mean = "5 ms to 12 ms"}
control = {missed = "1%", hz = ">= 80"}
"queue depth" = {min = 1}
"""


def profile(slower, seed, ticks=1000):
    """What a control loop on a virtual clock recorded, its inference as slow as asked for, as JSON."""
    noise = random.Random(seed)
    recorder = ticktree.Recorder(virtual_clock=True)
    for tick in recorder.loop("control", range(ticks), hz=50, warmup=0):
        with recorder.section("act"), recorder.section("inference"):
            recorder.advance(int(10_000_000 * slower * noise.uniform(0.97, 1.03)))
        with recorder.section("a|b`<img>\n@you"):
            recorder.advance(1_000_000)
        recorder.gauge("queue depth", 1 + tick % 4)
    text = recorder.snapshot().to_json()
    recorder.disable()
    return text


@pytest.fixture
def profiles(here):
    """The profiles of a program, of the same again, and of one whose inference is half as slow again."""
    for name, slower in (("base.json", 1), ("again.json", 1), ("slow.json", 1.5)):
        here.write(name, profile(slower, name))
    return here


def held_and_broken(done):
    document = json.loads(done.stdout)
    assert document["schema"] == "ticktree-check/1"
    return document["pass"], document["fail"]


def test_budgets_that_hold_give_status_0_and_a_line_each(profiles):
    profiles.write("pyproject.toml", HELD)
    done = profiles.ticktree("check", "base.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("all 5 budgets passed\n")
    assert re.search(r"control/act/inference p99 +pass +10\.\d ms +<= 15\.0 ms +\+3\d\.\d%", done.stdout)
    assert re.search(r"queue depth min +pass +1 +>= 1 ", done.stdout)


def test_a_broken_budget_gives_status_1_and_is_named_with_its_number_and_its_limit(profiles):
    profiles.write("pyproject.toml", HELD)
    done = profiles.ticktree("check", "slow.json")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("3 of 5 budgets failed\n")
    assert re.search(r"control/act/inference p99 +fail +15\.\d ms +<= 15\.0 ms +-\d\.\d%", done.stdout)


def test_what_is_broken_is_named_on_standard_error_where_it_is_written_to_a_file(profiles):
    profiles.write("pyproject.toml", HELD)
    done = profiles.ticktree("check", "slow.json", "-o", "check.txt")
    assert (done.returncode, done.stdout) == (1, "")
    assert re.search(
        r"^fail: control/act/inference p99: 15\.\d ms, budget <= 15\.0 ms$", done.stderr, re.MULTILINE
    )
    assert done.stderr.count("\n") == 3
    assert "3 of 5 budgets failed" in (profiles.directory / "check.txt").read_text()


def test_budgets_of_the_command_line_are_added_to_the_projects(profiles):
    profiles.write("pyproject.toml", HELD)
    words = ("--budget", "control ticks >= 1000", "--budget", "queue depth max <= 3", "--format", "json")
    done = profiles.ticktree("check", "base.json", *words)
    assert done.returncode == 1
    assert held_and_broken(done) == (6, 1)
    assert done.stderr == "fail: queue depth max: 4, budget <= 3\n"


def test_another_file_may_hold_the_budgets(profiles):
    profiles.write("pyproject.toml", HELD)
    profiles.write("ci/strict.toml", '[tool.ticktree.budgets]\ncontrol = {mean = "1 ms"}\n')
    done = profiles.ticktree("check", "base.json", "--config", "ci/strict.toml", "--format", "json")
    assert (done.returncode, held_and_broken(done)) == (1, (0, 1))


def test_a_number_that_was_not_measured_is_an_error_and_not_a_pass(profiles):
    words = ("--budget", "inference memory <= 1 TB", "--budget", "inference mean <= 1 s")
    done = profiles.ticktree("check", "base.json", *words)
    assert done.returncode == 2
    assert done.stdout.startswith("1 of 2 budgets not measured\n")
    assert "memory was not sampled" in done.stdout


@pytest.mark.slow
def test_a_baseline_is_found_beside_the_file_that_names_it(profiles):
    profiles.write("pyproject.toml", '[tool.ticktree.budgets]\nbaseline = "base.json"\n')
    (profiles.directory / "below").mkdir()
    words = ("check", "../slow.json", "--format", "json")
    slow = profiles.ticktree(*words, cwd=profiles.directory / "below")
    assert slow.returncode == 1
    document = json.loads(slow.stdout)
    assert document["unit"] == "blocks"
    statuses = {budget["path"]: budget["status"] for budget in document["budgets"]}
    assert statuses["control"] == statuses["control/act/inference"] == "fail"
    again = profiles.ticktree("check", "again.json")
    assert again.returncode == 0
    assert "control slower" in again.stdout
    assert "3 sections without a clear slowdown not shown (--all)." in again.stdout.replace("\n", " ")
    assert "inference slower" in profiles.ticktree("check", "again.json", "--all").stdout


@pytest.mark.slow
def test_how_much_slower_is_too_much_may_be_said(profiles):
    words = ("check", "slow.json", "--baseline", "base.json", "--slower")
    assert profiles.ticktree(*words, "90").returncode == 0
    assert profiles.ticktree(*words, "20%").returncode == 1
    assert_one_clear_line(profiles.ticktree(*words, "somewhat"), "--slower", "somewhat%")


def test_what_cannot_be_told_fails_only_where_it_is_asked_to(profiles):
    profiles.write("few.json", profile(1, "few", ticks=3))
    words = ("check", "few.json", "--baseline", "base.json")
    done = profiles.ticktree(*words)
    assert done.returncode == 0, done.stderr
    assert "too few values for an interval" in done.stdout
    assert profiles.ticktree(*words, "--fail-on", "inconclusive").returncode == 1


@pytest.mark.slow
def test_a_baseline_of_another_machine_is_refused_unless_it_is_allowed(profiles):
    base = profiles.directory / "base.json"
    profile = json.loads(base.read_text())
    profile["metadata"]["cpu"] = "another"
    base.write_text(json.dumps(profile))
    words = ("check", "again.json", "--baseline", "base.json")
    done = profiles.ticktree(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "cpu: another -> -" in done.stderr
    allowed = profiles.ticktree(*words, "--allow-different")
    assert allowed.returncode == 0
    assert "another" in allowed.stdout
    config = '[tool.ticktree.budgets]\nbaseline = "base.json"\nallow_different = true\n'
    profiles.write("pyproject.toml", config)
    assert profiles.ticktree("check", "again.json").returncode == 0


def test_markdown_is_a_table_that_no_name_breaks_with_the_held_ones_folded(profiles):
    words = ("--budget", "** mean <= 5 ms", "--format", "markdown")
    done = profiles.ticktree("check", "base.json", *words)
    assert done.returncode == 1
    assert done.stdout.startswith("# 3 of 4 budgets failed\n")
    head, rest = done.stdout.split("<details><summary>1 budget passed</summary>\n\n")
    assert rest.rstrip().endswith("</details>")
    for table in (head, rest):
        rows = [line for line in table.splitlines() if line.startswith("|")]
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1
    assert r"a\|b\`&lt;img&gt;" in rest
    assert "<img>" not in done.stdout
    assert "@you" not in done.stdout  # whoever bears that name would be told of every pull request


@pytest.mark.slow
def test_the_summary_of_a_step_gets_the_markdown(profiles):
    summary = profiles.write("summary.md", "before\n")
    words = ("check", "base.json", "--budget", "control mean <= 5 ms", "--github")
    done = profiles.ticktree(*words, env={**profiles.env, "GITHUB_STEP_SUMMARY": str(summary)})
    assert done.returncode == 1
    assert done.stdout.startswith("1 of 1 budget failed\n")
    assert summary.read_text().startswith("before\n# 1 of 1 budget failed\n")
    without = profiles.ticktree(*words)
    assert without.returncode == 2
    assert "$GITHUB_STEP_SUMMARY" in without.stderr


def test_the_newest_run_is_checked_where_none_is_named(here):
    here.write("train.py")
    here.write("pyproject.toml", '[tool.ticktree.budgets]\ntrain = {ticks = 5, calls = ">= 1"}\n')
    assert here.ticktree("run", "--quiet", "train.py").returncode == 0
    done = here.ticktree("check", "--format", "json")
    assert (done.returncode, held_and_broken(done)) == (0, (2, 0)), done.stderr


def test_runs_of_one_program_are_checked_together(profiles):
    words = ("base.json", "again.json", "--budget", "control ticks >= 2000", "--format", "json")
    done = profiles.ticktree("check", *words)
    assert (done.returncode, json.loads(done.stdout)["runs"]) == (0, 2)


@pytest.mark.slow
def test_bad_input_is_one_clear_line(profiles):
    assert_one_clear_line(profiles.ticktree("check", "base.json"), "nothing to check")
    assert_one_clear_line(
        profiles.ticktree("check", "missing.json", "--budget", "a mean <= 1 s"), "missing.json"
    )
    assert_one_clear_line(profiles.ticktree("check", "base.json", "--config", "no.toml"), "no.toml")
    assert_one_clear_line(
        profiles.ticktree("check", "base.json", "--budget", "inferense mean <= 1 s"),
        "inferense",
        "did you mean 'inference'",
    )
    assert_one_clear_line(profiles.ticktree("check", "base.json", "--slower", "5"), "needs a baseline")
    profiles.write("pyproject.toml", "[tool.ticktree.budgets]\ncontrol = {p99 = 25}\n")
    assert_one_clear_line(
        profiles.ticktree("check", "base.json"), "pyproject.toml: [tool.ticktree.budgets] control.p99: ", "25"
    )
    profiles.write("pyproject.toml", "[tool.ticktree.budgets]\ncontrol = {mised = 0}\n")
    assert_one_clear_line(profiles.ticktree("check", "base.json"), "control.mised", "did you mean 'missed'")
    profiles.write("pyproject.toml", '[tool.ticktree.budgets]\nnowhere = {mean = "1 s"}\n')
    assert_one_clear_line(
        profiles.ticktree("check", "base.json"), "pyproject.toml", "nowhere.mean", "nothing in this run"
    )
