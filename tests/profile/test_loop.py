from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profile_strategies import loops, worst_ticks

from ticktree.profile import FirstTicks, Jitter, Lateness, Loop, Stats, WorstTick
from ticktree.profile.ticks import worst_of


@given(loops("control"), loops("control"), loops("control"))
def test_loops_merge_in_any_order(a, b, c):
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + Loop(path="control") == a


@given(st.lists(worst_ticks), st.lists(worst_ticks))
def test_the_worst_of_both_are_the_worst_of_all(left, right):
    assert worst_of(worst_of(left) + worst_of(right)) == worst_of(left + right)


def test_only_the_eight_worst_ticks_are_kept_the_longest_first():
    kept = worst_of(WorstTick(duration, "w", duration, 0) for duration in range(20))
    assert [tick.duration_ns for tick in kept] == list(range(19, 11, -1))


def test_the_first_ticks_are_the_earliest_writers():
    early, late = FirstTicks(5, "b", (1, 2)), FirstTicks(6, "a", (3,))
    assert late + early == early + late == early


def test_a_loop_is_named_by_the_last_of_its_path():
    assert Loop(path=r"train/a\/b").name == "a/b"


def test_the_budget_is_one_tick_at_the_rate_asked_for():
    assert Loop(path="control", hz=frozenset({30.0})).budget_ns == 33_333_333


@pytest.mark.parametrize("rates", [frozenset(), frozenset({30.0, 50.0})])
def test_there_is_no_budget_where_no_rate_or_several_were_asked_for(rates):
    assert Loop(path="control", hz=rates).budget_ns is None


def test_the_achieved_rate_is_ticks_per_time_in_ticks():
    stats = Stats.of([10_000_000] * 4)
    assert Loop(path="control", ticks=4, stats=stats, busy_ns=stats.sum_ns).achieved_hz == 100.0
    assert Loop(path="control").achieved_hz is None


def test_means_of_nothing_are_absent():
    assert Lateness(0, 0, 0).mean_ns is None
    assert Jitter(0, 0).mean_ns is None


def test_loops_of_different_paths_do_not_merge():
    with pytest.raises(ValueError, match="different paths"):
        Loop(path="a") + Loop(path="b")


@pytest.mark.parametrize(
    "change",
    [
        {"ticks": 3},
        {"missed": 3},
        {"longest_miss_run": 2},
        {"incomplete": -1},
        {"hz": frozenset({0.0})},
        {"hz": frozenset({float("nan")})},
        {"lateness": Lateness(-1, 0, 0)},
        {"worst": (WorstTick(1, "w", 0, 0), WorstTick(2, "w", 1, 0))},
    ],
)
def test_what_cannot_be_is_a_problem(change):
    loop = Loop(path="c", ticks=2, missed=1, longest_miss_run=1, hz=frozenset({30.0}), stats=Stats.of([1, 2]))
    assert not list(loop.problems())
    assert list(replace(loop, **change).problems())
