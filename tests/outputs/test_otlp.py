"""OTLP/JSON, as protobuf reads it into the messages of the opentelemetry-proto package."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings

from support.example_profiles import control, gauge_of, training
from support.hostile_profiles import NAMES, hostile, side_by_side, unknown_durations
from support.profile_strategies import profiles
from ticktree.outputs import EXPORTS
from ticktree.outputs.writing.visible import encodable
from ticktree.profile import Profile
from ticktree.profile.histogram import edges_of


def render_text(profile):
    return EXPORTS["otlp"].render(profile).decode()


def resource(profile):
    reason = "OTLP files were not read by the opentelemetry-proto package"
    service = pytest.importorskip(
        "opentelemetry.proto.collector.metrics.v1.metrics_service_pb2", reason=reason
    )
    from google.protobuf import json_format

    request = json_format.Parse(render_text(profile), service.ExportMetricsServiceRequest())
    (only,) = request.resource_metrics
    return only


def metrics(profile):
    (scope,) = resource(profile).scope_metrics
    assert len({metric.name for metric in scope.metrics}) == len(scope.metrics)
    return {metric.name.removeprefix("ticktree."): metric for metric in scope.metrics}


def points(profile, name):
    return points_of(metrics(profile).get(name))


def points_of(metric):
    if metric is None:
        return {}
    kind = metric.WhichOneof("data")
    return {point.attributes[0].value.string_value: point for point in getattr(metric, kind).data_points}


@settings(max_examples=20)
@given(profiles())
def test_any_profile_is_read_with_its_times_and_its_buckets(profile):
    read = metrics(profile)
    total, own, durations = (points_of(read.get(f"section.{name}")) for name in ("total", "own", "duration"))
    for path, _, node in profile.root.walk():
        assert total[path].as_int == node.total_ns
        assert own[path].as_int == node.self_ns
        duration = durations.get(path)
        assert (duration is not None) == bool(path and node.count and node.stats.is_known)
        if duration is not None:
            assert duration.scale == 5
            assert duration.count == node.count == sum(duration.positive.bucket_counts)
            assert (duration.sum, duration.min, duration.max) == (
                node.stats.sum_ns,
                node.stats.min_ns,
                node.stats.max_ns,
            )
            assert buckets(duration.positive) == node.stats.histogram.buckets


def buckets(read):
    return {read.offset + at: count for at, count in enumerate(read.bucket_counts) if count}


@pytest.mark.parametrize("bucket", [-64, 0, 1, 33, 700])
def test_our_buckets_are_those_of_scale_5(bucket):
    base = 2 ** (2**-5)
    assert edges_of(bucket) == pytest.approx((base**bucket, base ** (bucket + 1)))
    assert math.isclose(base, edges_of(1)[0])


def test_counters_only_grow_and_what_ran_concurrently_may_not():
    read = metrics(side_by_side())
    assert read["section.calls"].sum.is_monotonic
    assert not read["section.concurrent"].sum.is_monotonic
    assert read["section.total"].unit == "ns"
    assert {m.sum.aggregation_temporality for m in read.values() if m.HasField("sum")} == {2}
    assert set(points(side_by_side(), "section.concurrent")) == {"main/worker", "main/tasks"}


def test_loops_and_losses_are_there():
    assert points(control(), "loop.ticks")["control"].as_int == 1200
    assert points(control(), "loop.ticks.missed")["control"].as_int == 9
    assert points(control(), "loop.budget")["control"].as_int == 10_000_000
    assert points(control(), "loop.duration")["control"].count == 1190
    assert points(control(), "not_recorded")["unwound"].as_int == 2


def test_a_gauge_is_its_last_reading_and_where_all_of_them_were():
    gauge = gauge_of("depth", [0.0, 0.25, 4.0, 4.0])
    profile = Profile(gauges={"depth": gauge})
    last = points(profile, "gauge.last")["depth"]
    assert (last.as_double, last.time_unix_nano) == (4.0, gauge.last_wall_ns)
    readings = points(profile, "gauge.readings")["depth"]
    assert (readings.count, readings.zero_count, readings.min, readings.max) == (4, 1, 0.0, 4.0)
    assert buckets(readings.positive) == {-64: 1, 64: 2}
    assert not readings.HasField("sum")


def test_what_is_not_known_has_no_point():
    assert points(training(), "loop.ticks.missed") == {}
    assert points(training(), "loop.budget") == {}
    assert points(unknown_durations(), "section.duration") == {}
    assert points(unknown_durations(), "section.calls")["told"].as_int == 2
    assert "gauge.last" not in metrics(unknown_durations())


def test_what_was_run_and_where_are_attributes_of_the_resource():
    facts = {each.key: each.value for each in resource(training()).resource.attributes}
    assert facts["service.name"].string_value == "visual_sac"
    assert facts["ceiling.flops_per_s"].int_value == 187_000_000_000
    assert [each.string_value for each in sorted_values(resource(hostile()), "command")] == sorted(NAMES[:5])


def sorted_values(read, key):
    (found,) = [each.value for each in read.resource.attributes if each.key == key]
    return found.array_value.values


def test_hostile_names_are_there():
    assert set(points(hostile(), "gauge.last")) == {encodable(name) for name in NAMES}


def test_it_is_one_line_and_empty_of_nothing():
    assert render_text(training()).count("\n") == 1
    assert set(metrics(Profile.empty())) == {"section.total", "section.own"}
