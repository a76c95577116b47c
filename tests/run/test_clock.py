from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticktree.run.reading import layout
from ticktree.run.reading.accounts import Clock

TSC = layout.CLOCKS.index("tsc")


def header(*, kind=TSC, scale=1 << 31, first=(1000, 5_000_000), last=(1000, 5_000_000), began=5_000_000):
    record = layout.Header(clock_kind=kind, ns_per_tick=scale, run_began_ns=began)
    record.first.ticks, record.first.monotonic_ns = first
    record.last.ticks, record.last.monotonic_ns = last
    return record


@given(st.integers(-(2**60), 2**60))
def test_a_virtual_clocks_ticks_are_nanoseconds(ticks):
    assert Clock(header(kind=0, scale=1 << 32)).ns(ticks) == ticks


def test_the_measured_scale_is_used_if_the_anchors_are_close():
    assert Clock(header()).ns(10) == 5


def test_distant_anchors_determine_the_scale():
    clock = Clock(header(last=(1000 + 2_000_000_000, 5_000_000 + 1_000_100_000)))
    assert clock.ns(2_000_000_000) == 1_000_100_000


def test_anchors_copied_during_a_write_are_not_used():
    clock = Clock(header(last=(1000 + 2_000_000_000, 5_000_000 + 900_000_000)))
    assert clock.ns(2_000_000_000) == 1_000_000_000


@pytest.mark.parametrize("last", [(0, 0), (1000, 10**12), (10**12, 5_000_000), (2**63, 2**63)])
def test_impossible_anchors_are_not_used(last):
    assert Clock(header(last=last)).ns(10) in range(4, 7)


@given(st.integers(0, 2**48), st.integers(1, 2**40))
def test_a_duration_is_rounded_to_the_nearest_nanosecond(ticks, scale):
    ns = Clock(header(scale=scale)).ns(ticks)
    assert abs(ns * 2**32 - ticks * scale) * 2 <= 2**32


@given(st.integers(-(2**50), 2**50), st.integers(-(2**50), 2**50))
def test_a_converted_sum_differs_from_the_converted_terms_only_by_rounding(left, right):
    clock = Clock(header(scale=1_234_567_891))
    assert abs(clock.ns(left + right) - clock.ns(left) - clock.ns(right)) <= 1


def test_a_moment_counts_from_the_begin_of_the_run():
    clock = Clock(header(began=4_000_000))
    assert clock.since_began_ns(1000) == 1_000_000
    assert clock.since_began_ns(1000 + 200) == 1_000_100
    assert clock.since_began_ns(0) <= 1_000_000


def test_no_moment_is_before_the_run():
    assert Clock(header(began=9_000_000)).since_began_ns(0) == 0
