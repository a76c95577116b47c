"""What JSON has besides the profile itself: what samples say of self time."""

from __future__ import annotations

import json

from hypothesis import given, settings

from support.example_profiles import training
from support.example_samples import sampled_training, unmarked
from support.profile_strategies import profiles
from ticktree.analysis.sampled import sampled_threads, sampled_times
from ticktree.outputs import OUTPUTS
from ticktree.profile import Profile


def render_json(profile):
    return OUTPUTS["json"].render(profile)


def nodes_of(report):
    nodes = [report["tree"]]
    for node in nodes:  # the list grows while it is walked
        nodes.extend(node["children"])
    return {node["path"]: node for node in nodes}


def test_a_sampled_node_has_the_functions_of_its_self_time():
    report = json.loads(render_json(sampled_training()))
    nodes = nodes_of(report)
    assert {path for path, node in nodes.items() if "sampled" in node} == {"", "train/update"}
    update = nodes["train/update"]
    first = update["sampled"][0]
    assert sum(row["ns"] for row in update["sampled"]) == update["self_ns"]
    assert {key: first[key] for key in ("function", "file", "count")} == {
        "function": "crunch",
        "file": "/home/ada/lib.py",
        "count": 80,
    }
    assert first["lines"] == [{"line": 7, "share": 0.75}, {"line": 9, "share": 0.25}]
    assert first["low"] < first["share"] < first["high"]
    assert first["states"] == {"running": 1.0}
    assert [row["function"] for row in report["sampled_apart"]["other threads"]] == ["nap"]


def test_without_samples_there_is_no_such_key():
    assert b'"sampled' not in render_json(training())


@settings(max_examples=25)
@given(profiles())
def test_with_samples_it_is_read_back_and_rows_sum_to_the_self_time(profile):
    assert Profile.from_json(render_json(profile)) == profile
    report = json.loads(render_json(profile))
    nodes = nodes_of(report)
    assert {path for path, node in nodes.items() if "sampled" in node} == sampled_times(profile).keys()
    assert report.get("sampled_apart", {}).keys() == sampled_threads(profile).keys()
    for node in nodes.values():
        assert sum(row["ns"] for row in node.get("sampled", [])) in (0, node["self_ns"])


def test_a_program_without_sections_has_its_functions_at_the_root():
    report = json.loads(render_json(unmarked()))
    assert [row["function"] for row in report["tree"]["sampled"]] == ["crunch", "nap"]
