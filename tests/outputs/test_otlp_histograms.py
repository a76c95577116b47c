"""Our exponential histograms beside those that OpenTelemetry's SDK makes of the same durations."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ticktree
from ticktree.outputs import EXPORTS
from ticktree.outputs.otlp import SCALE

REASON = "histograms were not compared with those of OpenTelemetry's SDK"
pytest.importorskip("opentelemetry.sdk.metrics", reason=REASON)
service = pytest.importorskip("opentelemetry.proto.collector.metrics.v1.metrics_service_pb2", reason=REASON)

from google.protobuf import json_format  # noqa: E402
from opentelemetry.sdk.metrics import MeterProvider  # noqa: E402
from opentelemetry.sdk.metrics.export import InMemoryMetricReader  # noqa: E402
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation, View  # noqa: E402

# From a nanosecond to a quarter of an hour: as many buckets as the SDK can have without coarser ones.
MOST_NS = 1 << 40


def our_buckets(durations):
    """The point that we export of a section that was called so long."""
    recorder = ticktree.Recorder(virtual_clock=True)
    for ns in durations:
        with recorder.section("a"):
            recorder.advance(ns)
    request = json_format.Parse(
        EXPORTS["otlp"].render(recorder.snapshot()), service.ExportMetricsServiceRequest()
    )
    (metric,) = [
        metric
        for metric in request.resource_metrics[0].scope_metrics[0].metrics
        if metric.name == "ticktree.section.duration"
    ]
    (point,) = metric.exponential_histogram.data_points
    return point


def sdk_buckets(durations):
    """The point that the SDK's in-memory reader gets of the same."""
    reader = InMemoryMetricReader()
    view = View(
        instrument_name="a",
        aggregation=ExponentialBucketHistogramAggregation(
            max_size=MOST_NS.bit_length() << SCALE, max_scale=SCALE
        ),
    )
    provider = MeterProvider(metric_readers=[reader], views=[view], shutdown_on_exit=False)
    histogram = provider.get_meter("test").create_histogram("a", unit="ns")
    for ns in durations:
        histogram.record(ns)
    (metric,) = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
    (point,) = metric.data.data_points
    return point


def counts(buckets):
    return {buckets.offset + at: count for at, count in enumerate(buckets.bucket_counts) if count}


def is_power_of_2(ns):
    return not ns & (ns - 1)


# What is to be filed: durations of every size, each size as likely as any other.
durations_ns = st.integers(0, 39).flatmap(lambda octave: st.integers(1 << octave, (2 << octave) - 1))


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.lists(durations_ns.filter(lambda ns: not is_power_of_2(ns)), min_size=1, max_size=50))
def test_they_are_the_same_bucket_by_bucket(durations):
    mine, sdks = our_buckets(durations), sdk_buckets(durations)
    assert mine.scale == sdks.scale == SCALE
    assert counts(mine.positive) == counts(sdks.positive)
    assert (mine.count, mine.zero_count) == (sdks.count, sdks.zero_count) == (len(durations), 0)
    assert (mine.sum, mine.min, mine.max) == (sdks.sum, sdks.min, sdks.max)


@pytest.mark.parametrize("octave", [1, 2, 10, 39])
def test_an_exact_power_of_two_is_the_first_of_its_bucket_here_and_the_last_of_the_one_before_there(octave):
    (bucket,) = counts(our_buckets([1 << octave]).positive)
    assert (bucket, *counts(sdk_buckets([1 << octave]).positive)) == (octave << SCALE, (octave << SCALE) - 1)


def test_nothing_is_counted_with_one_nanosecond_here_and_by_itself_there():
    assert counts(our_buckets([0]).positive) == {0: 1}
    assert sdk_buckets([0]).zero_count == 1
