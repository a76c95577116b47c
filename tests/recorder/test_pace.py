"""`pace=True` on the virtual clock: sleeping moves the clock, so due times can be told exactly."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from telling import counts, node

import ticktree

MS = 1_000_000


def starts_of(durations, hz=100):
    """When each tick began, if they take so long, in ns."""
    recorder = ticktree.Recorder(virtual_clock=True)
    starts = []
    for index in recorder.loop("loop", range(len(durations)), hz=hz, pace=True):
        starts.append(recorder.ticks)
        recorder.advance(durations[index])
    profile = recorder.snapshot()
    profile.check()
    recorder.disable()
    return starts, profile


def grid(durations, period):
    """The definition: a tick begins when it is due, or at once where that is past; who missed a whole period waits
    for none of those it missed."""
    starts, now, due = [], 0, 0
    for duration in durations:
        now = max(now, due)
        starts.append(now)
        while due <= now:
            due += period
        now += duration
    return starts


def test_ticks_that_keep_to_their_time_begin_on_the_grid():
    starts, _ = starts_of([3 * MS, 9 * MS, 1 * MS, 5 * MS])
    assert starts == [0, 10 * MS, 20 * MS, 30 * MS]


def test_a_late_tick_shifts_none_after_it():
    starts, _ = starts_of([3 * MS, 14 * MS, 1 * MS, 1 * MS])
    assert starts == [0, 10 * MS, 24 * MS, 30 * MS]


def test_missed_periods_are_skipped_not_caught_up_in_a_burst():
    starts, _ = starts_of([55 * MS, 1 * MS, 1 * MS, 1 * MS])
    assert starts == [0, 55 * MS, 60 * MS, 70 * MS]


def test_a_tick_that_ends_just_when_the_next_is_due_lets_it_begin_at_once():
    starts, _ = starts_of([10 * MS, 10 * MS, 20 * MS, 1 * MS])
    assert starts == [0, 10 * MS, 20 * MS, 40 * MS]


def test_the_sleep_is_a_wait_inside_the_tick_and_costs_no_budget():
    starts, profile = starts_of([4 * MS] * 5)
    loop, sleep = profile.loops["loop"], profile.root.at("loop/sleep")
    assert len(starts) == 5
    assert sleep.wait
    # The last tick is not followed by one to sleep for; it is found to be the last when the next is asked for.
    assert sleep.count == 5
    assert sleep.total_ns == 5 * 6 * MS
    assert loop.missed == 0
    assert loop.stats.min_ns == loop.stats.max_ns == 10 * MS


def test_an_overrun_is_missed_by_its_work_alone():
    _, profile = starts_of([4 * MS, 12 * MS, 2 * MS, 4 * MS])
    loop = profile.loops["loop"]
    assert (loop.missed, loop.lateness.sum_ns) == (1, 2 * MS)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(0, 60), max_size=25), st.sampled_from([1, 7, 30, 100, 1000, 33.3]))
def test_any_durations_give_the_starts_of_the_definition(durations, hz):
    period = round(1e9 / hz)
    durations = [duration * period // 20 for duration in durations]
    starts, _ = starts_of(durations, hz)
    assert starts == grid(durations, period)


def test_pace_without_a_rate_is_refused_and_without_pace_nothing_sleeps(recorder):
    for _ in recorder.loop("loop", range(3), hz=10):
        recorder.advance(MS)
    assert recorder.ticks == 3 * MS
    assert "loop/sleep" not in counts(recorder)
    assert node(recorder, "loop").count == 3


def test_a_real_clock_is_really_slept_on():
    recorder = ticktree.Recorder()
    for _ in recorder.loop("loop", range(4), hz=200, pace=True):
        pass
    profile = recorder.snapshot()
    profile.check()
    recorder.disable()
    assert profile.root.at("loop").total_ns >= 19_000_000
    assert 1 <= profile.root.at("loop/sleep").count <= 4  # a tick that is late already does not sleep
