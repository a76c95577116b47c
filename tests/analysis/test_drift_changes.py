from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import pytest

from support.steady_loops import MS, loop_of, sections
from ticktree.analysis.context import Context
from ticktree.analysis.drift import join_segments, loop_change, steady_segments
from ticktree.analysis.rules.changes import changed_loops
from ticktree.profile import Share


def course(tick, ticks=400, warmup=0, noise=0.02):
    profile = loop_of(ticks, sections({"step": tick}, noise=noise), warmup)
    return loop_change(profile.root.at("train"))


def test_a_steady_loop_has_no_change():
    assert course(lambda n: 10 * MS) is None


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_steady_loops_that_are_noisy_have_none_but_by_chance(correlation):
    """Seeded: benchmarks/steadiness.py has the rates."""
    found = 0
    for seed in range(30):
        dice, level, took = random.Random(seed), 0.0, []
        for _ in range(1000):
            level = correlation * level + dice.gauss(0, 0.1) * (1 - correlation**2) ** 0.5
            took.append(10 * MS * (1 + max(level, -0.9)))
        found += course(took.__getitem__, 1000, noise=0) is not None
    assert found <= 2


def test_a_continuous_rise_is_a_trend_and_no_step():
    rising = course(lambda n: 10 * MS * (1 + n / 1000))
    assert rising.kind == "trend"
    assert rising.change == pytest.approx(0.4, abs=0.05)
    assert rising.before_ns == pytest.approx(10 * MS, rel=0.03)


def test_another_level_from_one_moment_on_is_a_step_and_no_trend():
    stepped = course(lambda n: (10 if n < 250 else 14) * MS)
    assert stepped.kind == "step"
    assert stepped.lasts
    assert stepped.before_ns == pytest.approx(10 * MS, rel=0.02)
    assert stepped.after_ns == pytest.approx(14 * MS, rel=0.02)


def test_a_phase_that_passes_has_an_end():
    passing = course(lambda n: (14 if 150 <= n < 250 else 10) * MS)
    assert passing.kind == "step"
    assert not passing.lasts
    assert passing.rest
    assert passing.change == pytest.approx(0.4, abs=0.03)


def test_a_loop_that_becomes_faster_is_reported():
    assert course(lambda n: (14 if n < 250 else 10) * MS).change == pytest.approx(-2 / 7, abs=0.03)


def test_small_changes_are_not_reported():
    assert course(lambda n: (10 if n < 250 else 10.3) * MS, noise=0.001) is None
    assert course(lambda n: 10 * MS * (1 + n / 20_000), noise=0.001) is None


def test_the_warm_up_is_no_phase():
    slow_at_first = course(lambda n: (30 if n < 120 else 10) * MS, 400, warmup=120)
    assert slow_at_first is None


def test_a_short_run_has_no_change():
    assert course(lambda n: (10 if n < 6 else 20) * MS, 12) is None


def test_segments_are_joined_in_order_and_none_is_lost():
    profile = loop_of(400, sections({"step": lambda n: 10 * MS}))
    every = steady_segments(profile.root.at("train"))
    parts = join_segments(every, 16)
    assert len(parts) == 16
    assert sum(part.ticks for part in parts) == 400
    assert all(one.last < two.first for one, two in pairwise(parts))


def stepped_profile():
    return loop_of(400, sections({"act": lambda n: 5 * MS, "sample": lambda n: (5 if n < 250 else 9) * MS}))


def test_the_section_that_explains_a_change_is_named():
    (changed,) = changed_loops(Context(stepped_profile()), "step")
    assert changed.cause.path == "train/sample"
    assert changed.cause.share == pytest.approx(1, abs=0.05)
    assert changed.lost_ns == pytest.approx(150 * 4 * MS, rel=0.1)


def test_concurrent_work_does_not_explain_a_loops_change():
    """A device works for twenty times as long as before, while the loop that gave it the work goes on."""

    def tick(recorder, number):
        recorder.advance((5 if number < 250 else 9) * MS)
        recorder.book(recorder.place(), ("cuda:0",), (1 if number < 250 else 20) * MS, "device")

    (changed,) = changed_loops(Context(loop_of(400, tick)), "step")
    assert (changed.cause.path, changed.cause.share) == ("train", 1)


def test_a_loop_of_several_runs_or_threads_has_no_change():
    profile = stepped_profile()
    root = profile.root
    train = root.children["train"]
    two = replace(train, per_run={"a": (200, 1), "b": (200, 1)})
    assert (
        list(changed_loops(Context(replace(profile, root=replace(root, children={"train": two}))), "step"))
        == []
    )
    shared = replace(train, by_thread={"a": Share(200, 1, 1), "b": Share(200, 1, 1)})
    profile = replace(profile, root=replace(root, children={"train": shared}))
    assert list(changed_loops(Context(profile), "step")) == []
