from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.profile_strategies import amounts, stats
from ticktree.profile import Stats


@given(stats, stats, stats)
def test_stats_merge_in_any_order(a, b, c):
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + Stats() == a


@given(st.lists(amounts), st.lists(amounts))
def test_merged_stats_are_those_of_all_calls(left, right):
    assert Stats.of(left) + Stats.of(right) == Stats.of(left + right)


def test_nothing_measured_is_absent_not_zero():
    empty = Stats()
    assert (empty.min_ns, empty.max_ns, empty.mean_ns, empty.p50_ns, empty.p99_ns) == (None,) * 5


@given(st.lists(amounts, min_size=1))
def test_percentiles_are_in_order_and_within_the_extremes(durations):
    of = Stats.of(durations)
    assert of.min_ns <= of.p50_ns <= of.p90_ns <= of.p99_ns <= of.max_ns


def test_the_mean_is_rounded_in_whole_numbers():
    assert Stats.of([2**60, 2**60 + 1]).mean_ns == 2**60 + 1


@given(stats)
def test_stats_of_calls_have_no_problem(of):
    assert not list(of.problems())


@pytest.mark.parametrize(
    "change",
    [
        {"count": 3},
        {"count": -1},
        {"sum_ns": -1},
        {"min_ns": 70},
        {"min_ns": -1},
        {"min_ns": None},
        {"max_ns": None},
        {"max_ns": 5},
        {"sum_ns": 10_000},
    ],
)
def test_an_impossible_value_is_a_problem(change):
    assert list(replace(Stats.of([10, 60]), **change).problems())


def test_a_histogram_without_a_minimum_or_a_sum_of_no_calls_is_a_problem():
    assert list(replace(Stats.of([10, 60]), min_ns=None, max_ns=None).problems())
    assert list(Stats(0, 5).problems())


counted = st.builds(
    lambda count, duration: Stats(count, count * duration), st.integers(0, 9), st.integers(0, 10**9)
)


@given(st.lists(stats | counted, min_size=3, max_size=3))
def test_calls_that_were_only_counted_merge_in_any_order(parts):
    a, b, c = parts
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + Stats() == a
    assert not list((a + b + c).problems())


def test_of_calls_that_were_only_counted_the_mean_is_known_and_no_percentile_of_any_merge():
    both = Stats(3, 30) + Stats.of([90])
    assert (both.count, both.mean_ns) == (4, 30)
    assert (both.min_ns, both.max_ns, both.p50_ns, both.p99_ns) == (None,) * 4
    assert not both.is_known


def test_a_nanosecond_a_call_is_no_problem_because_each_number_was_rounded():
    assert not list(replace(Stats.of([10, 10]), sum_ns=21).problems())
