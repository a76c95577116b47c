from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.profile_strategies import windows
from ticktree.profile import Windows
from ticktree.profile.stats import BASE_WIDTH_NS, is_window_width


@given(windows, windows, windows)
def test_windows_merge_in_any_order(a, b, c):
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + Windows() == a


@given(windows, windows)
def test_merging_loses_no_call_and_no_nanosecond(a, b):
    merged = a + b
    assert merged.count == a.count + b.count
    assert sum(merged.totals.values()) == sum(a.totals.values()) + sum(b.totals.values())


@given(windows, st.integers(0, 4))
def test_coarsening_at_once_or_by_steps_is_the_same(series, doublings):
    stepwise = series
    for _ in range(doublings):
        stepwise = stepwise.coarsened(2 * stepwise.width_ns)
    assert series.coarsened(series.width_ns << doublings) == stepwise


def test_the_finer_series_is_coarsened_to_the_other():
    fine = Windows(BASE_WIDTH_NS, {0: 1, 1: 2, 5: 1}, {0: 10, 1: 20, 5: 50})
    coarse = Windows(4 * BASE_WIDTH_NS, {1: 7}, {1: 700})
    assert fine + coarse == Windows(4 * BASE_WIDTH_NS, {0: 3, 1: 8}, {0: 30, 1: 750})


@pytest.mark.parametrize(
    "width_ns", [0, -BASE_WIDTH_NS, BASE_WIDTH_NS + 1, 3 * BASE_WIDTH_NS, BASE_WIDTH_NS // 2]
)
def test_only_doublings_of_ten_milliseconds_are_widths(width_ns):
    assert not is_window_width(width_ns)
    assert list(Windows(width_ns).problems())


def test_time_without_a_call_is_a_problem():
    assert list(Windows(BASE_WIDTH_NS, {}, {1: 5}).problems())
