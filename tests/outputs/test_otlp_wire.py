"""OTLP as protocol buffers: the messages that its JSON is, to the field."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from support.example_profiles import control, gauge_of, training
from support.hostile_profiles import hostile, side_by_side, unknown_durations
from support.profile_strategies import profiles
from ticktree.outputs.otlp import binary, metrics, points, request
from ticktree.profile import Profile


def assert_same(fields):
    reason = "OTLP's protocol buffers were not read by the opentelemetry-proto package"
    service = pytest.importorskip(
        "opentelemetry.proto.collector.metrics.v1.metrics_service_pb2", reason=reason
    )
    from google.protobuf import json_format

    message = service.ExportMetricsServiceRequest
    assert message.FromString(binary(fields)) == json_format.ParseDict(fields, message())


@pytest.mark.parametrize("make", [training, control, side_by_side, hostile, unknown_durations, Profile.empty])
def test_both_are_the_same_messages(make):
    assert_same(request(make()))


@settings(max_examples=15)
@given(profiles())
def test_both_are_the_same_messages_of_any_profile(profile):
    assert_same(request(profile))


def test_times_of_points_and_numbers_below_nought_are_there():
    fields = request(Profile(gauges={"depth": gauge_of("depth", [-2.5, 0.0, 0.01])}))
    for metric in fields["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]:
        for point in points(metric):
            point.update(startTimeUnixNano=str(10**18), timeUnixNano=str(10**18 + 1))
            if "asInt" in point:
                point["asInt"] = "-7"
    assert_same(fields)


def test_of_sections_only_those_asked_for_are_told_and_the_run():
    found = {metric["name"]: points(metric) for metric in metrics(training(), {"train"})}
    told = {point["attributes"][0]["value"]["stringValue"] for point in found["ticktree.section.total"]}
    assert told == {"", "train"}


def test_waits_are_a_separate_metric():
    from ticktree.profile import Node

    waits = Node(name="recv", self_ns=5, wait=True)
    profile = Profile(Node(name="root", children={"recv": waits, "work": Node(name="work", self_ns=3)}))
    (metric,) = [one for one in metrics(profile) if one["name"] == "ticktree.section.waited"]
    ((point,),) = [points(metric)]
    assert (point["attributes"][0]["value"]["stringValue"], point["asInt"]) == ("recv", "5")
