"""Values measured elsewhere: durations and gauges."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ticktree
from support.recorder.queries import counts, losses, node, times
from ticktree.profile import Histogram, Work
from ticktree.profile.gauge import GaugeWindows, Readings
from ticktree.profile.stats import BASE_WIDTH_NS


def test_a_recorded_duration_is_a_call_under_the_open_section_that_covers_nothing(recorder):
    with recorder.section("step"):
        recorder.record_duration("camera", 0.012)
        recorder.advance(5)
    assert counts(recorder) == {"step": 1, "step/camera": 1}
    camera = node(recorder, "step/camera")
    assert (camera.total_ns, camera.concurrent_ns, camera.stats.max_ns) == (12_000_000,) * 3
    assert times(recorder)["step"] == node(recorder, "step").self_ns == 5


def test_a_record_and_a_section_of_one_name_are_one_row(recorder):
    recorder.record_duration("camera", 1e-9)
    with recorder.section("camera"):
        recorder.advance(2)
    assert counts(recorder) == {"camera": 2}
    assert node(recorder, "camera").stats.sum_ns == 3


@pytest.mark.parametrize(
    ("seconds", "ns"),
    [(0, 0), (1, 10**9), (1.4e-9, 1), (1.6e-9, 2), (Decimal("0.5"), 5 * 10**8), (Fraction(1, 4), 25 * 10**7),
     (True, 10**9), (numpy.float32(0.5), 5 * 10**8), (numpy.int64(2), 2 * 10**9), (8e9, 8 * 10**18)],
)  # fmt: skip
def test_any_kind_of_number_of_seconds_will_do(recorder, seconds, ns):
    recorder.record_duration("x", seconds)
    assert node(recorder, "x").stats.sum_ns == ns


bad_durations = [-1, -1e-9, float("nan"), float("inf"), 1e30, 10**400]


@pytest.mark.parametrize("seconds", bad_durations, ids=repr)
def test_a_duration_that_cannot_be_is_counted_and_not_recorded(recorder, seconds):
    recorder.record_duration("x", seconds)
    assert losses(recorder) == {"bad_values": 1}
    assert counts(recorder) in ({}, {"x": 0})


def test_work_done_in_a_recorded_duration_adds_up_like_that_of_a_section(recorder):
    recorder.record_duration("copy", 1e-6, bytes=4000, items=2)
    recorder.record_duration("copy", 1e-6, bytes=numpy.int64(2000), flops=1.5e3)
    with recorder.section("copy") as copy:
        copy.work(items=5)
    assert node(recorder, "copy").work == Work(bytes=6000, flops=1500, items=7)
    assert counts(recorder) == {"copy": 3}


def test_a_recorded_duration_without_work_says_nothing_of_work(recorder):
    recorder.record_duration("copy", 1e-6)
    assert node(recorder, "copy").work is None


bad_amounts = [-1, float("nan"), float("inf"), 1 << 64]


@pytest.mark.parametrize("kind", ["bytes", "flops", "items"])
@pytest.mark.parametrize("amount", bad_amounts, ids=repr)
def test_a_duration_whose_work_cannot_be_is_counted_and_not_recorded(recorder, kind, amount):
    recorder.record_duration("copy", 1e-6, **{kind: amount})
    with recorder.section("section") as section:
        section.work(**{kind: amount})
    assert losses(recorder) == {"bad_values": 2}
    assert counts(recorder) in ({"section": 1}, {"section": 1, "copy": 0})
    assert node(recorder, "section").work is None


def test_work_is_said_by_name_only(recorder):
    with pytest.raises(TypeError):
        recorder.record_duration("copy", 1e-6, 4000)


def test_a_value_whose_conversion_raises_is_counted_too(recorder):
    class Awkward:
        def __float__(self):
            raise RuntimeError("no")

    recorder.record_duration("x", Awkward())
    recorder.gauge("x", Awkward())
    assert losses(recorder) == {"bad_values": 2}


def test_a_gauge_keeps_last_least_greatest_and_count(recorder):
    for value in (3, -1.5, 0, 10, 2):
        recorder.gauge("queue", value)
    gauge = recorder.snapshot().gauges["queue"]
    assert (gauge.last, gauge.min, gauge.max, gauge.count, gauge.zeros) == (2, -1.5, 10, 5, 1)
    assert gauge.positive == Histogram.of([3, 10, 2])
    assert gauge.negative == Histogram.of([1.5])
    assert gauge.filed == 5


def test_a_gauge_keeps_its_readings_by_window_of_the_run():
    recorder = ticktree.Recorder(virtual_clock=True)
    taken = []
    for i in range(300):
        recorder.gauge("queue", i % 7)
        taken.append((i * BASE_WIDTH_NS, float(i % 7)))
        recorder.advance(BASE_WIDTH_NS)
    gauge = recorder.snapshot().gauges["queue"]
    assert gauge.windows == GaugeWindows.of(taken)
    assert gauge.windows_known
    recorder.reset()
    recorder.gauge("queue", 5)
    assert list(recorder.snapshot().gauges["queue"].windows.readings.values()) == [Readings(1, 5, 5)]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), 10**400], ids=repr)
def test_a_gauge_value_that_is_not_finite_is_counted_and_not_recorded(recorder, value):
    recorder.gauge("queue", 5)
    recorder.gauge("queue", value)
    gauge = recorder.snapshot().gauges["queue"]
    assert (gauge.count, gauge.last) == (1, 5)
    assert losses(recorder) == {"bad_values": 1}


def test_a_gauge_with_nothing_but_bad_values_is_no_gauge(recorder):
    recorder.gauge("queue", float("nan"))
    assert recorder.snapshot().gauges == {}


finite = st.floats(allow_nan=False, allow_infinity=False)


@settings(deadline=None, max_examples=80)
@given(
    st.lists(
        st.one_of(finite, st.floats(-1e4, 1e4), st.integers(-50, 50).map(float)), min_size=1, max_size=60
    )
)
def test_a_gauges_histogram_is_that_of_its_values(values):
    recorder = ticktree.Recorder(virtual_clock=True)
    for value in values:
        recorder.gauge("gauge", value)
    profile = recorder.snapshot()
    profile.check()
    recorder.disable()
    gauge = profile.gauges["gauge"]
    assert (gauge.count, gauge.min, gauge.max, gauge.last) == (
        len(values),
        min(values),
        max(values),
        values[-1],
    )
    assert gauge.zeros == values.count(0)
    lost_count = profile.losses.get("gauge_values_out_of_range", 0)
    assert gauge.filed + lost_count == len(values)
    positive, negative = [v for v in values if v > 0], [-v for v in values if v < 0]
    octaves = {math.frexp(v)[1] for v in positive} | {-math.frexp(v)[1] - 5000 for v in negative}
    if len(octaves) <= 28:
        assert lost_count == 0
        assert gauge.positive == Histogram.of(positive)
        assert gauge.negative == Histogram.of(negative)
    for buckets, given_values in ((gauge.positive, positive), (gauge.negative, negative)):
        expected = Histogram.of(given_values).buckets
        assert all(expected[bucket] == count for bucket, count in buckets.buckets.items())


def test_gauge_values_too_far_from_all_others_are_counted_but_not_filed(recorder):
    for exponent in range(40):
        recorder.gauge("wide", 2.0**exponent)
    gauge = recorder.snapshot().gauges["wide"]
    assert gauge.count == 40
    assert gauge.max == 2.0**39
    assert losses(recorder) == {"gauge_values_out_of_range": 12}


def test_the_smallest_and_greatest_of_floats_are_values_like_any(recorder):
    values = [5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, -5e-324, -1.7976931348623157e308]
    for value in values:
        recorder.gauge("gauge", value)
    gauge = recorder.snapshot().gauges["gauge"]
    assert gauge.positive == Histogram.of(values[:3])
    assert gauge.negative == Histogram.of([-value for value in values[3:]])
