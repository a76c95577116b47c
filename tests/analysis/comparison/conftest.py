"""Programs on a virtual clock, to compare."""

from __future__ import annotations

import random

import pytest

import ticktree


@pytest.fixture
def run():
    """Makes the profile of a loop that samples, updates and logs, each section as much slower as asked for."""

    def make(seed, sample=1.0, update=1.0, ticks=400, extra=(), log="log"):
        noise = random.Random(seed)
        recorder = ticktree.Recorder(virtual_clock=True)
        for _ in recorder.loop("train", range(ticks)):
            for name, ns in (("sample", 1e6 * sample), ("update", 20e6 * update), (log, 5e5), *extra):
                with recorder.section(name):
                    recorder.advance(int(ns * noise.lognormvariate(0, 0.05)))
        profile = recorder.snapshot()
        recorder.disable()
        return profile

    return make
