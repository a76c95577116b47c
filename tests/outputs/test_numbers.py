"""Numbers by name, as experiment trackers want them."""

from __future__ import annotations

import re

import pytest

from support.example_profiles import control, training
from support.hostile_profiles import NAMES, hostile
from ticktree.outputs.numbers import fit, numbers
from ticktree.profile import Profile


def test_every_section_loop_gauge_and_loss_has_its_numbers():
    profile = control()
    found = numbers(profile)
    for path, _, node in profile.root.walk():
        if path:
            assert found[f"section/{path}/calls"] == node.count
            assert found[f"section/{path}/total_s"] == node.total_ns / 1e9
            assert found[f"section/{path}/own_s"] == node.self_ns / 1e9
            assert found.get(f"section/{path}/p99_ms", 0) == (node.steady.p99_ns or 0) / 1e6
    for path, loop in profile.loops.items():
        assert found[f"loop/{path}/ticks"] == loop.ticks
        assert found[f"loop/{path}/hz"] == loop.achieved_hz
        assert found[f"loop/{path}/missed"] == loop.missed
        assert found[f"loop/{path}/max_ms"] == loop.stats.max_ns / 1e6
    for name, gauge in profile.gauges.items():
        assert found[f"gauge/{fit(name)}/last"] == gauge.last


def test_the_names_are_a_promise():
    kinds: dict = {}
    for name in (*numbers(control()), *numbers(training())):
        first, *_, last = name.split("/")
        kinds.setdefault(first, set()).add(last)
    durations = {"mean_ms", "p50_ms", "p99_ms", "max_ms"}
    assert kinds.pop("not_recorded")
    assert kinds == {
        "section": {"calls", "total_s", "own_s", *durations},
        "loop": {"ticks", "hz", "missed", *durations},
        "gauge": {"last"},
    }


@pytest.mark.parametrize("make", [training, control, hostile])
def test_no_name_is_a_directory_of_another(make):
    names = set(numbers(make()))
    assert not names & {
        "/".join(name.split("/")[:depth]) for name in names for depth in range(1, name.count("/"))
    }


def test_what_is_not_known_has_no_number():
    assert numbers(Profile.empty()) == {}
    loops_without_a_rate = [path for path, loop in training().loops.items() if not loop.hz]
    assert loops_without_a_rate
    assert not any(f"loop/{path}/missed" in numbers(training()) for path in loops_without_a_rate)


def test_whatever_names_a_program_chose_they_fit_and_stay_apart():
    profile = hostile()
    found = numbers(profile)
    assert (
        len({name for name in found if name.startswith("section/") and name.endswith("/calls")})
        == len(list(profile.root.walk())) - 1
    )
    for name in found:
        assert re.fullmatch(r"[\w./ -]+", name), name
        assert len(name) <= 240
        assert not {"", ".", ".."} & set(name.split("/")), name


@pytest.mark.parametrize(
    "name", ["a", "train/update", "größe/日本", "a b", "v1.5", ".hidden", "a-b_c", "..."]
)
def test_names_that_fit_are_left_alone(name):
    assert fit(name) == name


def test_names_that_were_changed_are_told_apart_and_stay_the_same():
    names = [*NAMES, ".", "..", "a/../b", "a/./b", "/a", "a/", "a//b", "x" * 201, "x" * 202, "a#b", "a_b"]
    assert len({fit(name) for name in names}) == len(set(names))
    assert fit("Optimizer.step#Adam.step") == "Optimizer.step_Adam.step-ea31e7"
