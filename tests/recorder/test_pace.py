"""`pace` on the virtual clock: sleeping moves the clock, so due times are exact."""

from __future__ import annotations

import signal
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ticktree
from support.recorder.queries import counts, losses, node

MS = 1_000_000
SECOND = 1000 * MS


def tick_starts(durations, hz=100, pace=True, first_start=0):
    """When each tick began, if they take so long, in ns."""
    recorder = ticktree.Recorder(virtual_clock=True)
    recorder.advance(first_start)
    starts = []
    for index in recorder.loop("loop", range(len(durations)), hz=hz, pace=pace):
        starts.append(recorder.ticks)
        recorder.advance(durations[index])
    profile = recorder.snapshot()
    profile.check()
    recorder.disable()
    return starts, profile


def due(tick, hz):
    """When a tick is due, from the first one's beginning on: a multiple of the period, rounded once."""
    return int(tick * 1e9 / hz + 0.5)


def skipping(durations, hz):
    """The definition: a tick begins when it is due, or at once where that is past; who missed a whole period waits
    for none of those it missed."""
    starts, now, next_tick = [], 0, 0
    for duration in durations:
        now = max(now, due(next_tick, hz))
        starts.append(now)
        while due(next_tick, hz) <= now:
            next_tick += 1
        now += duration
    return starts


def catching_up(durations, hz):
    """The definition: a tick for each due time, at once where it is past; those past by more than a second, or by more
    than a period where that is longer, are dropped."""
    starts, now = [], 0
    next_tick = 0
    for duration in durations:
        now = max(now, due(next_tick, hz))
        starts.append(now)
        next_tick += 1
        while due(next_tick, hz) < now - max(SECOND, int(1e9 / hz)):
            next_tick += 1
        now += duration
    return starts


def test_ticks_that_keep_to_their_time_begin_on_the_grid():
    starts, _ = tick_starts([3 * MS, 9 * MS, 1 * MS, 5 * MS])
    assert starts == [0, 10 * MS, 20 * MS, 30 * MS]


def test_a_late_tick_shifts_none_after_it():
    starts, _ = tick_starts([3 * MS, 14 * MS, 1 * MS, 1 * MS])
    assert starts == [0, 10 * MS, 24 * MS, 30 * MS]


def test_missed_periods_are_skipped_not_caught_up_in_a_burst():
    starts, _ = tick_starts([55 * MS, 1 * MS, 1 * MS, 1 * MS])
    assert starts == [0, 55 * MS, 60 * MS, 70 * MS]


def test_a_tick_that_ends_just_when_the_next_is_due_lets_it_begin_at_once():
    starts, _ = tick_starts([10 * MS, 10 * MS, 20 * MS, 1 * MS])
    assert starts == [0, 10 * MS, 20 * MS, 40 * MS]


def test_the_sleep_is_a_wait_inside_the_tick_and_costs_no_budget():
    starts, profile = tick_starts([4 * MS] * 5)
    loop, sleep = profile.loops["loop"], profile.root.at("loop/sleep")
    assert len(starts) == 5
    assert sleep.wait
    # The last tick is not followed by one to sleep for; it turns out to be the last when the next is requested.
    assert sleep.count == 5
    assert sleep.total_ns == 5 * 6 * MS
    assert loop.missed == 0
    assert loop.stats.min_ns == loop.stats.max_ns == 10 * MS


def test_an_overrun_is_missed_by_its_work_alone():
    _, profile = tick_starts([4 * MS, 12 * MS, 2 * MS, 4 * MS])
    loop = profile.loops["loop"]
    assert (loop.missed, loop.lateness.sum_ns) == (1, 2 * MS)


rates = st.sampled_from([0.4, 1, 7, 30, 100, 1000, 33.3])


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(0, 60), max_size=25), rates)
def test_any_durations_give_the_starts_of_the_definition(durations, hz):
    durations = [round(duration * 1e9 / hz / 20) for duration in durations]
    for pace in (True, "skip"):
        assert tick_starts(durations, hz, pace)[0] == skipping(durations, hz)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(0, 20) | st.integers(0, 20_000), max_size=25), rates)
def test_any_durations_are_caught_up_as_defined(durations, hz):
    durations = [round(duration * 1e9 / hz / 20) for duration in durations]
    assert tick_starts(durations, hz, "catch up")[0] == catching_up(durations, hz)


def test_late_ticks_are_caught_up_back_to_back_until_the_grid_is_reached_again():
    starts, profile = tick_starts([25 * MS, *[1 * MS] * 5], pace="catch up")
    assert starts == [0, 25 * MS, 26 * MS, 30 * MS, 40 * MS, 50 * MS]
    assert profile.loops["loop"].ticks == 6


