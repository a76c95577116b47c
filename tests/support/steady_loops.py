"""Loops on the test's clock: the test sets the duration of each tick, to the nanosecond."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

import ticktree
from ticktree.machine.readings import gauge_of
from ticktree.profile import Profile

US, MS, S = 10**3, 10**6, 10**9


def loop_of(
    ticks: int, tick: Callable[[ticktree.Recorder, int], None], warmup: int = 0, **options
) -> Profile:
    """The profile of a loop whose tick number `n` does `tick(recorder, n)`."""
    recorder = ticktree.Recorder(virtual_clock=True)
    for number in recorder.loop("train", range(ticks), warmup=warmup, **options):
        tick(recorder, number)
    recorder.disable()
    profile = recorder.snapshot()
    profile.check()
    return profile


def sections(took_ns: Mapping[str, Callable[[int], float]], seed: int = 1, noise: float = 0.02):
    """A tick with a section for each of `took_ns`, which says how long it takes in which tick."""
    dice = random.Random(seed)

    def tick(recorder: ticktree.Recorder, number: int) -> None:
        for name, ns in took_ns.items():
            with recorder.section(name):
                recorder.advance(round(ns(number) * dice.lognormvariate(0, noise)))

    return tick


def watched(profile: Profile, cores: int = 2, host: Sequence[str] = ("bench-3",), **readings) -> Profile:
    """A profile whose machine has those readings of `used`, `others`, `steal`, `waiting` and so on."""
    gauges = {}
    for quantity, values in readings.items():
        name = f"machine/{quantity}"
        for index, value in enumerate(values):
            gauge = gauge_of(name, float(value), index * S, index, "50-7-1")
            gauges[name] = gauges[name] + gauge if name in gauges else gauge
    facts = {"cores_usable": frozenset({cores}), "host": frozenset(host)}
    machine = Profile(gauges=gauges, metadata=facts)
    machine.check()
    return profile.merge(machine)
