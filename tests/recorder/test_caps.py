"""Past a cap nothing is recorded wrongly: time stays in the parent, and the loss is counted."""

from __future__ import annotations

import contextvars
import sys
import threading

import pytest

import ticktree
from support.recorder.queries import counts, losses, node
from ticktree.recorder import Watch
from ticktree.run.reading.image import Image
from ticktree.run.reading.reader import read_images


def capped(**caps):
    recorder = ticktree.Recorder.__new__(ticktree.Recorder, virtual_clock=True)
    recorder.open(**caps)
    recorder.enable()
    return recorder


def private_profile(recorder):
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
    profile = private_profile(recorder)
    assert set(profile.root.at("outer").children) == {"a", "b"}
    assert profile.root.at("outer").self_ns == 40
    assert profile.losses == {"calls_over_node_cap": 4}
    recorder.disable()


def test_sections_inside_a_lost_one_are_lost_with_it_and_all_are_left_in_order():
    recorder = capped(node_cap=2)
    for _ in range(3):
        with recorder.section("outer"), recorder.section("lost"):
            with recorder.section("outer"):
                recorder.advance(5)
            recorder.stage("lost too")
            recorder.record_duration("lost as well", 1e-9)
    profile = private_profile(recorder)
    assert profile.root.at("outer").count == 3
    assert profile.root.at("outer").self_ns == 15
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
    profile = private_profile(recorder)
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
    paths = counts(recorder)
    assert len(paths) == 256
    assert losses(recorder) == {"calls_over_node_cap": 1000 - 256}
    assert node(recorder, max(paths, key=len)).self_ns == 1000 - 255
    assert recorder.snapshot().root.total_ns == 1000


def test_past_the_frame_cap_calls_are_counted_and_all_that_is_open_is_left(recorder):
    section = recorder.section("deep")
    for _ in range(70_000):
        section.__enter__()
    recorder.advance(1)
    for _ in range(70_000):
        section.__exit__(None, None, None)
    lost_counts = losses(recorder)
    assert lost_counts["calls_nested_too_deep"] >= 70_000 - 65_536
    assert "unmatched_leaves" not in lost_counts
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
    profile = private_profile(recorder)
    assert profile.loops == {}
    assert profile.root.at("outer").self_ns == 1
    recorder.disable()


@pytest.mark.parametrize("caps", [{"node_cap": 2}, {"name_cap": 1}, {"depth_cap": 1}])
def test_a_loop_past_a_cap_takes_no_memory_per_tick(caps):
    recorder = capped(**caps)
    with recorder.section("outer"):
        for tick in recorder.loop("lost", range(3000)):
            if tick == 1:
                used = Image(recorder.image()).header.used_bytes
            recorder.advance(1)
        assert Image(recorder.image()).header.used_bytes == used
        assert sum(bool(frame.serial) for _, frame in Image(recorder.image()).frames()) == 2
    profile = private_profile(recorder)
    assert profile.root.at("outer").self_ns == 3000
    assert profile.loops == {}
    recorder.disable()


def test_after_a_loop_past_the_cap_at_top_level_known_sections_are_recorded():
    recorder = capped(node_cap=3)
    with recorder.section("known"):
        pass
    for episode in range(3):
        for _ in recorder.loop(f"episode {episode}", range(2)):
            recorder.advance(1)
    for _ in range(100):
        with recorder.section("known"):
            recorder.advance(1)
    profile = private_profile(recorder)
    assert profile.root.at("known").count == 101
    assert profile.loops["episode 0"].ticks == 2
    assert profile.losses == {"calls_over_node_cap": 6}  # a loop's last tick, for which nothing came, is one
    recorder.disable()


@pytest.mark.slow
def test_thousands_of_loops_past_the_default_caps_lose_nothing_else(recorder):
    for episode in range(4200):
        for _ in recorder.loop(f"episode {episode}", range(1)):
            pass
    for _ in range(100):
        with recorder.section("episode 5"):
            recorder.advance(1)
    assert node(recorder, "episode 5").count == 101
    assert set(losses(recorder)) == {"calls_over_node_cap", "calls_over_name_cap"}


@pytest.mark.parametrize("caps", [{"node_cap": 2}, {"name_cap": 1}, {"depth_cap": 1}])
def test_a_stage_past_a_cap_leaves_its_loop_as_it_is(caps):
    recorder = capped(**caps)
    for _ in range(101):
        recorder.tick("control", warmup=0)
        recorder.advance(2)
        recorder.stage("lost")
        recorder.advance(1)
    profile = private_profile(recorder)
    assert profile.loops["control"].ticks == 100
    assert profile.root.at("control").self_ns == 303
    assert sum(profile.losses.values()) == 101
    assert sum(bool(frame.serial) for _, frame in Image(recorder.image()).frames()) == 3
    recorder.disable()


def test_ticks_past_the_cap_end_at_the_next_boundary():
    recorder = capped(node_cap=2)
    with recorder.section("outer"):
        for _ in range(50):
            recorder.tick("lost")
            recorder.stage("lost too")
            recorder.advance(1)
        assert sum(bool(frame.serial) for _, frame in Image(recorder.image()).frames()) == 4
    assert private_profile(recorder).root.at("outer").self_ns == 50
    recorder.disable()


def test_a_context_entered_in_a_lost_section_is_in_what_is_around_it():
    recorder = capped(name_cap=2)

    def inside():
        with recorder.section("inner"):
            recorder.advance(3)

    with recorder.section("outer"):
        inside()
        with recorder.section("lost"):
            recorder.advance(1)
            contextvars.copy_context().run(inside)
    profile = private_profile(recorder)
    outer = profile.root.at("outer")
    assert (outer.self_ns, outer.total_ns) == (1, 7)
    assert profile.root.at("outer/inner").count == 2
    assert profile.root.total_ns == 7
    recorder.disable()


def test_a_thread_started_in_a_lost_section_is_a_child_of_the_node_that_keeps_its_time():
    recorder = capped(name_cap=2)

    def work():
        with recorder.section("inner"):
            recorder.advance(3)

    with recorder.section("outer"):
        with recorder.section("inner"):
            pass
        with recorder.section("lost"):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
    profile = private_profile(recorder)
    assert profile.root.at("outer/inner").count == 2
    assert set(profile.root.children) == {"outer"}
    recorder.disable()


def test_a_watched_call_keeps_the_time_of_lost_sections_in_it():
    recorder = capped(node_cap=2)
    with recorder.section("request"):
        watch = Watch(recorder)
        assert watch.begin()
        with recorder.section("lost"):
            recorder.advance(5)
            assert watch.rows() == []
    assert watch.total_ns == 5
    recorder.disable()


def test_past_the_frame_cap_ticks_and_stages_swallow_no_leave():
    recorder = capped(frame_cap=3)
    with recorder.section("outer"), recorder.section("inner"):
        for _ in range(10):
            recorder.stage("lost")
            recorder.tick("lost")
            for _ in recorder.loop("lost", range(2)):
                recorder.advance(1)
    with recorder.section("after"):
        recorder.advance(1)
    profile = private_profile(recorder)
    assert profile.root.at("outer/inner").count == profile.root.at("outer").count == 1
    assert profile.root.at("outer/inner").self_ns == 20
    assert profile.root.at("after").count == 1
    assert profile.losses == {"calls_nested_too_deep": 50}
    recorder.disable()


def test_a_duration_past_the_name_cap_is_counted_as_one():
    recorder = capped(name_cap=1)
    with recorder.section("known"):
        recorder.record_duration("lost", 1e-9)
    assert private_profile(recorder).losses == {"calls_over_name_cap": 1}
    recorder.disable()
