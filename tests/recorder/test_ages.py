"""The age of the data that a tick acts on: origins, on the virtual clock, against a direct calculation."""

from __future__ import annotations

import copy
import json
import pickle
import threading
import time

import pytest

import ticktree
from support.recorder.queries import counts, losses, node

MS = 1_000_000
AGE = "loop/sensor to action"


def seconds(recorder, ago_ns=0):
    """The recorder's clock as a program reads it: in seconds."""
    return (recorder.ticks - ago_ns) / 1e9


def ages(recorder, path=AGE):
    """How many ages were recorded, and the least and the greatest of them."""
    stats = node(recorder, path).stats
    return stats.count, stats.min_ns, stats.max_ns


def play(recorder, count, body, **kwargs):
    """A loop without an iterable, of so many ticks."""
    for tick in recorder.loop("loop", **kwargs):
        if tick == count:
            break
        body(tick)


def test_the_age_counts_from_the_origin_to_the_end_of_the_ticks_work(recorder):
    def body(tick):
        tick.origin(seconds(recorder, 5 * MS))
        recorder.advance(12 * MS)

    play(recorder, 3, body)
    assert ages(recorder) == (3, 17 * MS, 17 * MS)


def test_the_sleep_of_a_paced_loop_is_not_part_of_the_age(recorder):
    def body(tick):
        tick.origin(seconds(recorder))
        recorder.advance(4 * MS)

    play(recorder, 5, body, hz=100, pace=True)
    assert ages(recorder) == (5, 4 * MS, 4 * MS)
    assert node(recorder, "loop/sleep").total_ns == 5 * 6 * MS


def test_the_age_ends_when_the_program_declares_that_it_has_acted(recorder):
    def body(tick):
        tick.origin(seconds(recorder))
        recorder.advance(4 * MS)
        tick.acted()
        recorder.advance(30 * MS)
        tick.acted()  # there is nothing left to say

    play(recorder, 2, body)
    assert ages(recorder) == (2, 4 * MS, 4 * MS)


def test_ages_belong_to_the_loop_wherever_in_the_tick_they_are_declared(recorder):
    def body(tick):
        recorder.stage("observe")
        tick.origin(seconds(recorder))
        with recorder.section("act"):
            recorder.advance(2 * MS)
            for _ in recorder.loop("inner", range(1)):
                tick.acted()

    play(recorder, 3, body)
    assert ages(recorder) == (3, 2 * MS, 2 * MS)
    assert [path for path in counts(recorder) if "sensor" in path] == [AGE]


def test_ages_take_nothing_from_the_loops_own_time_or_its_budget(recorder):
    def body(tick):
        tick.origin(seconds(recorder, 900 * MS))
        recorder.advance(4 * MS)

    recorder.advance(1000 * MS)
    play(recorder, 5, body, hz=100)
    profile = recorder.snapshot()
    profile.check()
    loop, age = profile.root.at("loop"), profile.root.at(AGE)
    assert loop.total_ns == loop.self_ns == 5 * 4 * MS
    assert age.concurrent_ns == age.total_ns == 5 * 904 * MS
    assert profile.loops["loop"].missed == 0


def test_of_several_origins_in_a_tick_the_oldest_counts(recorder):
    recorder.advance(100 * MS)

    def body(tick):
        for ago in (3, 8, 5):
            tick.origin(seconds(recorder, ago * MS))
        recorder.advance(MS)

    play(recorder, 2, body)
    assert ages(recorder) == (2, 9 * MS, 9 * MS)


def test_sensors_that_are_named_have_an_age_each(recorder):
    recorder.advance(100 * MS)

    def body(tick):
        tick.origin(seconds(recorder, 3 * MS), "wrist camera")
        tick.origin(seconds(recorder, 8 * MS), "wrist camera")
        tick.origin(seconds(recorder, 20 * MS), "scene camera")
        recorder.advance(MS)

    play(recorder, 2, body)
    assert ages(recorder, f"{AGE}: wrist camera") == (2, 9 * MS, 9 * MS)
    assert ages(recorder, f"{AGE}: scene camera") == (2, 21 * MS, 21 * MS)
    assert AGE not in counts(recorder)


def test_a_tick_without_an_origin_has_no_age(recorder):
    play(recorder, 10, lambda tick: tick.origin(seconds(recorder)) if tick % 5 == 0 else None)
    assert ages(recorder)[0] == 2


def test_a_tick_that_is_cut_short_has_no_age_and_leaves_none_to_the_next_loop(recorder):
    for tick in recorder.loop("loop"):
        tick.origin(seconds(recorder))
        if tick == 1:
            break
    play(recorder, 1, lambda tick: None)
    assert ages(recorder)[0] == 1


def test_a_loop_over_an_iterable_takes_origins_itself(recorder):
    loop = recorder.loop("loop", ["a", "b"])
    for item in loop:
        assert item in ("a", "b")
        loop.origin(seconds(recorder))
        recorder.advance(7 * MS)
    assert ages(recorder) == (2, 7 * MS, 7 * MS)


