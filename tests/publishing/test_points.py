"""What a collector is sent of snapshots: sums that only grow, and since when they were counted."""

from __future__ import annotations

from dataclasses import replace

import pytest

import ticktree
from ticktree.outputs.otlp import points
from ticktree.profile import Node, Profile
from ticktree.publishing.otlp import RequestBuilder, resource
from ticktree.publishing.snapshots import RunSnapshot

BEGAN_NS = 10**18
SECOND_NS = 10**9


def snapshot(profile: Profile, after_s: int, generation: int = 0, **changes: object) -> RunSnapshot:
    paths = {path for path, _, _ in profile.root.walk()}
    snapshot_ = RunSnapshot(
        profile=profile,
        at_ns=BEGAN_NS + after_s * SECOND_NS,
        generation=generation,
        paths=paths,
        left_out=0,
        left_out_self_ns=0,
    )
    return replace(snapshot_, **changes)


class RequestRecorder:
    """The requests of one run."""

    def __init__(self) -> None:
        self.points = RequestBuilder(BEGAN_NS, resource("run-1", {"team": "arms"}), "")

    def __call__(self, *args: object, **kwargs: object) -> dict[tuple[str, str], dict[str, str]]:
        request = self.points.request(snapshot(*args, **kwargs))
        (self.resource,) = request["resourceMetrics"]
        return {
            (metric["name"].removeprefix("ticktree."), key(point)): point
            for metric in self.resource["scopeMetrics"][0]["metrics"]
            for point in points(metric)
        }


def key(point: dict) -> str:
    return point["attributes"][0]["value"]["stringValue"] if point["attributes"] else ""


def start_s(point: dict) -> int:
    return (int(point["startTimeUnixNano"]) - BEGAN_NS) // SECOND_NS


def time_s(point: dict) -> int:
    return (int(point["timeUnixNano"]) - BEGAN_NS) // SECOND_NS


def tick(recorder: ticktree.Recorder, loop: object, ns: int) -> None:
    next(loop)
    recorder.advance(ns)


def test_every_sum_is_cumulative_since_the_run_began_and_has_the_time_of_the_snapshot() -> None:
    recorder = ticktree.Recorder(virtual_clock=True)
    sent = RequestRecorder()
    for after_s in (10, 20):
        with recorder.section("a"):
            recorder.advance(1000)
        points_by_name = sent(recorder.snapshot(), after_s)
        sums = {name: point for name, point in points_by_name.items() if "startTimeUnixNano" in point}
        assert {start_s(point) for point in sums.values()} == {0}
        assert {time_s(point) for point in points_by_name.values()} == {after_s}
        assert points_by_name["section.calls", "a"]["asInt"] == str(after_s // 10)
        assert points_by_name["section.duration", "a"]["count"] == str(after_s // 10)
    assert ("sections.left_out", "") in points_by_name
    assert ("sections.left_out", "") not in sums


def test_sums_restart_when_recording_restarts() -> None:
    recorder = ticktree.Recorder(virtual_clock=True)
    sent = RequestRecorder()
    for _ in range(3):
        with recorder.section("a"):
            recorder.advance(1000)
    sent(recorder.snapshot(), 10)
    recorder.reset()
    with recorder.section("a"):
        recorder.advance(1000)
    for after_s in (20, 30):
        points_by_name = sent(recorder.snapshot(), after_s, generation=1)
        assert points_by_name["section.calls", "a"]["asInt"] == "1"
        assert points_by_name["section.own", "a"]["asInt"] == "1000"
        assert {
            start_s(points_by_name[name, "a"])
            for name in ("section.calls", "section.own", "section.duration")
        } == {10}


def test_a_loop_restarts_when_its_warm_up_ends_but_its_sections_do_not() -> None:
    recorder = ticktree.Recorder(virtual_clock=True)
    sent = RequestRecorder()
    loop = iter(recorder.loop("train", hz=1000, warmup=3))
    for _ in range(3):
        tick(recorder, loop, 5_000_000)
    before = sent(recorder.snapshot(), 10)
    for _ in range(2):
        tick(recorder, loop, 500_000)
    points_by_name = sent(recorder.snapshot(), 20)
    assert int(before["loop.ticks.missed", "train"]["asInt"]) > int(
        points_by_name["loop.ticks.missed", "train"]["asInt"]
    )
    assert start_s(points_by_name["loop.ticks.missed", "train"]) == 10
    assert start_s(points_by_name["loop.duration", "train"]) == 10
    assert start_s(points_by_name["loop.ticks", "train"]) == 0
    assert start_s(points_by_name["section.duration", "train"]) == 0


@pytest.mark.parametrize(("generation", "self_ns"), [(0, 9000), (1, 7000)])
def test_a_falling_time_stays_at_its_maximum(generation: int, self_ns: int) -> None:
    def open_for(ns: int) -> Profile:
        return Profile(Node(name="root", children={"a": Node(name="a", self_ns=ns)}))

    sent = RequestRecorder()
    sent(open_for(9000), 10)
    points_by_name = sent(open_for(7000), 20, generation=generation)
    assert points_by_name["section.own", "a"]["asInt"] == str(self_ns)
    assert start_s(points_by_name["section.own", "a"]) == (10 if generation else 0)


def test_the_resource_tells_runs_apart_and_stays_as_it_is() -> None:
    sent = RequestRecorder()
    attributes = []
    for after_s, name in ((10, "x"), (20, "y")):
        sent(Profile(metadata={"name": frozenset(["train"]), name: frozenset([1])}), after_s)
        attributes.append(sent.resource["resource"]["attributes"])
    assert attributes[0] == attributes[1]
    values = {attribute["key"]: attribute["value"]["stringValue"] for attribute in attributes[0]}
    assert values["service.name"] == "train"
    assert values["service.instance.id"] == "run-1"
    assert values["team"] == "arms"
    assert values["host.name"]


def test_sections_that_are_left_out_are_counted() -> None:
    recorder = ticktree.Recorder(virtual_clock=True)
    for name in "ab":
        with recorder.section(name):
            recorder.advance(1000)
    points_by_name = RequestRecorder()(
        recorder.snapshot(), 10, paths={"a"}, left_out=1, left_out_self_ns=1000
    )
    assert ("section.calls", "a") in points_by_name
    assert ("section.calls", "b") not in points_by_name
    assert points_by_name["sections.left_out", ""]["asInt"] == "1"
    assert points_by_name["left_out.own", ""]["asInt"] == "1000"
    assert points_by_name["section.total", ""]["asInt"] == str(recorder.snapshot().root.total_ns)
