from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.profile_strategies import loops, worst_ticks
from ticktree.profile import Causes, FirstTicks, Histogram, Jitter, Lateness, Loop, Stats, WorstTick
from ticktree.profile.loop import longest_ticks
from ticktree.profile.table import merge


@given(loops("control"), loops("control"), loops("control"))
def test_loops_merge_in_any_order(a, b, c):
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + Loop(path="control") == a


@given(st.lists(worst_ticks), st.lists(worst_ticks))
def test_the_worst_of_both_are_the_worst_of_all(left, right):
    assert longest_ticks(longest_ticks(left) + longest_ticks(right)) == longest_ticks(left + right)


def test_only_the_eight_worst_ticks_are_kept_the_longest_first():
    worst = longest_ticks(WorstTick(duration, "w", duration, 0) for duration in range(20))
    assert [tick.duration_ns for tick in worst] == list(range(19, 11, -1))


def test_the_first_ticks_are_the_earliest_threads():
    earlier, later = FirstTicks(5, "b", (1, 2)), FirstTicks(6, "a", (3,))
    loops = [Loop(path="a", first_ticks=first) for first in (earlier, later)]
    assert merge(loops).first_ticks == merge(reversed(loops)).first_ticks == earlier


def test_a_loop_is_named_by_the_last_of_its_path():
    assert Loop(path=r"train/a\/b").name == "a/b"


def test_the_budget_is_one_tick_at_the_target_rate():
    assert Loop(path="control", hz=frozenset({30.0})).budget_ns == 33_333_333


@pytest.mark.parametrize("rates", [frozenset(), frozenset({30.0, 50.0})])
def test_there_is_no_budget_without_exactly_one_target_rate(rates):
    assert Loop(path="control", hz=rates).budget_ns is None


def test_the_achieved_rate_is_ticks_per_time_in_ticks():
    stats = Stats.of([10_000_000] * 4)
    assert Loop(path="control", ticks=4, stats=stats, busy_ns=stats.sum_ns).achieved_hz == 100.0
    assert Loop(path="control").achieved_hz is None


def test_means_of_nothing_are_absent():
    assert Lateness(0, 0, 0).mean_ns is None
    assert Jitter(0, 0).mean_ns is None


def test_loops_of_different_paths_do_not_merge():
    with pytest.raises(ValueError, match="different loops"):
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
        {"lateness": Lateness(1, 5, 5, Histogram.of([5, 6]))},
        {"jitter": Jitter(2, 5, Histogram.of([5]))},
        {"waited_ns": -1},
        {"missed_ns": -1},
        {"missed_breakdown": {"c/a": 1}},
        {"missed_ns": 5, "missed_breakdown": {"c/a": -1}},
        {"causes": Causes(3)},
        {"causes": Causes(1, minor_faults=-1)},
        {"missed_causes": Causes(2)},
        {"worst": (WorstTick(1, "w", 0, 0), WorstTick(2, "w", 1, 0))},
    ],
)
def test_an_impossible_value_is_a_problem(change):
    loop = Loop(path="c", ticks=2, missed=1, longest_miss_run=1, hz=frozenset({30.0}), stats=Stats.of([1, 2]))
    assert not list(loop.problems())
    assert list(replace(loop, **change).problems())


def test_percentiles_of_lateness_are_within_the_latest_tick():
    lateness_ns = [10, 20, 30, 1000]
    lateness = Lateness(4, sum(lateness_ns), 1000, Histogram.of(lateness_ns))
    assert lateness.quantile_ns(0.5) == pytest.approx(20, rel=0.03)
    assert lateness.quantile_ns(0.99) == pytest.approx(1000, rel=0.011)
    assert lateness.quantile_ns(0.99) <= 1000
    assert Lateness(4, 100, 60).quantile_ns(0.5) is None


def test_percentiles_of_jitter_are_those_of_the_differences():
    steps = [0, 4, 4, 900]
    jitter = Jitter(4, sum(steps), Histogram.of(steps))
    assert jitter.quantile_ns(0.5) == 4
    assert jitter.quantile_ns(1) == pytest.approx(900, rel=0.011)
    assert Jitter(0, 0).quantile_ns(0.5) is None


def test_a_histogram_that_lacks_the_ticks_of_one_part_is_none():
    known, unknown = Lateness(1, 5, 5, Histogram.of([5])), Lateness(2, 9, 8)
    assert known + unknown == Lateness(3, 14, 8)
    assert not (known + unknown).is_known
    assert known + Lateness(0, 0, 0) == known


def test_times_that_are_unknown_of_some_ticks_are_unknown_of_all():
    known = Loop(path="c", ticks=2, missed=1, stats=Stats.of([7, 8]), waited_ns=3, missed_ns=8)
    known = replace(known, missed_breakdown={"c/a": 5})
    old = Loop(path="c", ticks=1, missed=1, stats=Stats.of([9]))
    both = known + old
    assert (both.waited_ns, both.missed_ns, both.missed_breakdown) == (None, None, {})
    without_misses = known + replace(old, missed=0)
    assert (without_misses.waited_ns, without_misses.missed_ns) == (None, 8)
    assert without_misses.missed_breakdown == {"c/a": 5}


def test_causes_say_of_how_many_ticks_they_are():
    known = Loop(path="c", ticks=1, stats=Stats.of([7]), causes=Causes(1, gc_ns=4))
    assert (known + Loop(path="c", ticks=1, stats=Stats.of([9]))).causes == Causes(1, gc_ns=4)
    assert Causes(3, 9, 1, 1, 1, 1) - Causes(1, 4, 1, 0, 1, 0) == Causes(2, 5, 0, 1, 0, 1)