def test_a_boundary_of_somebody_elses_loop_takes_origins_of_the_tick_it_begins(recorder):
    for _ in range(3):
        tick = recorder.tick("loop")
        tick.origin(seconds(recorder))
        recorder.advance(2 * MS)
        with recorder.section("act"):
            recorder.advance(MS)
    assert ages(recorder) == (2, 3 * MS, 3 * MS)  # the last tick is still open
    tick.acted()
    assert ages(recorder)[0] == 3


def test_threads_that_mark_ticks_of_the_same_name_have_their_own_origins(recorder):
    def other():
        recorder.tick("loop").acted()
        recorder.tick("loop")

    recorder.tick("loop").origin(seconds(recorder))
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    recorder.advance(5 * MS)
    recorder.tick("loop")
    assert ages(recorder) == (1, 5 * MS, 5 * MS)


def test_two_loops_of_a_name_at_once_keep_their_ages_apart(recorder):
    outer = recorder.loop("loop")
    inner = recorder.loop("loop")
    first = next(outer)
    second = next(inner)
    first.origin(seconds(recorder))
    recorder.advance(MS)
    second.origin(seconds(recorder))
    recorder.advance(MS)
    next(inner)
    next(outer)
    assert ages(recorder, "loop/loop/sensor to action") == (1, MS, MS)
    assert ages(recorder) == (1, 2 * MS, 2 * MS)
    inner.close()
    outer.close()


@pytest.mark.parametrize(
    "timestamp",
    [1.78e9, 1.78e18, float("nan"), float("inf"), 0.0, -5.0],
    ids=["wall clock", "nanoseconds", "nan", "inf", "since the episode began", "negative"],
)
def test_a_time_of_another_clock_is_a_loss_and_no_age(recorder, timestamp):
    recorder.advance(61 * 1000 * MS)
    play(recorder, 1, lambda tick: tick.origin(timestamp))
    assert AGE not in counts(recorder)
    assert losses(recorder) == {"bad_values": 1}


def test_a_clock_that_is_a_little_ahead_gives_an_age_of_nothing_not_of_less(recorder):
    recorder.advance(100 * MS)
    play(recorder, 1, lambda tick: tick.origin(seconds(recorder, -MS // 2)))
    assert ages(recorder) == (1, 0, 0)


def test_time_of_day_is_refused_and_the_monotonic_clocks_are_taken_on_a_real_clock():
    recorder = ticktree.Recorder()
    clocks = [time.monotonic, time.perf_counter, time.time]
    for tick in recorder.loop("loop"):
        if tick == len(clocks):
            break
        tick.origin(clocks[tick]())
    count, minimum, maximum = ages(recorder)
    assert losses(recorder) == {"bad_values": 1}
    recorder.disable()
    assert count == 2
    assert 0 <= minimum <= maximum < 60_000 * MS


def test_without_recording_an_origin_is_nothing():
    recorder = ticktree.Recorder(virtual_clock=True)
    recorder.disable()
    for tick in recorder.loop("loop"):
        tick.origin(-1.0)
        tick.acted()
        recorder.tick("other").origin(0)
        if tick == 3:
            break
    recorder.enable()
    assert counts(recorder) == {}
    assert losses(recorder) == {}
    recorder.disable()


def test_a_tick_is_a_number_like_any_other(recorder):
    loop = recorder.loop("loop")
    first, second = next(loop), next(loop)
    loop.close()
    assert isinstance(second, int)
    assert (first, second, second + 1, hash(second), f"{second:03}") == (0, 1, 2, hash(1), "001")
    assert repr(second) == "1"
    assert [10, 11][second] == 11
    assert {1: "one"}[second] == "one"
    assert json.dumps([second]) == "[1]"


def test_ticks_count_on_as_numbers_do(recorder):
    loop = recorder.loop("loop")
    pairs = zip(range(70_000), loop, strict=False)
    assert all(tick == number and tick + tick == 2 * number for number, tick in pairs)
    loop.close()


def test_a_tick_is_copied_and_sent_to_other_processes_as_the_number_it_is(recorder):
    loop = recorder.loop("loop")
    next(loop)
    tick = next(loop)
    loop.close()
    for copied in (pickle.loads(pickle.dumps(tick)), copy.copy(tick), copy.deepcopy(tick)):
        assert (copied, type(copied)) == (1, int)


def test_an_earlier_tick_object_counts_for_the_open_tick(recorder):
    loop = recorder.loop("loop")
    last_tick = next(loop)
    next(loop)
    last_tick.origin(seconds(recorder))
    recorder.advance(MS)
    next(loop)
    assert ages(recorder) == (1, MS, MS)
    loop.close()
    last_tick.origin(seconds(recorder))
    last_tick.acted()
    assert ages(recorder)[0] == 1


def test_the_loops_thread_records_an_origin_that_another_thread_declares(recorder):
    loop = recorder.loop("loop")
    tick = next(loop)

    def sense():
        tick.origin(seconds(recorder))
        tick.acted()  # which that thread cannot know of this one's tick

    thread = threading.Thread(target=sense)
    thread.start()
    thread.join()
    recorder.advance(3 * MS)
    next(loop)
    assert ages(recorder) == (1, 3 * MS, 3 * MS)
    loop.close()


def test_a_loop_after_another_makes_no_new_class_for_its_ticks(recorder):
    kinds = set()
    for _ in range(5):
        for tick in recorder.loop("loop"):
            kinds.add(type(tick))
            break
    assert len(kinds) == 1
