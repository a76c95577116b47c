from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.profile_strategies import gauge_of, gauges, quantile_by_sorting, readings
from ticktree.profile import Histogram


@given(gauges("queue"), gauges("queue"), gauges("queue"))
def test_gauges_merge_in_any_order(a, b, c):
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a


@given(st.lists(readings, min_size=1, max_size=40), st.sampled_from([0.0, 0.5, 0.9, 0.99, 1.0]))
def test_a_quantile_is_within_a_little_over_one_percent_on_either_side_of_zero(values, q):
    exact = quantile_by_sorting(values, q)
    assert gauge_of("queue", values).quantile(q) == pytest.approx(exact, rel=0.011, abs=1e-300)


def test_the_last_reading_is_the_latest_whoever_merges():
    early, late = gauge_of("queue", [7.0], 100), gauge_of("queue", [3.0], 200)
    assert (early + late).last == (late + early).last == 3.0


def test_readings_made_at_once_are_ranked_by_their_writer():
    one, other = gauge_of("queue", [7.0], 100, "a"), gauge_of("queue", [3.0], 100, "b")
    assert (one + other).last == (other + one).last == 3.0


def test_gauges_of_different_names_do_not_merge():
    with pytest.raises(ValueError, match="different gauges"):
        gauge_of("queue", [1.0]) + gauge_of("depth", [1.0])


def test_readings_that_could_not_be_filed_have_no_median_but_an_extreme():
    gauge = replace(gauge_of("queue", [1e9]), positive=Histogram())
    assert not list(gauge.problems())
    assert gauge.p50 is None
    assert gauge.max == 1e9


@pytest.mark.parametrize(
    "change", [{"count": 1}, {"count": 0}, {"zeros": -1}, {"min": 3.0}, {"last": float("nan")}]
)
def test_what_cannot_be_is_a_problem(change):
    assert list(replace(gauge_of("queue", [1.0, 0.0, 2.0]), **change).problems())


def test_the_share_at_zero_is_known_where_no_reading_is_below_it():
    assert gauge_of("queue", [0.0, 0.0, 3.0, 5.0]).zero_share == 0.5
    assert gauge_of("queue", [3.0]).zero_share == 0.0
    assert gauge_of("error", [0.0, -1.0]).zero_share is None
