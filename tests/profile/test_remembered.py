"""What is kept of a profile for the years."""

from __future__ import annotations

import dataclasses

import pytest

import ticktree
from ticktree.profile.run_summary import STATISTICS, summarize_run


@pytest.fixture
def profile() -> ticktree.Profile:
    recorder = ticktree.Recorder(virtual_clock=True)
    for tick in recorder.loop("train", range(6), warmup=2):
        with recorder.section("sample"):
            recorder.advance(1_000_000 if tick < 5 else 5_000_000)
        with recorder.section("update"):
            recorder.advance(3_000_000)
    facts = {"git.commit": frozenset(["abc"]), "git.dirty": frozenset([True]), "host": frozenset(["b", "a"])}
    return dataclasses.replace(recorder.snapshot(), metadata=facts)


def test_of_every_section_its_steady_calls_are_kept(profile):
    summary = summarize_run(profile, "id", "folder", 7)
    assert set(summary.measures) == {"train", "train/sample", "train/update"}
    sample = summary.measures["train/sample"]
    assert (sample.calls, sample.sum_ns, sample.max_ns) == (4, 8_000_000, 5_000_000)
    assert [summary.measures[path].is_loop for path in ("train", "train/sample")] == [True, False]
    assert summary.measures["train"].share == pytest.approx(1)
    assert sample.share == pytest.approx(10 / 28)


def test_each_statistic_is_at_least_a_nanosecond_and_none_where_it_is_not_known(profile):
    sample = summarize_run(profile, "id", "folder", 7).measures["train/sample"]
    values = {name: sample.value(name) for name in STATISTICS}
    assert values["mean"] == 2_000_000
    assert values["p50"] == pytest.approx(1_000_000, rel=0.02)
    assert values["max"] == 5_000_000
    assert dataclasses.replace(sample, sum_ns=0).value("mean") == 1.0
    assert dataclasses.replace(sample, p99_ns=None).value("p99") is None


def test_a_run_has_one_value_of_each_fact(profile):
    summary = summarize_run(profile, "id", "folder", 7)
    assert (summary.commit, summary.is_dirty) == ("abc", True)
    assert summary.facts["host"] == "a, b"


def test_of_an_empty_profile_nothing_is_kept():
    assert summarize_run(ticktree.Profile.empty(), "id", "folder", 7).measures == {}
