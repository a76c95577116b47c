"""Tracks: calls of a lane laid out so that they nest, whatever overlaps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ticktree.outputs.tracks import nesting_order, tracks_of
from ticktree.profile.timeline import CalledNode, Lane, Timeline, call_order

PLAIN = (CalledNode("a"),)
LANE = Lane("1-1", 1, "robot", "", 7, "MainThread", 0)


def timeline_of(calls, nodes=PLAIN, **more):
    """A timeline of one lane: (start, end, node) in the order they ended."""
    start = np.array([call[0] for call in calls], np.int64)
    end = np.array([call[1] for call in calls], np.int64)
    node = np.array([call[2] if len(call) > 2 else 0 for call in calls], np.int64)
    order = call_order(start, node, nodes)
    lane = np.zeros(len(calls), np.int64)
    return Timeline((LANE,), nodes, start[order], (end - start)[order], node[order], lane, **more)


def moments(timeline, track):
    """What begins (positive, from 1) and ends (negative), in turn."""
    count = len(track.calls)
    return [int(at) + 1 if at < count else -(int(at) - count) - 1 for at in track.order]


def test_calls_that_nest_begin_and_end_like_brackets():
    timeline = timeline_of(
        [(1, 3, 1), (3, 5, 1), (0, 10, 0), (10, 12, 0)], (CalledNode("a"), CalledNode("a/b"))
    )
    (track,) = tracks_of(timeline)
    assert (track.lane, track.note, track.name) == (LANE, "", "MainThread")
    assert moments(timeline, track) == [1, 2, -2, 3, -3, -1, 4, -4]


@pytest.mark.parametrize(
    ("calls", "layers"),
    [
        ([(0, 5), (3, 8)], [1, 1]),
        ([(0, 5), (3, 8), (4, 9), (9, 10)], [2, 1, 1]),
        ([(0, 10), (2, 4), (3, 5), (5, 6)], [3, 1]),
    ],
)
def test_overlapping_calls_get_separate_tracks(calls, layers):
    tracks = list(tracks_of(timeline_of(sorted(calls, key=lambda call: call[1]))))
    assert [len(track.calls) for track in tracks] == layers
    assert [track.name for track in tracks][:2] == ["MainThread", "MainThread, overlapping 1"]


def test_durations_measured_elsewhere_are_next_to_the_lane():
    nodes = (CalledNode("a"), CalledNode("net", recorded=True))
    tracks = list(tracks_of(timeline_of([(0, 5, 0), (2, 7, 1), (3, 8, 1)], nodes)))
    assert [(track.name, len(track.calls)) for track in tracks] == [
        ("MainThread", 1),
        ("MainThread, measured elsewhere", 1),
        ("MainThread, measured elsewhere, overlapping 1", 1),
    ]


def test_a_lane_without_calls_is_no_track():
    assert list(tracks_of(timeline_of([]))) == []


def nests(calls):
    """Whether no two of these, sorted by their begin, cross: the definition, by brute force."""
    return not any(
        one[0] < other[0] < one[1] < other[1] for one in calls for other in calls if one is not other
    )


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 6)), max_size=7))
def test_crossing_calls_never_share_a_track_and_each_call_is_on_one(pairs):
    calls = sorted({(start, start + length) for start, length in pairs}, key=lambda one: (one[1], -one[0]))
    timeline = timeline_of(calls)
    tracks = list(tracks_of(timeline))
    assert sorted(call for track in tracks for call in track.calls.tolist()) == list(range(len(calls)))
    for track in tracks:
        mine = [(int(timeline.start_ns[at]), int(timeline.end_ns[at])) for at in track.calls]
        assert nests(mine)
        opened = []
        for at in moments(timeline, track):
            if at > 0:
                opened.append(at)
            else:
                assert opened.pop() == -at
        assert opened == []


def test_the_order_of_moments_is_that_of_time():
    start, end = np.array([0, 1, 4, 9]), np.array([8, 3, 8, 9])
    order = nesting_order(start, end)
    assert np.concatenate((start, end))[order].tolist() == [0, 1, 3, 4, 8, 8, 9, 9]
