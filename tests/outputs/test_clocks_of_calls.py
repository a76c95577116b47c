"""What another clock measured is told apart from what the host's did, in every output of calls one by one."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import ticktree
from ticktree.outputs import EXPORTS, ViewOptions
from ticktree.outputs.html.events import pack_timeline
from ticktree.profile import Profile
from ticktree.profile import path as paths
from ticktree.profile.timeline import CalledNode, Timeline

MS = 1_000_000


def of_a_trace() -> tuple[Profile, Timeline]:
    """As it is read from another program's trace, which knows when its device did what."""
    recorder = ticktree.Recorder(virtual_clock=True, timeline=100)
    for _ in range(3):
        with recorder.section("update"):
            recorder.advance(2 * MS)
            recorder.book(recorder.place(), ("copies",), MS, "device")
            with recorder.section("copies"):
                recorder.advance(MS)
    timeline = recorder.timeline()
    assert timeline is not None
    device = next(at for at, node in enumerate(timeline.nodes) if node.path == "update/copies@device")
    node = timeline.node.copy()
    node[-1] = device  # the last of the host's copies is taken for one of the device's
    nodes = tuple(replaced._replace(recorded=False) for replaced in timeline.nodes)
    return recorder.snapshot(), replace(timeline, node=node, nodes=nodes)


def exported(name: str, only: str | None = "calls") -> bytes:
    profile, timeline = of_a_trace()
    return EXPORTS[name].render(profile, ViewOptions(only=only), timeline)


@pytest.mark.parametrize("name", ["chrome", "otlp", "perfetto", "speedscope"])
def test_a_devices_calls_are_labelled_with_their_clock(name):
    assert b"copies@device" in exported(name)


def test_chromes_events_of_a_device_have_its_clock_in_their_names():
    events = json.loads(exported("chrome"))["traceEvents"]
    named = [(one["name"], one["args"]["path"]) for one in events if "path" in one.get("args", {})]
    assert named == [("copies@device", "update/copies@device")]


def test_a_devices_calls_and_its_totals_are_one_frame():
    frames = [frame["name"] for frame in json.loads(exported("speedscope", None))["shared"]["frames"]]
    assert sorted(frames) == ["copies", "copies@device", "root", "update"]


def test_a_devices_spans_have_their_clock():
    assert exported("otlp").count(b'{"key":"clock","value":{"stringValue":"device"}}') == 1


def test_the_page_labels_a_devices_calls():
    profile, timeline = of_a_trace()
    facts, _ = pack_timeline(timeline, profile)
    assert {node[1] for node in facts["nodes"]} >= {"copies", "copies@device"}


def test_a_name_that_ends_like_a_marked_one_is_shown_as_it_is():
    assert CalledNode(paths.join(["a@device@host"])).label == "a@device"
    assert CalledNode("").label == "root"
