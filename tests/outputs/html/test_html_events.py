"""The calls of a timeline in the page: what was put in can be taken out, to the nanosecond."""

from __future__ import annotations

import asyncio
import base64
import gzip
import random
import re
import threading
from dataclasses import replace

import numpy as np
import pytest

import ticktree
from support.example_timelines import crowd, lane
from ticktree.outputs import OUTPUTS
from ticktree.outputs.html.events import TimelineTicks, drawn, packed_timeline, ticks_of
from ticktree.outputs.traces import tracks_of
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Profile
from ticktree.profile import path as paths
from ticktree.profile.timeline import CalledNode, Timeline, together


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


def of(*calls: tuple[int, int]) -> Timeline:
    start, duration = (np.array(column, np.int64) for column in zip(*calls))
    nothing = np.zeros(len(calls), np.int64)
    return Timeline((lane(0, "train"),), (CalledNode("a"),), start, duration, nothing, nothing)


@pytest.mark.parametrize(
    "timeline",
    [
        crowd(5_000)[1],
        of((0, 0)),
        of((5 * 10**15, 10**14), (5 * 10**15 + 1, 3), (6 * 10**15, 0)),
        of((10, 100), (50, 100), (60, 20)),  # the second outlasts the first: a track of its own
    ],
)
def test_what_was_put_in_can_be_taken_out_to_the_nanosecond(timeline):
    facts, data = packed_timeline(timeline, Profile.empty())
    start, duration, spot = read(facts, data)
    calls = np.concatenate([track.calls for track in tracks_of(timeline)])
    assert np.array_equal(start, timeline.start_ns[calls])
    assert np.array_equal(duration, timeline.duration_ns[calls])
    assert np.array_equal(spot, timeline.spot[calls])
    assert facts["from_ns"] == timeline.start_ns.min()
    assert facts["to_ns"] == timeline.end_ns.max()


def test_calls_that_do_not_nest_have_a_track_of_their_own():
    facts, _ = packed_timeline(of((10, 100), (50, 100)), Profile.empty())
    assert [track["title"] for track in facts["tracks"]] == ["thread 4200", "thread 4200, overlapping 1"]


def test_of_many_calls_that_overlap_most_are_told_by_how_many_there_are():
    """A hundred requests, each handed over when it ends: the page does not grow with what was under way at once."""
    timeline = of(*((10 * n, 1000 + 10 * n) for n in range(100)))
    facts, data = packed_timeline(timeline, Profile.empty())
    assert len(facts["tracks"]) == 5
    assert facts["tracks"][-1]["title"] == "thread 4200, 96 more that overlap"
    start, duration, spot = read(facts, data)
    first = sum(track["calls"] for track in facts["tracks"][:-1])
    names = [facts["spots"][at][1] for at in spot[first:]]
    assert names[:3] == ["1 more", "2 to 3 more", "4 to 7 more"]
    assert start[first + 1 :].tolist() == (start + duration)[first:-1].tolist()  # one after the other
    ends = timeline.end_ns[4:]
    for at in range(first, len(spot)):
        low, high = (int(word) for word in re.findall(r"\d+", f"{names[at - first]} {names[at - first]}")[:2])
        there = np.count_nonzero((timeline.start_ns[4:] <= start[at]) & (ends > start[at]))
        assert low <= there <= max(low, high)
    assert facts["calls"] == 100


def test_what_was_measured_elsewhere_has_few_tracks_too():
    timeline = of(*((10 * n, 1000 + 10 * n) for n in range(100)))
    facts, _ = packed_timeline(replace(timeline, spots=(CalledNode("a", recorded=True),)), Profile.empty())
    assert [track["title"].partition(", ")[2] for track in facts["tracks"]] == [
        "measured elsewhere",
        *(f"measured elsewhere, overlapping {layer}" for layer in (1, 2, 3)),
        "96 more that overlap",
    ]


