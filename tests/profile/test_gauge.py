from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.profile_strategies import gauge_of, gauges, quantile_by_sorting, readings
from ticktree.profile import Histogram
from ticktree.profile.gauge import GaugeWindows, Readings
from ticktree.profile.stats import BASE_WIDTH_NS, MAX_WINDOWS, is_window_width
from ticktree.profile.table import merge


@given(gauges("queue"), gauges("queue"), gauges("queue"))
def test_gauges_merge_in_any_order(a, b, c):
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a


@given(st.lists(st.tuples(st.integers(0, 10**14), readings), min_size=1, max_size=40))
def test_the_windows_hold_every_reading_at_its_time(readings):
    windows = GaugeWindows.of(readings)
    assert windows == merge([GaugeWindows.of([reading]) for reading in readings])
    assert is_window_width(windows.width_ns)
    assert max(windows.readings) < MAX_WINDOWS
    for index, window_readings in windows.readings.items():
        values = [value for since_ns, value in readings if since_ns // windows.width_ns == index]
        assert window_readings == Readings(len(values), min(values), max(values))


def test_readings_without_windows_make_those_of_the_whole_unknown():
    with_windows = gauge_of("queue", [1.0, 2.0], windows=GaugeWindows.of([(0, 1.0), (5, 2.0)]))
    assert with_windows.windows_known
    assert (with_windows + gauge_of("queue", [3.0])).windows == GaugeWindows()
    assert list(replace(with_windows, count=3).problems())


def test_what_was_before_the_first_reading_above_zero_does_not_count():
    readings = [(at * BASE_WIDTH_NS, float(value)) for at, value in enumerate([0, 0, 0, 5, 0, 0, 2])]
    gauge = gauge_of("queue", [value for _, value in readings], windows=GaugeWindows.of(readings))
    assert gauge.since_filled == (2, 4)
    assert replace(gauge, windows=GaugeWindows()).since_filled == (5, 7)
    assert gauge_of("queue", [0.0, 0.0], windows=GaugeWindows.of(readings[:2])).since_filled == (2, 2)


@given(st.lists(readings, min_size=1, max_size=40), st.sampled_from([0.0, 0.5, 0.9, 0.99, 1.0]))
def test_a_quantile_is_within_a_little_over_one_percent_on_either_side_of_zero(values, q):
    exact = quantile_by_sorting(values, q)
    assert gauge_of("queue", values).quantile(q) == pytest.approx(exact, rel=0.011, abs=1e-300)


def test_the_last_reading_is_the_latest_whoever_merges():
    earlier_gauge, later_gauge = gauge_of("queue", [7.0], 100), gauge_of("queue", [3.0], 200)
    assert (earlier_gauge + later_gauge).last == (later_gauge + earlier_gauge).last == 3.0


def test_readings_made_at_once_are_ranked_by_their_process():
    gauge_a, gauge_b = gauge_of("queue", [7.0], 100, "a"), gauge_of("queue", [3.0], 100, "b")
    assert (gauge_a + gauge_b).last == (gauge_b + gauge_a).last == 3.0


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
def test_an_impossible_value_is_a_problem(change):
    assert list(replace(gauge_of("queue", [1.0, 0.0, 2.0]), **change).problems())


def test_the_share_at_zero_is_known_where_no_reading_is_below_it():
    assert gauge_of("queue", [0.0, 0.0, 3.0, 5.0]).zero_share == 0.5
    assert gauge_of("queue", [3.0]).zero_share == 0.0
    assert gauge_of("error", [0.0, -1.0]).zero_share is None
