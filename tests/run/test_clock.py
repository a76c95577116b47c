from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticktree.run.reading import layout
from ticktree.run.reading.accounts import Clock

TSC = layout.CLOCKS.index("tsc")


def header(*, kind=TSC, scale=1 << 31, first=(1000, 5_000_000), last=(1000, 5_000_000), began=5_000_000):
    made = layout.Header(clock_kind=kind, ns_per_tick=scale, run_began_ns=began)
    made.first.ticks, made.first.monotonic_ns = first
    made.last.ticks, made.last.monotonic_ns = last
    return made


@given(st.integers(-(2**60), 2**60))
def test_a_virtual_clocks_ticks_are_nanoseconds(ticks):
    assert Clock(header(kind=0, scale=1 << 32)).ns(ticks) == ticks


def test_without_anchors_far_enough_apart_the_measured_scale_is_used():
    assert Clock(header()).ns(10) == 5


def test_with_anchors_far_apart_they_are_the_scale():
    clock = Clock(header(last=(1000 + 2_000_000_000, 5_000_000 + 1_000_100_000)))
    assert clock.ns(2_000_000_000) == 1_000_100_000


def test_anchors_that_a_write_tore_apart_are_not_believed():
    clock = Clock(header(last=(1000 + 2_000_000_000, 5_000_000 + 900_000_000)))
    assert clock.ns(2_000_000_000) == 1_000_000_000


@pytest.mark.parametrize("last", [(0, 0), (1000, 10**12), (10**12, 5_000_000), (2**63, 2**63)])
def test_anchors_that_cannot_be_do_no_harm(last):
    assert Clock(header(last=last)).ns(10) in range(4, 7)


@given(st.integers(0, 2**48), st.integers(1, 2**40))
def test_a_duration_is_rounded_to_the_nearest_nanosecond(ticks, scale):
    told = Clock(header(scale=scale)).ns(ticks)
    assert abs(told * 2**32 - ticks * scale) * 2 <= 2**32


@given(st.integers(-(2**50), 2**50), st.integers(-(2**50), 2**50))
def test_sums_differ_from_the_sum_by_rounding_alone(left, right):
    clock = Clock(header(scale=1_234_567_891))
    assert abs(clock.ns(left + right) - clock.ns(left) - clock.ns(right)) <= 1


def test_a_moment_counts_from_when_the_run_began():
    clock = Clock(header(began=4_000_000))
    assert clock.since_began_ns(1000) == 1_000_000
    assert clock.since_began_ns(1000 + 200) == 1_000_100
    assert clock.since_began_ns(0) <= 1_000_000


def test_no_moment_lies_before_the_run():
    assert Clock(header(began=9_000_000)).since_began_ns(0) == 0