def test_names_are_as_they_may_be_shown():
    name = "\u202e</script>"
    timeline = replace(of((0, 1)), lanes=(lane(0, name, name),), spots=(CalledNode(paths.join([name])),))
    facts, _ = packed_timeline(timeline, Profile.empty())
    assert facts["spots"] == [[paths.join([name]), visible(name), 0]]
    assert visible(name) in facts["tracks"][0]["title"]
    page = OUTPUTS["html"].render(crowd(10)[0], timeline=timeline)
    assert page.count(b"</script>") == 3


def test_the_page_has_them_in_an_element_of_their_own_and_only_where_there_are_any():
    profile, timeline = crowd(500)
    page = OUTPUTS["html"].render(profile, timeline=timeline)
    (found,) = re.findall(rb'<script id="ticktree-events" type="text/plain">([^<]*)</script>', page)
    assert gzip.decompress(base64.b64decode(found)) == packed_timeline(timeline, profile)[1]
    assert page == OUTPUTS["html"].render(profile, timeline=timeline)
    assert b'ticktree-events" type' not in OUTPUTS["html"].render(profile)
    assert b'ticktree-events" type' not in OUTPUTS["html"].render(profile, timeline=empty(timeline))


def empty(timeline: Timeline) -> Timeline:
    none = np.empty(0, np.int64)
    return replace(timeline, start_ns=none, duration_ns=none, spot=none, lane=none)


def test_a_call_costs_few_bytes():
    profile, timeline = crowd(50_000)
    more = len(OUTPUTS["html"].render(profile, timeline=timeline)) - len(OUTPUTS["html"].render(profile))
    assert more < 12 * len(timeline)


def found_in(recorder: ticktree.Recorder) -> tuple[Profile, Timeline, dict[str, TimelineTicks]]:
    profile, timeline = recorder.snapshot(), recorder.timeline()
    tracks = [track for track in drawn(timeline) if len(track.spot)]
    return (
        profile,
        timeline,
        {timeline.spots[each.spot].path: each for each in ticks_of(profile, timeline, tracks)},
    )


def play(recorder: ticktree.Recorder, dice: random.Random, depth: int = 0) -> None:
    """Work, waits, sections and loops in each other, drawn by lot."""
    for _ in range(dice.randrange(4)):
        what = "work" if depth == 3 else dice.choice(["work", "wait", "section", "loop"])
        if what == "work":
            recorder.advance(dice.randrange(4_000_000))
        elif what == "loop":
            for _ in recorder.loop("inner", range(2), hz=500, warmup=0):
                play(recorder, dice, depth + 1)
        else:
            with recorder.section(what, wait=what == "wait"):
                recorder.advance(dice.randrange(4_000_000))
                play(recorder, dice, depth + 1)


@pytest.mark.parametrize("seed", range(20))
def test_ticks_are_missed_by_the_rule_of_the_recorder(seed):
    dice = random.Random(seed)
    recorder = ticktree.Recorder(virtual_clock=True, timeline=100_000)
    for _ in recorder.loop("control", range(80), hz=100, warmup=dice.choice([0, 7])):
        play(recorder, dice)
    profile, _, found = found_in(recorder)
    assert found.keys() == profile.loops.keys()
    for path, ticks in found.items():
        loop = profile.loops[path]
        late = (np.count_nonzero(ticks.late_ns), ticks.late_ns.sum(), ticks.late_ns.max())
        assert late == (loop.missed, loop.lateness.sum_ns, loop.lateness.max_ns)
        assert ticks.first == 0


def test_ticks_have_their_numbers_where_earlier_ones_were_overwritten():
    recorder = ticktree.Recorder(virtual_clock=True, timeline=300)
    for tick in recorder.loop("control", range(1000), hz=100, warmup=0):
        with recorder.section("camera", wait=True):
            recorder.advance(3_000_000)
        recorder.advance(14_000_000 if tick in (400, 990) else 6_000_000)
    _, timeline, found = found_in(recorder)
    ticks = found["control"]
    assert timeline.overwritten
    assert ticks.first == 1000 - len(ticks.late_ns)
    assert {ticks.first + at: late for at, late in enumerate(ticks.late_ns) if late} == {990: 4_000_000}


