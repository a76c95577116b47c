"""Several runs side by side, on the terminal, in markdown and as a page."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from support.example_profiles import control, node, training
from support.example_variants import variants_of_it
from support.hostile_profiles import hostile
from ticktree.outputs import ViewOptions
from ticktree.outputs.variants import VARIANTS, rows, variants
from ticktree.outputs.writing import formatting
from ticktree.profile import Profile
from ticktree.profile import path as paths


def render_text(profiles, form="terminal", names=None, **options) -> str:
    view = ViewOptions(width=140, **options)
    names = names or [f"run-{at}" for at, _ in enumerate(profiles)]
    return VARIANTS[form](variants(list(zip(names, profiles)), view), view).decode()


def of(*children) -> Profile:
    return replace(Profile.empty(), root=node("root", [], *children))


def test_each_section_has_one_column_per_run():
    profiles = variants_of_it()
    text = render_text(profiles)
    for path in ("driver.step", "driver.step/controller.step", "driver.step/env.step/rest.execute_and_wait"):
        line = next(line for line in text.splitlines() if line.strip().startswith(f"{paths.name_of(path)} "))
        means = [formatting.time(profile.root.at(path).steady.mean_ns) for profile in profiles]
        assert re.split(r"\s{2,}", line.strip())[1:] == means


def test_sections_that_a_run_lacks_are_absent_and_not_0():
    line = next(line for line in render_text(variants_of_it()).splitlines() if "aux.skip" in line)
    assert line.split()[1:3] == ["-", "-"]


def test_the_trees_of_all_runs_are_in_it_and_each_line_once():
    profiles = [training(), control()]
    found = [(row.kind, row.path) for row in rows(profiles)]
    assert len(set(found)) == len(found)
    sections = {path for profile in profiles for path, _, _ in profile.root.walk() if path}
    assert {path for kind, path in found if kind == "section"} == sections


def test_self_times_are_the_rest():
    for row in rows([training()]):
        if row.kind == "self":
            (own,) = row.nodes
            assert row.mean_ns(0) == pytest.approx((own.self_ns - own.recorder_ns) / own.count, abs=1)


def test_a_tree_as_deep_as_a_program_recursed_is_shown_to_its_end():
    deep = node("f", [10])
    for _ in range(3000):
        deep = node("f", [deep.total_ns], deep)
    assert len(rows([of(deep), of(deep)])) == 3001 + 3000


def test_runs_have_their_own_names_if_these_differ():
    assert render_text(variants_of_it()).splitlines()[0].split("   ")[1:] == [
        "pretrained",
        "hacked slicing",
        "biai",
    ]
    same = [training(), training()]
    assert render_text(same, names=["before", "after"]).splitlines()[0].split("   ")[1:] == [
        "before",
        "after",
    ]
    assert render_text(same, names=["a", "a"]).splitlines()[0].split("   ")[1:] == ["a", "a (2)"]


def test_runs_of_one_program_are_named_by_the_arguments_that_differ():
    runs = [
        replace(
            training(), metadata={"name": frozenset(["train"]), "command": frozenset([f"train.py {words}"])}
        )
        for words in ("--lr 0.1 --new", "--lr 0.2", "--lr 0.1")
    ]
    assert render_text(runs[:2]).splitlines()[0].split("   ")[1:] == ["--lr 0.1 --new", "--lr 0.2"]
    assert render_text(runs[::2]).splitlines()[0].split("   ")[1:] == ["--new", "(without)"]
    assert render_text([runs[0], runs[0]]).splitlines()[0].split("   ")[1:] == ["run-0", "run-1"]


def test_only_facts_that_differ_are_shown():
    text = render_text(variants_of_it())
    assert "drive.py" in text
    assert "bench-3" not in text
    assert "not the same in all" not in render_text([training(), training()])


def test_each_loop_has_one_line_per_run():
    text = render_text([control(), training()])
    assert "loop control" in text
    assert "loop train" in text
    block = text.split("loop control")[1].split("\n\n")[0].splitlines()[1:]
    assert len(block) == 2
    assert block[1].split()[1:3] == ["-", "-"]


@pytest.mark.parametrize("form", ["terminal", "markdown"])  # tests/browser looks at the page
def test_nothing_recorded_lost_or_hostile_is_in_the_way(form):
    text = render_text([Profile.empty(), hostile(), replace(training(), losses={"nodes_refused": 3})], form)
    assert "nodes refused" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize("form", list(VARIANTS))
def test_the_same_runs_give_the_same_bytes(form):
    assert render_text(variants_of_it(), form) == render_text(variants_of_it(), form)


def test_device_time_that_outlasts_the_call_is_no_part_of_it():
    kernels = replace(node("cuda:0", [30], clock="device"), concurrent_ns=30)
    copies = replace(node("cuda:1", [5], clock="device"), concurrent_ns=5)
    found = {row.path: row.share(0) for row in rows([of(node("update", [10], kernels, copies))])}
    assert found["update/cuda:0@device"] is None
    assert found["update/cuda:1@device"] == 0.5
