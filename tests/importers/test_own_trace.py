"""Traces that ticktree itself exported, read back: what the timeline held has the totals of the profile."""

from __future__ import annotations

import json

import pytest

from support.small_run import recorded
from ticktree.importers.chrome import profile_of, timeline_of
from ticktree.outputs import EXPORTS
from ticktree.profile.timeline import BEFORE_THE_TIMELINE


def written_and_read(recorder):
    timeline = recorder.timeline()
    content = EXPORTS["chrome"].render(recorder.snapshot(), timeline=timeline)
    profile = profile_of(json.loads(content), "trace")
    return timeline, profile


def of_timeline(timeline):
    found = {}
    for spot, duration in zip(timeline.spot.tolist(), timeline.duration_ns.tolist(), strict=True):
        entry = found.setdefault(timeline.spots[spot].path, [0, 0])
        entry[0] += 1
        entry[1] += duration
    return found


def test_every_section_has_the_calls_and_totals_of_the_profile():
    recorder = recorded()
    _, found = written_and_read(recorder)
    profile = recorder.snapshot()
    expected = {path: (node.count, node.stats.sum_ns) for path, _, node in profile.root.walk() if node.count}
    assert {
        path: (node.count, node.stats.sum_ns) for path, _, node in found.root.walk() if node.count
    } == expected
    for path in expected:
        mine, theirs = found.root.at(path), profile.root.at(path)
        assert mine.total_ns == theirs.total_ns, path
        assert mine.stats == theirs.stats, path
        assert mine.wait == theirs.wait, path
    assert found.losses == {}


def test_loops_have_the_ticks_of_the_profile():
    recorder = recorded()
    _, found = written_and_read(recorder)
    theirs = recorder.snapshot().loops
    assert set(found.loops) == set(theirs) == {"control"}
    mine, its = found.loops["control"], theirs["control"]
    assert (mine.ticks, mine.busy_ns, mine.stats) == (its.ticks, its.busy_ns, its.stats)
    assert [tick.duration_ns for tick in mine.worst] == [tick.duration_ns for tick in its.worst]
    assert (mine.jitter.count, mine.jitter.sum_ns) == (its.jitter.count, its.jitter.sum_ns)


@pytest.mark.parametrize("events", [4, 9, 20])
def test_of_a_timeline_that_lost_calls_the_rest_stands_where_it_was(events):
    timeline, found = written_and_read(recorded(events))
    assert timeline.overwritten > 0
    assert {path: [n.count, n.stats.sum_ns] for path, _, n in found.root.walk() if n.count} == of_timeline(
        timeline
    )
    assert found.losses == {BEFORE_THE_TIMELINE: timeline.overwritten}


def test_names_that_are_marked_and_numbered_are_as_they_were():
    import ticktree

    recorder = ticktree.Recorder(virtual_clock=True, timeline=100)
    for name in ("step#3", "a@device", "a/b", "\\", ""):
        with recorder.section(name):
            recorder.advance(5)
    _, found = written_and_read(recorder)
    assert set(found.root.children) == set(recorder.snapshot().root.children)
    assert {"step#3", "a/b", "\\"} < set(found.root.children)


def test_the_timeline_of_the_trace_is_the_timeline():
    timeline, _ = written_and_read(recorded())
    content = EXPORTS["chrome"].render(recorded().snapshot(), timeline=timeline)
    again = timeline_of(json.loads(content))
    assert of_timeline(again) == of_timeline(timeline)
    assert not list(again.problems())
    assert sorted(again.start_ns.tolist()) == sorted(timeline.start_ns.tolist())
    assert {again.spots[spot] for spot in again.spot.tolist() if "/" in again.spots[spot].path} <= {
        spot._replace(recorded=False) for spot in timeline.spots
    }
    assert again.began_wall_ns == timeline.began_wall_ns
    assert EXPORTS["perfetto"].render(recorded().snapshot(), timeline=again)
