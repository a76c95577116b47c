"""A run for periodic tasks, on the test's clock."""

from __future__ import annotations

from pathlib import Path

from ticktree.profile import Node, Profile, Stats
from ticktree.supervisor.periodic import PeriodicTasks


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
        step = Node(name="step", self_ns=10, steady=Stats.of([10]))
        return Profile(Node(name="root", children={"step": step}))

    def times_of(self, what: str) -> list[float]:
        return [at_s for event, at_s in self.done if event == what]


def live(clock: Clock, tasks: PeriodicTasks, until_s: float) -> None:
    while clock.now_s - 1000.0 <= until_s:
        pause_s = tasks()
        assert pause_s >= 0
        clock.now_s += pause_s
