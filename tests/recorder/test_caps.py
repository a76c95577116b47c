"""Past a cap nothing is recorded wrongly: time stays in the parent, and the loss is counted."""

from __future__ import annotations

import sys

from telling import counts, losses, node

from ticktree.recorder import Recorder
from ticktree.run.reading.image import Image
from ticktree.run.reading.reader import read_images


def capped(node_cap):
    recorder = Recorder(virtual_clock=True)
    recorder.open(node_cap=node_cap)
    recorder.enable()
    return recorder


def profile_of(recorder):
    errors = []
    profile = read_images([Image(recorder.image())], "test", errors)
    assert errors == []
    profile.check()
    return profile


def test_past_the_node_cap_time_stays_in_the_parent():
    recorder = capped(node_cap=4)  # the root is one of them
    with recorder.section("outer"):
        for name in "abcdef":
            with recorder.section(name):
                recorder.advance(10)
    profile = profile_of(recorder)
    assert set(profile.root.at("outer").children) == {"a", "b"}
    assert profile.root.at("outer").own_ns == 40
    assert profile.losses == {"calls_over_node_cap": 4}
    recorder.disable()


def test_sections_inside_a_lost_one_are_lost_with_it_and_all_are_left_in_order():
    recorder = capped(node_cap=2)
    for _ in range(3):
        with recorder.section("outer"), recorder.section("lost"):
            with recorder.section("outer"):
                recorder.advance(5)
            recorder.stage("lost too")
            recorder.record("lost as well", 1e-9)
    profile = profile_of(recorder)
    assert profile.root.at("outer").count == 3
    assert profile.root.at("outer").own_ns == 15
    assert set(profile.root.children) == {"outer"}
    assert profile.losses["calls_over_node_cap"] == 12
    recorder.disable()


def test_mutual_recursion_into_thousands_of_paths_stays_within_the_cap():
    recorder = capped(node_cap=100)

    def down(levels):
        for name in "ab":
            with recorder.section(name):
                recorder.advance(1)
                if levels:
                    down(levels - 1)

    down(8)
    image = Image(recorder.image())
    assert image.header.node_count == 100
    profile = profile_of(recorder)
    assert profile.root.total_ns == 2**10 - 2
    counted = sum(node.count for _, _, node in profile.root.walk())
    assert counted + profile.losses["calls_over_node_cap"] == 2**10 - 2
    recorder.disable()


def test_past_the_depth_cap_time_stays_in_the_deepest_node(recorder):
    def down(levels):
        with recorder.section("down"):
            recorder.advance(1)
            if levels:
                down(levels - 1)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(5000)
    try:
        down(999)
    finally:
        sys.setrecursionlimit(limit)
    found = counts(recorder)
    assert len(found) == 256
    assert losses(recorder) == {"calls_over_node_cap": 1000 - 256}
    assert node(recorder, max(found, key=len)).own_ns == 1000 - 255
    assert recorder.snapshot().root.total_ns == 1000


def test_past_the_frame_cap_calls_are_counted_and_all_that_is_open_is_left(recorder):
    section = recorder.section("deep")
    for _ in range(70_000):
        section.__enter__()
    recorder.advance(1)
    for _ in range(70_000):
        section.__exit__(None, None, None)
    lost = losses(recorder)
    assert lost["calls_nested_too_deep"] >= 70_000 - 65_536
    assert "unmatched_leaves" not in lost
    assert recorder.snapshot().root.open.count == 1
    with recorder.section("after"):
        recorder.advance(2)
    assert node(recorder, "after").total_ns == 2
    assert node(recorder, "deep").open is None


def test_a_loop_past_the_node_cap_iterates_all_the_same():
    recorder = capped(node_cap=2)
    with recorder.section("outer"):
        assert list(recorder.loop("lost", range(3), hz=10, warmup=1)) == [0, 1, 2]
        recorder.tick("lost too")
        recorder.advance(1)
    profile = profile_of(recorder)
    assert profile.loops == {}
    assert profile.root.at("outer").own_ns == 1
    recorder.disable()
