"""Prometheus's text format, as its Python client's parser and promtool read it."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings

from support.example_profiles import control, node, training
from support.external_readers import program
from support.hostile_profiles import NAMES, hostile, side_by_side, unknown_durations
from support.profile_strategies import profiles
from ticktree.outputs import EXPORTS
from ticktree.outputs.writing.visible import literal, visible
from ticktree.profile import Node, Profile


def render_text(profile):
    return EXPORTS["prometheus"].render(profile).decode()


def families(profile):
    parser = pytest.importorskip(
        "prometheus_client.parser", reason="prometheus files were not read by its client's parser"
    )
    return {family.name: family for family in parser.text_string_to_metric_families(render_text(profile))}


def values(profile, family, ending=""):
    samples = families(profile).get(f"ticktree_{family}")
    name = f"ticktree_{family}{ending}"
    return {tuple(s.labels.values()): s.value for s in samples.samples if s.name == name} if samples else {}


@pytest.mark.parametrize("make", [training, control, side_by_side, hostile])
def test_sections_have_their_calls_and_times(make):
    profile = make()
    below = {visible(path): node for path, _, node in profile.root.walk()}
    seconds = {(path,): node.total_ns / 1e9 for path, node in below.items()}
    assert values(profile, "section_seconds", "_total") == seconds
    assert values(profile, "section_own_seconds", "_total") == {
        (path,): node.self_ns / 1e9 for path, node in below.items()
    }
    assert values(profile, "section_calls", "_total") == {
        (path,): node.count for path, node in below.items() if path
    }


@settings(max_examples=15)
@given(profiles())
def test_a_histogram_has_all_calls_of_each_section_whose_durations_are_known(profile):
    read = families(profile).get("ticktree_section_call_seconds")
    nodes = {visible(path): node for path, _, node in profile.root.walk()}
    for sample in read.samples if read else ():
        stats = nodes[sample.labels["path"]].stats
        if sample.name.endswith("_count") or sample.labels.get("le") == "+Inf":
            assert sample.value == stats.count
        elif sample.name.endswith("_sum"):
            assert sample.value == stats.sum_ns / 1e9
    known = {path for path, node in nodes.items() if path and node.stats.count and node.stats.is_known}
    assert {s.labels["path"] for s in (read.samples if read else ())} == known


def test_a_limit_is_the_longest_duration_below_a_power_of_two():
    calls = (1023, 1024, 1025, 2047, 2048, 5000)
    one = Profile(root=Node(name="root", children={"x": node("x", list(calls))}))
    for (_, limit), count in values(one, "section_call_seconds", "_bucket").items():
        limit_ns = float(limit) * 1e9
        assert count == sum(ns <= limit_ns + 0.25 for ns in calls)


def test_every_series_of_a_histogram_has_the_same_limits():
    limits = {}
    for path, limit in values(training(), "section_call_seconds", "_bucket"):
        limits.setdefault(path, []).append(float(limit))
    assert len({tuple(each) for each in limits.values()}) == 1
    assert all(each == sorted(each) for each in limits.values())


def test_loops_gauges_losses_and_metadata_are_there():
    profile = control()
    assert values(profile, "loop_ticks", "_total") == {("control",): 1200}
    assert values(profile, "loop_missed_ticks", "_total") == {("control",): 9}
    assert values(profile, "loop_budget_seconds") == {("control",): 0.01}
    assert values(profile, "reading") == {("queue depth",): 4.0}
    assert values(profile, "reading_max") == {("queue depth",): 7.0}
    assert values(profile, "readings", "_total") == {("queue depth",): 5}
    assert values(profile, "not_recorded", "_total") == {("unwound",): 2}
    assert values(profile, "metadata")["command", "robot.py"] == 1


def test_unknown_values_have_no_series():
    assert values(training(), "loop_missed_ticks", "_total") == {}
    assert values(training(), "loop_budget_seconds") == {}
    assert values(training(), "section_concurrent_seconds") == {
        ("prefetch",): training().root.at("prefetch").concurrent_ns / 1e9
    }
    assert "call_seconds" not in render_text(unknown_durations())
    assert values(unknown_durations(), "section_calls", "_total") == {("told",): 2}


def test_hostile_names_stay_different():
    assert set(values(hostile(), "reading")) == {(literal(name),) for name in NAMES}
    text = render_text(hostile())
    assert all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize("make", [training, control, side_by_side, hostile, Profile.empty])
def test_promtool_reads_all_of_it(make):
    promtool = program("promtool", "prometheus files were not read by promtool")
    done = subprocess.run(
        [promtool, "check", "metrics"],
        input=render_text(make()),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_whole_run_has_the_empty_path():
    assert values(side_by_side(), "section_seconds", "_total")[("",)] == side_by_side().root.total_ns / 1e9


def test_waits_are_a_separate_metric():
    waits = Node(name="recv", self_ns=5_000_000_000, wait=True)
    profile = Profile(Node(name="root", children={"recv": waits, "work": Node(name="work", self_ns=3)}))
    assert values(profile, "section_waited_seconds", "_total") == {("recv",): 5.0}
