"""Runs to watch, all numbers invented: played on a virtual clock, and read when the script says so."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import ticktree
from ticktree.live.reading import Reading
from ticktree.profile import Profile

MS = 1_000_000
US = 1_000
S = 1_000_000_000


class Robot:
    """A control loop of 100 Hz in steps: an arm that looks, plans and moves, and at times waits."""

    def __init__(self) -> None:
        self._recorder = ticktree.Recorder(virtual_clock=True)
        self._random = random.Random(7)
        self._ticks = iter(self._recorder.loop("control", hz=100, warmup=0))
        self._played = 0

    def play(self, ticks: int) -> Profile:
        """Some ticks more, and what there is after them."""
        for _ in range(ticks):
            next(self._ticks)
            self._tick()
        self._played += ticks
        profile = self._recorder.snapshot()
        facts = {"command": frozenset({"robot.py --hz 100"})}
        return replace(profile, metadata={**profile.metadata, **facts})

    def _tick(self) -> None:
        section = self._recorder.section
        with section("observe"):
            self._take(0.6 * MS)
            with section("resize"):
                self._take(2.1 * MS)
            with section("find the ball"):
                self._take(0.3 * MS)
        with section("plan"):
            self._take(0.4 * MS)
            with section("solve"):
                self._take(1.9 * MS, tail=0.5)
        with section("send", wait=True):
            self._take(0.4 * MS if self._random.random() < 0.98 else 40 * MS)
        self._take(3.0 * MS)
        self._recorder.gauge("distance, cm", round(abs(self._random.gauss(0, 2)), 3))
        self._recorder.gauge("queue depth", self._random.randrange(8))

    def _take(self, about_ns: float, tail: float = 0.1) -> None:
        self._recorder.advance(round(about_ns * self._random.lognormvariate(0, tail)))


class Script:
    """A source that gives the readings of a script, the last one over and over."""

    def __init__(self, readings: Sequence[Reading]) -> None:
        self._readings = list(readings)

    def read(self) -> Reading:
        return self._readings.pop(0) if len(self._readings) > 1 else self._readings[0]


def running(profile: Profile | None, at_s: float, **changes) -> Reading:
    fields = {
        "name": "20260704-101500-robot",
        "state": "running",
        "at_ns": round(at_s * S),
        "took_ns": 3 * MS,
        "profile": profile,
        "running_ns": round((60 + at_s) * S),
    }
    return Reading(**{**fields, **changes})


def robot() -> list[Reading]:
    """Two readings, ten seconds apart."""
    arm = Robot()
    return [running(arm.play(3000), 1), running(arm.play(900), 11)]
