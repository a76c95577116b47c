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
    imported = {}
    for node, duration in zip(timeline.node.tolist(), timeline.duration_ns.tolist(), strict=True):
        entry = imported.setdefault(timeline.nodes[node].path, [0, 0])
        entry[0] += 1
        entry[1] += duration
    return imported


def test_every_section_has_the_calls_and_totals_of_the_profile():
    recorder = recorded()
    _, imported = written_and_read(recorder)
    profile = recorder.snapshot()
    expected = {path: (node.count, node.stats.sum_ns) for path, _, node in profile.root.walk() if node.count}
    assert {
        path: (node.count, node.stats.sum_ns) for path, _, node in imported.root.walk() if node.count
    } == expected
    for path in expected:
        actual, expected = imported.root.at(path), profile.root.at(path)
        assert actual.total_ns == expected.total_ns, path
        assert actual.stats == expected.stats, path
        assert actual.wait == expected.wait, path
    assert imported.losses == {}


def test_loops_have_the_ticks_of_the_profile():
    recorder = recorded()
    _, imported = written_and_read(recorder)
    expected = recorder.snapshot().loops
    assert set(imported.loops) == set(expected) == {"control"}
    actual, expected_loop = imported.loops["control"], expected["control"]
    assert (actual.ticks, actual.busy_ns, actual.stats) == (
        expected_loop.ticks,
        expected_loop.busy_ns,
        expected_loop.stats,
    )
    assert [tick.duration_ns for tick in actual.worst] == [tick.duration_ns for tick in expected_loop.worst]
    assert (actual.jitter.count, actual.jitter.sum_ns) == (
        expected_loop.jitter.count,
        expected_loop.jitter.sum_ns,
    )


@pytest.mark.parametrize("events", [4, 9, 20])
def test_of_a_timeline_that_lost_calls_the_rest_stands_where_it_was(events):
    timeline, imported = written_and_read(recorded(events))
    assert timeline.overwritten > 0
    assert {path: [n.count, n.stats.sum_ns] for path, _, n in imported.root.walk() if n.count} == of_timeline(
        timeline
    )
    assert imported.losses == {BEFORE_THE_TIMELINE: timeline.overwritten}


def test_names_that_are_marked_and_numbered_are_as_they_were():
    import ticktree

    recorder = ticktree.Recorder(virtual_clock=True, timeline=100)
    for name in ("step#3", "a@device", "a/b", "\\", ""):
        with recorder.section(name):
            recorder.advance(5)
    _, imported = written_and_read(recorder)
    assert set(imported.root.children) == set(recorder.snapshot().root.children)
    assert {"step#3", "a/b", "\\"} < set(imported.root.children)


def test_the_timeline_of_the_trace_is_the_timeline():
    timeline, _ = written_and_read(recorded())
    content = EXPORTS["chrome"].render(recorded().snapshot(), timeline=timeline)
    reimported = timeline_of(json.loads(content))
    assert of_timeline(reimported) == of_timeline(timeline)
    assert not list(reimported.problems())
    assert sorted(reimported.start_ns.tolist()) == sorted(timeline.start_ns.tolist())
    assert {
        reimported.nodes[node] for node in reimported.node.tolist() if "/" in reimported.nodes[node].path
    } <= {node._replace(recorded=False) for node in timeline.nodes}
    assert reimported.began_wall_ns == timeline.began_wall_ns
    assert EXPORTS["perfetto"].render(recorded().snapshot(), timeline=reimported)
