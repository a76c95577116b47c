"""The difference of two readings is a profile of what happened in between."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

import ticktree
from support.profile_strategies import profiles
from ticktree.live.difference import NotLaterError, difference
from ticktree.profile import Node, Profile, Stats
from ticktree.profile.gauge import GaugeWindows

MS = 1_000_000


def without_open_calls(profile: Profile) -> Profile:
    """Open calls are a state: adding two readings of it says nothing."""
    built: dict[str, Node] = {}
    for path, _, node in reversed(list(profile.root.walk())):
        children = {
            name: built.pop(f"{path}/{child}" if path else child)
            for name, child in ((name, ticktree_path(name)) for name in node.children)
        }
        built[path] = replace(node, open=None, children=children)
    return replace(profile, root=built[""])


def ticktree_path(name: str) -> str:
    from ticktree.profile import path

    return path.element(name)


@pytest.mark.slow
@settings(max_examples=25)
@given(profiles(), profiles())
def test_the_earlier_profile_and_the_difference_merge_to_the_later_one(earlier, more):
    later = earlier + more
    between = difference(earlier, later)
    # Of a gauge that both have readings of, it is not known when those in between were.
    shared = earlier.gauges.keys() & more.gauges.keys()
    expected, merged = (
        replace(
            profile,
            gauges={
                name: replace(gauge, windows=GaugeWindows()) if name in shared else gauge
                for name, gauge in profile.gauges.items()
            },
        )
        for profile in (later, earlier + between)
    )
    assert without_open_calls(merged) == without_open_calls(expected)
    between.check()  # it is a profile like any other
    for path, _, node in between.root.walk():
        assert node.open == later.root.at(path).open


@pytest.mark.slow
@settings(max_examples=25)
@given(profiles(), profiles())
def test_percentiles_of_a_difference_are_of_the_calls_in_between(earlier, more):
    between = difference(earlier, earlier + more)
    for path, _, node in more.root.walk():
        found, expected = between.root.at(path).stats, node.stats
        assert (found.count, found.sum_ns) == (expected.count, expected.sum_ns)
        if found.count and found.is_known:
            assert found.histogram == expected.histogram
            assert found.min_ns <= expected.min_ns <= expected.max_ns <= found.max_ns
            # The ends of a bucket are 2.2% apart, plus the nanosecond that whole numbers round to.
            assert found.min_ns >= expected.min_ns / 1.0222 - 1
            assert found.max_ns <= expected.max_ns * 1.0222 + 1


@pytest.mark.slow
@settings(max_examples=25)
@given(profiles())
def test_the_difference_of_a_reading_and_itself_is_empty(profile):
    between = difference(profile, profile)
    assert not any(node.count or node.total_ns or node.windows.counts for _, _, node in between.root.walk())
    assert not between.gauges
    assert not any(between.losses.values())


@pytest.mark.slow
@settings(max_examples=25)
@given(profiles(), profiles())
def test_a_difference_in_the_wrong_order_is_an_error(earlier, more):
    later = earlier + more
    if any(node.count for _, _, node in more.root.walk()):
        with pytest.raises(NotLaterError):
            difference(later, earlier)


def test_the_end_of_a_warm_up_loses_no_calls():
    recorder = ticktree.Recorder(virtual_clock=True)
    readings = []
    for tick in recorder.loop("train", range(12), warmup=6):
        with recorder.section("step"):
            recorder.advance((10 if tick < 6 else 1) * MS)
        readings.append(recorder.snapshot())
    for earlier in readings:
        for later in readings[readings.index(earlier) :]:
            between = difference(earlier, later)
            between.check()
            steps = later.root.at("train/step").count - earlier.root.at("train/step").count
            assert between.root.at("train/step").count == steps
            assert between.loops["train"].ticks == later.loops["train"].ticks - earlier.loops["train"].ticks
    whole = difference(readings[2], readings[-1])
    assert whole.root.at("train/step").total_ns == (3 * 10 + 6 * 1) * MS


def test_a_reset_in_between_is_an_error():
    recorder = ticktree.Recorder(virtual_clock=True)
    for _ in range(3):
        with recorder.section("step"):
            recorder.advance(MS)
    before = recorder.snapshot()
    recorder.reset()
    with recorder.section("step"):
        recorder.advance(MS)
    with pytest.raises(NotLaterError):
        difference(before, recorder.snapshot())


def test_a_missing_node_is_an_error():
    one = Profile(Node(name="root", children={"x": Node(name="x")}))
    with pytest.raises(NotLaterError):
        difference(one, Profile())


def test_time_in_an_open_call_counts_before_the_call_ends():
    recorder = ticktree.Recorder(virtual_clock=True)
    with recorder.section("long"):
        recorder.advance(5 * MS)
        before = recorder.snapshot()
        recorder.advance(3 * MS)
        between = difference(before, recorder.snapshot())
    assert between.root.at("long").total_ns == 3 * MS
    assert between.root.at("long").stats == Stats()