def test_no_tick_that_may_be_warm_up_is_marked_as_missed():
    """Of the loop, only the sum of the threads' warm-ups is known."""
    recorder = ticktree.Recorder(virtual_clock=True, timeline=1000)
    dice = random.Random(3)
    # A thread that ended would hand its nodes to the next one.
    ended, turns = threading.Event(), [threading.Event() for _ in range(3)]

    def drive(warmup: int, turn: threading.Event) -> None:
        for _ in recorder.loop("drive", range(30), hz=100, warmup=warmup):
            recorder.advance(dice.randrange(8_000_000, 13_000_000))
        turn.set()
        ended.wait()

    threads = [threading.Thread(target=drive, args=each) for each in zip((4, 0, 9), turns, strict=True)]
    for thread, turn in zip(threads, turns, strict=True):
        thread.start()
        turn.wait()
    ended.set()
    for thread in threads:
        thread.join()
    profile, timeline = recorder.snapshot(), together([recorder.timeline()])
    ticks = list(ticks_of(profile, timeline, list(drawn(timeline))))
    loop = profile.loops["drive"]
    assert loop.warmup_ticks == 13
    assert [each.first for each in ticks] == [0, 0, 0]
    assert 0 < sum(np.count_nonzero(each.late_ns) for each in ticks) <= loop.missed
    facts, _ = packed_timeline(recorder.timeline(), profile)
    assert [tuple(each) for each in facts["ticks"]] == [(each.track, each.spot, 0, 30) for each in ticks]
    assert not any(each.late_ns[:13].any() for each in ticks)


def test_tasks_that_take_turns_have_no_numbers_and_their_own_misses():
    recorder = ticktree.Recorder(virtual_clock=True, timeline=1000)

    async def agent(busy_ns: int) -> None:
        for _ in recorder.loop("agent", range(10), hz=100, warmup=0):
            recorder.advance(busy_ns)
            with recorder.section("reply", wait=True):
                await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(agent(4_000_000), agent(12_000_000))

    asyncio.run(main())
    profile, timeline = recorder.snapshot(), recorder.timeline()
    ticks = list(ticks_of(profile, timeline, list(drawn(timeline))))
    assert [each.first for each in ticks] == [None, None]
    assert [np.count_nonzero(each.late_ns) for each in ticks] == [0, 10]
    assert profile.loops["agent"].missed == 10


def test_the_page_has_the_lateness_of_each_tick_after_its_calls():
    recorder = ticktree.Recorder(virtual_clock=True, timeline=300)
    for tick in recorder.loop("control", range(30), hz=100, warmup=0):
        recorder.advance(14_000_000 if tick == 20 else 6_000_000)
    facts, data = packed_timeline(recorder.timeline(), recorder.snapshot())
    assert facts["ticks"] == [[0, next(at for at, spot in enumerate(facts["spots"]) if spot[0]), 0, 30]]
    planes = np.frombuffer(data[-30 * facts["late_planes"] :], np.uint8).reshape(-1, 30)
    late = sum(plane.astype(int) << (8 * place) for place, plane in enumerate(planes))
    assert {tick: ns for tick, ns in enumerate(late) if ns} == {20: 4_000_000}


def test_a_loop_without_a_rate_has_ticks_and_no_lateness():
    recorder = ticktree.Recorder(virtual_clock=True, timeline=300)
    for _ in recorder.loop("train", range(30)):
        recorder.advance(1000)
    facts, data = packed_timeline(recorder.timeline(), recorder.snapshot())
    assert facts["ticks"][0][2:] == [0, 30]
    assert facts["late_planes"] == 0
    assert len(data) == sum(facts["planes"]) * facts["drawn"]
