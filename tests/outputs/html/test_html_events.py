"""The calls of a timeline in the page: what was put in can be taken out, to the nanosecond."""

from __future__ import annotations

import base64
import gzip
import re
from dataclasses import replace

import numpy as np
import pytest

import ticktree
from support.example_timelines import crowd, lane
from ticktree.outputs import OUTPUTS
from ticktree.outputs.html.events import pack_timeline
from ticktree.outputs.tracks import tracks_of
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Profile
from ticktree.profile import path as paths
from ticktree.profile.timeline import CalledNode, Timeline


def read(facts: dict, data: bytes) -> list[np.ndarray]:
    """The columns, as the front end reads them."""
    columns, at = [], 0
    for planes in facts["planes"]:
        planes_of = np.frombuffer(data, np.uint8, planes * facts["drawn"], at).reshape(planes, -1)
        columns.append(sum(plane.astype(np.int64) << (8 * place) for place, plane in enumerate(planes_of)))
        at += planes * facts["drawn"]
    assert at == len(data)
    begin = 0
    for track in facts["tracks"]:
        end = begin + track["calls"]
        columns[0][begin:end] = np.cumsum(columns[0][begin:end])
        begin = end
    return columns


def timeline_of(*calls: tuple[int, int]) -> Timeline:
    start, duration = (np.array(column, np.int64) for column in zip(*calls))
    nothing = np.zeros(len(calls), np.int64)
    return Timeline((lane(0, "train"),), (CalledNode("a"),), start, duration, nothing, nothing)


@pytest.mark.parametrize(
    "timeline",
    [
        crowd(5_000)[1],
        timeline_of((0, 0)),
        timeline_of((5 * 10**15, 10**14), (5 * 10**15 + 1, 3), (6 * 10**15, 0)),
        timeline_of((10, 100), (50, 100), (60, 20)),  # the second outlasts the first: a track of its own
    ],
)
def test_unpacked_calls_equal_the_packed_ones_to_the_nanosecond(timeline):
    facts, data = pack_timeline(timeline, Profile.empty())
    start, duration, nodes = read(facts, data)
    calls = np.concatenate([track.calls for track in tracks_of(timeline)])
    assert np.array_equal(start, timeline.start_ns[calls])
    assert np.array_equal(duration, timeline.duration_ns[calls])
    assert np.array_equal(nodes, timeline.node[calls])
    assert facts["from_ns"] == timeline.start_ns.min()
    assert facts["to_ns"] == timeline.end_ns.max()


def test_calls_that_do_not_nest_have_separate_tracks():
    facts, _ = pack_timeline(timeline_of((10, 100), (50, 100)), Profile.empty())
    assert [track["title"] for track in facts["tracks"]] == ["thread 4200", "thread 4200, overlapping 1"]


def test_of_many_overlapping_calls_most_are_shown_as_a_count():
    """A hundred requests, each handed over when it ends: the page does not grow with what was under way at once."""
    timeline = timeline_of(*((10 * n, 1000 + 10 * n) for n in range(100)))
    facts, data = pack_timeline(timeline, Profile.empty())
    assert len(facts["tracks"]) == 5
    assert facts["tracks"][-1]["title"] == "thread 4200, 96 more that overlap"
    start, duration, nodes = read(facts, data)
    first = sum(track["calls"] for track in facts["tracks"][:-1])
    names = [facts["nodes"][at][1] for at in nodes[first:]]
    assert names[:3] == ["1 more", "2 to 3 more", "4 to 7 more"]
    assert start[first + 1 :].tolist() == (start + duration)[first:-1].tolist()  # one after the other
    ends = timeline.end_ns[4:]
    for at in range(first, len(nodes)):
        low, high = (int(word) for word in re.findall(r"\d+", f"{names[at - first]} {names[at - first]}")[:2])
        open_calls = np.count_nonzero((timeline.start_ns[4:] <= start[at]) & (ends > start[at]))
        assert low <= open_calls <= max(low, high)
    assert facts["calls"] == 100


def test_durations_measured_elsewhere_have_few_tracks_too():
    timeline = timeline_of(*((10 * n, 1000 + 10 * n) for n in range(100)))
    facts, _ = pack_timeline(replace(timeline, nodes=(CalledNode("a", recorded=True),)), Profile.empty())
    assert [track["title"].partition(", ")[2] for track in facts["tracks"]] == [
        "measured elsewhere",
        *(f"measured elsewhere, overlapping {layer}" for layer in (1, 2, 3)),
        "96 more that overlap",
    ]


def test_names_are_safe_to_show():
    name = "\u202e</script>"
    timeline = replace(
        timeline_of((0, 1)), lanes=(lane(0, name, name),), nodes=(CalledNode(paths.join([name])),)
    )
    facts, _ = pack_timeline(timeline, Profile.empty())
    assert facts["nodes"] == [[paths.join([name]), visible(name), 0]]
    assert visible(name) in facts["tracks"][0]["title"]
    page = OUTPUTS["html"].render(crowd(10)[0], timeline=timeline)
    assert page.count(b"</script>") == 3


def test_the_page_has_calls_in_a_separate_element_only_if_there_are_any():
    profile, timeline = crowd(500)
    page = OUTPUTS["html"].render(profile, timeline=timeline)
    (encoded,) = re.findall(rb'<script id="ticktree-events" type="text/plain">([^<]*)</script>', page)
    assert gzip.decompress(base64.b64decode(encoded)) == pack_timeline(timeline, profile)[1]
    assert page == OUTPUTS["html"].render(profile, timeline=timeline)
    assert b'ticktree-events" type' not in OUTPUTS["html"].render(profile)
    assert b'ticktree-events" type' not in OUTPUTS["html"].render(profile, timeline=empty(timeline))


def empty(timeline: Timeline) -> Timeline:
    empty_column = np.empty(0, np.int64)
    return replace(
        timeline, start_ns=empty_column, duration_ns=empty_column, node=empty_column, lane=empty_column
    )


def test_a_call_costs_few_bytes():
    profile, timeline = crowd(50_000)
    more = len(OUTPUTS["html"].render(profile, timeline=timeline)) - len(OUTPUTS["html"].render(profile))
    assert more < 12 * len(timeline)


def test_the_page_has_the_lateness_of_each_tick_after_its_calls():
    recorder = ticktree.Recorder(virtual_clock=True, timeline=300)
    for tick in recorder.loop("control", range(30), hz=100, warmup=0):
        recorder.advance(14_000_000 if tick == 20 else 6_000_000)
    facts, data = pack_timeline(recorder.timeline(), recorder.snapshot())
    assert facts["ticks"] == [[0, next(at for at, nodes in enumerate(facts["nodes"]) if nodes[0]), 0, 30]]
    planes = np.frombuffer(data[-30 * facts["late_planes"] :], np.uint8).reshape(-1, 30)
    late = sum(plane.astype(int) << (8 * place) for place, plane in enumerate(planes))
    assert {tick: ns for tick, ns in enumerate(late) if ns} == {20: 4_000_000}


def test_a_loop_without_a_rate_has_ticks_and_no_lateness():
    recorder = ticktree.Recorder(virtual_clock=True, timeline=300)
    for _ in recorder.loop("train", range(30)):
        recorder.advance(1000)
    facts, data = pack_timeline(recorder.timeline(), recorder.snapshot())
    assert facts["ticks"][0][2:] == [0, 30]
    assert facts["late_planes"] == 0
    assert len(data) == sum(facts["planes"]) * facts["drawn"]
