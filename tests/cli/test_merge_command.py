"""`ticktree merge`, as its users meet it."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from support.command_line import assert_one_clear_line
from ticktree.profile import Profile

PROGRAM = """
import sys, ticktree
ticktree.enable()
for _ in ticktree.loop("train", range(4), warmup=0):
    with ticktree.section("update"):
        pass
"""


@pytest.fixture
def job(here):
    """Two runs of one program, as two machines leave them on a shared disk."""
    here.write("train.py", PROGRAM)
    for rank in "01":
        assert here.ticktree("run", "--quiet", "--name", f"host{rank}", "train.py", rank).returncode == 0
    return here


def on_host(run, host):
    """Makes a finished run one of another machine."""
    path = run / "profile.json"
    document = json.loads(path.read_text())
    document["metadata"]["host"] = host
    path.write_text(json.dumps(document))


def merged(here, *words):
    done = here.ticktree("merge", *words, "-o", "job.json")
    assert done.returncode == 0, done.stderr
    profile = Profile.from_json((here.directory / "job.json").read_text())
    profile.check()
    return profile


@pytest.mark.slow
def test_the_runs_of_a_job_become_one_run_whose_sums_are_theirs(job):
    runs = [Profile.from_json((run / "profile.json").read_text()) for run in job.runs()]
    whole = merged(job, *map(str, job.runs()))
    assert whole.root.at("train/update").count == 8
    assert whole.root.total_ns == sum(run.root.total_ns for run in runs)
    assert len({thread.run for thread in whole.threads.values()}) == 1
    assert set(whole.root.at("train").per_run) == {thread.run for thread in whole.threads.values()}


@pytest.mark.slow
def test_a_directory_of_runs_and_a_quoted_pattern_mean_the_same_runs(job):
    by_name = merged(job, *(str(run) for run in job.runs()))
    assert merged(job, "ticktree-runs").root.count == by_name.root.count
    # A pattern that meets a run's manifest and its profile means the run, once.
    assert merged(job, "ticktree-runs/**/*.json").root.at("train").count == 8


@pytest.mark.slow
def test_processes_of_two_machines_with_one_number_and_start_are_two(job):
    first, second = job.runs()
    text = (first / "profile.json").read_text()
    run, other = (json.loads((each / "run.json").read_text())["id"] for each in (first, second))
    (second / "profile.json").write_text(text.replace(run, other))
    on_host(first, "node-a")
    on_host(second, "node-b")
    whole = merged(job, "ticktree-runs")
    assert sorted(thread.host for thread in whole.threads.values()) == ["node-a", "node-b"]
    assert sorted(share.count for share in whole.root.at("train").by_thread.values()) == [4, 4]
    shown = job.ticktree("report", "job.json", "--by", "process", "--width", "120").stdout
    # Both began at once: which is the first is settled by their runs' ids, which chance gives.
    numbers, hosts = zip(*set(re.findall(r"train (\d) on (node-\w)", shown)))
    assert (sorted(numbers), sorted(hosts)) == (["0", "1"], ["node-a", "node-b"])


@pytest.mark.slow
def test_a_run_that_is_there_twice_is_not_counted_twice(job):
    merged(job, str(job.runs()[0]))
    before = (job.directory / "job.json").read_bytes()
    again = job.ticktree("merge", "job.json", "ticktree-runs", "-o", "job.json")
    assert_one_clear_line(again, "job.json", "has a run that")
    assert (job.directory / "job.json").read_bytes() == before


@pytest.mark.slow
def test_what_was_merged_merges_with_the_rest(job):
    first, second = job.runs()
    merged(job, str(first))
    shutil.move(job.directory / "job.json", job.directory / "first.json")
    assert merged(job, "first.json", str(second)).root.at("train").count == 8


@pytest.mark.slow
@pytest.mark.parametrize("text", ["{", "[]", '{"schema": "of somebody else"}', ""], ids=str)
def test_a_file_that_is_no_profile_is_one_clear_error_and_nothing_is_written(job, text):
    (job.directory / "bad.json").write_text(text)
    done = job.ticktree("merge", "ticktree-runs", "bad.json", "-o", "job.json")
    assert_one_clear_line(done, "bad.json")
    assert not (job.directory / "job.json").exists()


@pytest.mark.slow
def test_with_skip_the_rest_is_merged_and_what_is_not_is_counted(job):
    (job.directory / "bad.json").write_text("{")
    whole = merged(job, "ticktree-runs", "bad.json", "missing", "--skip")
    assert whole.losses["profiles_not_merged"] == 2
    assert whole.root.at("train").count == 8


@pytest.mark.slow
def test_where_nothing_can_be_read_skip_does_not_help(job):
    assert_one_clear_line(job.ticktree("merge", "missing", "--skip", "-o", "job.json"), "missing")


@pytest.mark.slow
def test_runs_of_different_programs_are_refused_unless_they_are_allowed(job):
    job.write("evaluate.py", PROGRAM)
    assert job.ticktree("run", "--quiet", "evaluate.py").returncode == 0
    assert_one_clear_line(job.ticktree("merge", "ticktree-runs"), "evaluate.py (1)", "train.py (2)")
    assert merged(job, "ticktree-runs", "--allow-different").root.at("train").count == 12


@pytest.mark.slow
def test_a_pattern_without_a_match_is_said(job):
    assert_one_clear_line(job.ticktree("merge", "elsewhere/**/*.json"), "elsewhere/**/*.json")


@pytest.mark.slow
def test_without_threads_only_sums_are_left(job):
    whole = merged(job, "ticktree-runs", "--no-threads")
    assert not whole.threads
    assert whole.root.at("train").count == 8


@pytest.mark.slow
def test_without_a_file_the_tree_is_printed(job):
    done = job.ticktree("merge", "ticktree-runs")
    assert done.returncode == 0
    assert "update" in done.stdout
