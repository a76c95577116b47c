"""CycleTimer: the rate is held, and what was not is told."""

from __future__ import annotations

import logging

import pytest

from ticktree.compat.lerobot import CycleTimer, cycle_timer
from ticktree.session import current


class Clock:
    """Time that moves by what the test says, and by what is slept."""

    def __init__(self):
        self.now = 100.0

    def perf_counter(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds

    def work(self, ms):
        self.now += ms / 1e3


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(cycle_timer, "time", clock)
    monkeypatch.setattr(cycle_timer, "_SPIN_S", 0.0)
    return clock


def test_each_tick_begins_when_its_slot_does(clock):
    timer = CycleTimer(fps=50)
    began = []
    for work_ms in (5, 1, 10):
        timer.tick()
        began.append(clock.now)
        clock.work(work_ms)
        timer.wait()
    assert began == pytest.approx([100.0, 100.02, 100.04])


def test_a_slow_tick_takes_its_time_from_the_others_of_its_cycle(clock):
    timer = CycleTimer(fps=25, multiplier=2)
    timer.tick(new_cycle=True)
    clock.work(30)
    timer.wait()
    assert clock.now == pytest.approx(100.030)
    timer.tick()
    clock.work(5)
    timer.wait()
    assert clock.now == pytest.approx(100.040)


def test_a_cycle_over_its_budget_is_warned_of_but_not_the_first(clock, caplog):
    timer = CycleTimer(fps=100)
    with caplog.at_level(logging.WARNING):
        timer.tick()
        clock.work(500)
        timer.wait()
        assert not caplog.records
        timer.tick()
        clock.work(12)
        timer.wait()
    (record,) = caplog.records
    assert "12.0 ms" in record.getMessage()
    assert "dataset" in record.getMessage()


def test_after_a_restart_the_next_cycle_is_not_judged_and_the_gap_counts_for_no_rate(clock, caplog):
    timer = CycleTimer(fps=100, records_data=False)
    for _ in range(3):
        timer.tick()
        clock.work(1)
        timer.wait()
    timer.restart()
    clock.work(5000)
    with caplog.at_level(logging.INFO):
        timer.tick()
        clock.work(50)
        timer.wait()
        timer.tick()
        timer.wait()
        timer.log_run_summary()
    (record,) = caplog.records
    assert record.levelno == logging.INFO
    message = record.getMessage()
    assert "5 ticks, target rate 100 Hz" in message
    assert "achieved: 42.86 ticks/s over 0.1 s" in message  # 10, 10 and 50 ms: the gap of 5 s is left out
    assert "0 of 3 ticks" in message


def test_the_run_summary_has_steps_by_time_starved_ticks_and_sleep(clock, caplog):
    timer = CycleTimer(fps=100)
    with caplog.at_level(logging.INFO):
        for _ in range(4):
            timer.tick()
            with timer.section("observe"):
                clock.work(1)
            with timer.section("infer"):
                clock.work(3)
            timer.note_starved_tick()
            timer.wait()
        timer.log_run_summary()
    message = caplog.records[-1].getMessage()
    assert "achieved: 100.00 ticks/s" in message
    assert "starved: 4 ticks" in message
    assert "slack: 6.0 ms per tick" in message
    infer, observe = (line for line in message.splitlines() if "of work" in line)
    assert infer.split() == [
        "infer",
        "mean",
        "3.00",
        "ms",
        "worst",
        "3.00",
        "ms",
        "75.0%",
        "of",
        "work",
        "4",
        "calls",
    ]
    assert observe.split()[0] == "observe"


def test_an_episode_is_told_when_the_next_begins_with_its_last_tick(clock, caplog):
    timer = CycleTimer(fps=100)
    with caplog.at_level(logging.INFO):
        for tick in range(5):
            timer.tick()
            clock.work(1)
            if tick == 2:
                timer.log_episode_summary("first")
            timer.wait()
        timer.log_run_summary()
    episode, run = (record.getMessage() for record in caplog.records)
    assert episode.startswith("Cadence of first: 3 ticks")
    assert "5 ticks" in run


def test_waiting_without_a_tick_does_nothing(clock):
    timer = CycleTimer(fps=10)
    timer.wait()
    assert clock.now == 100.0


@pytest.mark.parametrize(("fps", "multiplier"), [(0, 1), (-1, 1), (30, 0)])
def test_a_rate_that_cannot_be_held_is_refused(fps, multiplier):
    with pytest.raises(ValueError, match="must be"):
        CycleTimer(fps, multiplier)


def test_its_ticks_are_a_loop_of_the_recording_with_budget_and_sections():
    current.begin_afresh()
    try:
        timer = CycleTimer(fps=200, multiplier=2)
        for _ in range(4):
            timer.tick()
            with timer.section("observe"):
                pass
            timer.wait()
        timer.tick()
        profile = current.snapshot()
    finally:
        current.disable()
    profile.check()
    loop = profile.loops["cycle"]
    assert loop.hz == frozenset({400.0})
    assert profile.root.children["cycle"].children["observe"].count == 4
    assert profile.root.children["cycle"].children["sleep"].wait
