"""What the page is told of samples: calls in columns by the place of their section, and what to mark."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from test_html_output import data_in, nodes_of, render

from support.example_profiles import training
from support.example_samples import CRUNCH, sampled, sampled_training, stack, unmarked
from support.profile_strategies import profiles
from ticktree.analysis.sampled import sampled_times
from ticktree.profile.samples import SAMPLED_LOOP, SAMPLED_LOOP_CODE


def view_of(profile):
    return data_in(render(profile))["view"]


def test_sampled_calls_use_the_index_of_the_section_whose_self_time_they_are():
    data = data_in(render(sampled_training()))
    paths = [node["path"] for node in nodes_of(data["report"]["tree"])]
    sampled_by_path = {paths[entry["place"]]: entry for entry in data["view"]["sampled"]}
    assert sampled_by_path.keys() == {"", "train/update"}
    update = sampled_by_path["train/update"]
    assert paths[update["base"]] == "train"
    assert update["samples"] == 101
    assert list(zip(update["depth"], update["name"], strict=True)) == [
        *((0, "Agent.update"), (1, "crunch"), (1, "nap"), (0, "(suspended)"))
    ]
    assert update["share"][:2] == pytest.approx([100 / 101, 80 / 101], rel=1e-3)
    assert update["text"][1] == "80 samples, share 70\N{EN DASH}86% of [self] \N{MIDDLE DOT} lib.py:7"
    assert update["text"][3] == "1 sample, share 0\N{EN DASH}5% of [self]"


def test_a_run_without_sections_has_its_functions_in_a_table_and_what_to_mark():
    metadata = {SAMPLED_LOOP: frozenset(["train.py:40"]), SAMPLED_LOOP_CODE: frozenset(["for x in y:"])}
    view = view_of(replace(unmarked(), metadata=metadata))
    assert view["screen"]["nothing"] == ""
    run_table, others = view["sampled_tables"]
    assert run_table["title"] == "Where the run goes [sampled], 99 samples"
    assert [row["name"] for row in run_table["rows"]] == ["crunch", "nap"]
    assert others["title"] == "Other threads [sampled], 5 samples"
    assert view["marks"] == ["Mark the loop at train.py:40: for x in y:"]


def test_without_samples_there_are_no_sampled_facts():
    view = view_of(training())
    assert (view["sampled"], view["sampled_tables"], view["marks"]) == ([], [], [])


def test_calls_too_narrow_to_be_drawn_are_left_out():
    rare = CRUNCH._replace(function="rare")
    profile = replace(unmarked(), samples=sampled({stack("", CRUNCH): 10_000, stack("", rare): 4}))
    (entry,) = view_of(profile)["sampled"]
    assert entry["name"] == ["crunch"]


@pytest.mark.slow
@settings(max_examples=25)
@given(profiles())
def test_the_children_of_a_call_sum_to_at_most_its_share(profile):
    data = data_in(render(profile))
    paths = [node["path"] for node in nodes_of(data["report"]["tree"])]
    assert {paths[entry["place"]] for entry in data["view"]["sampled"]} == sampled_times(profile).keys()
    for entry in data["view"]["sampled"]:
        for at, depth in enumerate(entry["depth"]):
            below = [each for each in range(at + 1, len(entry["depth"])) if entry["depth"][each] <= depth]
            inside = range(at + 1, below[0] if below else len(entry["depth"]))
            parts = [entry["share"][each] for each in inside if entry["depth"][each] == depth + 1]
            assert sum(parts) <= entry["share"][at] * 1.001 + 1e-9
