"""What the supervisor does beside waiting, on a clock of the test's."""

from __future__ import annotations

from pathlib import Path

import pytest

from ticktree.cli import chores
from ticktree.cli.chores import FOLD_EVERY_S, Chores
from ticktree.profile import Node, Profile, Stats
from ticktree.run.supervision.program import Program


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class Run:
    """A run that notes what is done to it, and when."""

    path = Path("20261121-104312-train")

    def __init__(self, clock: Clock) -> None:
        self.done: list[tuple[str, float]] = []
        self.reading_takes_s = 0.0
        self.fails = False
        self._clock = clock

    def _note(self, what: str) -> None:
        self.done.append((what, self._clock.now_s - 1000.0))
        if self.fails:
            raise OSError("no space left")

    def describe(self, facts: object) -> None:
        self._note("describe")

    def fold(self) -> None:
        self._note("fold")

    def profile(self) -> Profile:
        self._note("read")
        self._clock.now_s += self.reading_takes_s
        step = Node(name="step", own_ns=10, steady=Stats.of([10]))
        return Profile(Node(name="root", children={"step": step}))

    def times_of(self, what: str) -> list[float]:
        return [at_s for each, at_s in self.done if each == what]


@pytest.fixture
def printed(monkeypatch):
    blocks: list[str] = []
    monkeypatch.setattr(chores, "show_at_once", lambda document, stream: blocks.append(document.decode()))
    return blocks


def live(clock: Clock, duty: Chores, until_s: float) -> None:
    while clock.now_s - 1000.0 <= until_s:
        pause_s = duty()
        assert pause_s >= 0
        clock.now_s += pause_s


def test_facts_are_found_once_and_what_was_recorded_is_saved_every_half_minute(printed):
    clock = Clock()
    run = Run(clock)
    live(clock, Chores(run, Program("x.py", False, ()), None, clock), 100)
    assert run.times_of("describe") == [0]
    assert run.times_of("fold") == [30, 60, 90]
    assert printed == []


def test_summaries_come_every_so_often_and_saving_goes_on_beside_them(printed):
    clock = Clock()
    run = Run(clock)
    live(clock, Chores(run, Program("x.py", False, ()), 12.0, clock), 100)
    assert run.times_of("read") == [12, 24, 36, 48, 60, 72, 84, 96]
    assert run.times_of("fold") == [30, 60, 90]
    assert len(printed) == 8


def test_a_summary_says_when_and_of_which_run_it_is_on_a_line_of_its_own(printed):
    clock = Clock()
    live(clock, Chores(Run(clock), Program("x.py", False, ()), 90.0, clock), 91)
    (block,) = printed
    lines = block.splitlines()
    assert lines[0] == ""
    assert lines[1].endswith("after 90.0 s: 20261121-104312-train ---")
    assert any(line.startswith("step") for line in lines)
    assert lines[-1] == ""


def test_summaries_that_take_long_come_less_often(printed):
    clock = Clock()
    run = Run(clock)
    run.reading_takes_s = 2.0
    live(clock, Chores(run, Program("x.py", False, ()), 1.0, clock), 40)
    assert run.times_of("read")[:3] == [1, 11, 21]


def test_no_failure_stops_the_chores(printed):
    clock = Clock()
    run = Run(clock)
    run.fails = True
    live(clock, Chores(run, Program("x.py", False, ()), 20.0, clock), 70)
    assert run.times_of("describe") == [0]
    assert run.times_of("fold") == [30, 60]
    assert run.times_of("read") == [20, 40, 60]
    assert FOLD_EVERY_S == 30