def test_no_more_than_a_second_is_caught_up():
    starts, _ = tick_starts([3 * SECOND, *[MS] * 200], hz=100, pace="catch up")
    # The tick that was due at 10 ms; then one for each due time from 2,000 ms on, 1 ms each, until 3,112 ms, where the
    # last one due is that of 3,110 ms.
    assert starts[1:115] == [*(3 * SECOND + i * MS for i in range(113)), 3120 * MS]


def test_the_grid_does_not_drift_where_the_period_is_no_whole_number_of_nanoseconds():
    starts, _ = tick_starts([0] * 3001, hz=30)
    assert starts[-1] == 100 * SECOND
    assert [start - 33_333_333 * index for index, start in enumerate(starts[:4])] == [0, 0, 1, 1]


def test_the_grid_begins_with_the_first_tick_not_with_the_clock():
    starts, _ = tick_starts([3 * MS, 25 * MS, 1 * MS], first_start=7_654_321)
    assert [start - 7_654_321 for start in starts] == [0, 10 * MS, 35 * MS]


@pytest.mark.parametrize("pace", [None, 30, "", "catchup", "Skip", [], float("nan")])
def test_an_invalid_pace_is_refused_in_one_sentence(recorder, pace):
    with pytest.raises(ValueError, match=r'^pace must be False, True, "skip" or "catch up", not '):
        recorder.loop("loop", hz=30, pace=pace)


@pytest.mark.parametrize("pace", [True, "skip", "catch up"])
def test_a_pace_needs_a_rate_that_can_be_held(recorder, pace):
    with pytest.raises(ValueError, match="needs hz"):
        recorder.loop("loop", pace=pace)
    with pytest.raises(ValueError, match="a period is at least a nanosecond"):
        recorder.loop("loop", hz=2e9, pace=pace)
    with pytest.raises(ValueError, match="hz must be a positive number"):
        recorder.loop("loop", hz=-30, pace=pace)


def test_a_loop_holds_its_rate_where_nothing_is_recorded():
    recorder = ticktree.Recorder()
    recorder.disable()
    began = time.monotonic()
    for _ in recorder.loop("loop", range(4), hz=200, pace=True):
        pass
    assert time.monotonic() - began >= 0.019


def test_without_pace_nothing_sleeps(recorder):
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


def test_no_tick_begins_before_it_is_due_on_a_real_clock():
    recorder = ticktree.Recorder()
    loop = recorder.loop("loop", hz=500, pace="catch up")
    anchor = time.monotonic_ns()  # a moment before the loop's own
    next(loop)
    starts = [time.monotonic_ns() for _ in zip(range(20), loop, strict=False)]
    loop.close()
    recorder.disable()
    assert all(start - anchor >= due(index + 1, 500) - MS for index, start in enumerate(starts))


def test_a_signal_ends_the_sleep_at_once_and_the_tick_is_cut_short():
    recorder = ticktree.Recorder()
    timer = threading.Timer(0.05, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        for tick in recorder.loop("loop", hz=0.01, pace=True):
            if tick == 0:
                timer.start()
    timer.join()
    assert time.monotonic() - began < 50  # of the 100 s it was to sleep
    profile = recorder.snapshot()
    profile.check()
    recorder.disable()
    assert (profile.loops["loop"].ticks, profile.loops["loop"].incomplete) == (0, 1)
    assert profile.root.at("loop/sleep").count == 1
    assert losses(recorder) == {}


def test_a_signal_that_raises_nothing_does_not_end_the_sleep():
    recorder = ticktree.Recorder()
    signals = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: signals.append(number))
    timer = threading.Timer(0.02, signal.pthread_kill, (threading.main_thread().ident, signal.SIGUSR1))
    began = time.monotonic()
    timer.start()
    try:
        for _ in recorder.loop("loop", range(2), hz=10, pace=True):
            pass
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)
        recorder.disable()
    assert signals == [signal.SIGUSR1]
    assert time.monotonic() - began >= 0.199


def test_other_threads_run_while_a_loop_sleeps():
    recorder = ticktree.Recorder()
    counted = []

    def count():
        counted.append(1)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    loop = recorder.loop("loop", range(2), hz=0.01, pace=True)
    next(loop)
    began = time.monotonic()
    timer = threading.Timer(0.02, count)
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        next(loop)
    timer.join()
    recorder.disable()
    assert counted == [1]
    assert time.monotonic() - began < 50  # of the 100 s it was to sleep
