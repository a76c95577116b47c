"""Periodic tasks run when they are due, on a fake clock."""

from __future__ import annotations

from support.periodic_run import Clock, Run, live
from ticktree.supervisor.periodic import FOLD_EVERY_S, PeriodicTask, PeriodicTasks
from ticktree.supervisor.program import Program

PROGRAM = Program("x.py", False, ())


def reading(run, every_s):
    return [PeriodicTask(run.profile, every_s, every_s)]


def test_facts_are_collected_once_and_records_saved_every_half_minute():
    clock = Clock()
    run = Run(clock)
    live(clock, PeriodicTasks(run, PROGRAM, clock=clock), 100)
    assert run.times_of("describe") == [0]
    assert run.times_of("fold") == [30, 60, 90]


def test_other_tasks_have_their_own_intervals():
    clock = Clock()
    run = Run(clock)
    live(clock, PeriodicTasks(run, PROGRAM, reading(run, 12.0), clock=clock), 100)
    assert run.times_of("read") == [12, 24, 36, 48, 60, 72, 84, 96]
    assert run.times_of("fold") == [30, 60, 90]


def test_a_task_without_an_interval_is_done_once_at_the_start():
    clock = Clock()
    run = Run(clock)
    live(clock, PeriodicTasks(run, PROGRAM, [PeriodicTask(run.profile)], clock=clock), 100)
    assert run.times_of("read") == [0]


def test_a_task_that_takes_long_is_done_less_often():
    clock = Clock()
    run = Run(clock)
    run.reading_takes_s = 2.0
    live(clock, PeriodicTasks(run, PROGRAM, reading(run, 1.0), clock=clock), 40)
    assert run.times_of("read")[:3] == [1, 11, 21]


def test_no_failure_stops_the_tasks():
    clock = Clock()
    run = Run(clock)
    run.fails = True
    live(clock, PeriodicTasks(run, PROGRAM, reading(run, 20.0), clock=clock), 70)
    assert run.times_of("describe") == [0]
    assert run.times_of("fold") == [30, 60]
    assert run.times_of("read") == [20, 40, 60]
    assert FOLD_EVERY_S == 30


def test_at_the_end_all_callbacks_are_called_even_if_some_fail():
    end_calls = []

    def fail():
        raise OSError("gone")

    clock = Clock()
    tasks = PeriodicTasks(
        Run(clock), PROGRAM, at_end=[fail, lambda: end_calls.append("gatherer")], clock=clock
    )
    tasks.ended(None)
    assert end_calls == ["gatherer"]
