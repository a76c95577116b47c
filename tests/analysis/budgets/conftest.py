"""Programs on a virtual clock, to check."""

from __future__ import annotations

import random

import pytest

import ticktree
from ticktree.analysis.budgets.check import check
from ticktree.analysis.budgets.plan import Plan, budget_of

MS = 1_000_000


@pytest.fixture
def run():
    """Makes the profile of a 50 Hz loop of which every tenth tick is late, its inference as slow as asked for."""

    def make(inference=1.0, seed=1, ticks=200, extra=()):
        noise = random.Random(seed)
        recorder = ticktree.Recorder(virtual_clock=True)
        for tick in recorder.loop("control", range(ticks), hz=50, warmup=0):
            with recorder.section("act"):
                with recorder.section("inference") as inferring:
                    recorder.advance(int(10 * MS * inference * noise.lognormvariate(0, 0.02)))
                    inferring.work(bytes=50_000_000, items=4)
                with recorder.section("send"):
                    recorder.advance(MS)
            for name in extra:
                with recorder.section(name):
                    recorder.advance(MS)
            recorder.advance((20 if tick % 10 == 9 else 2) * MS)
            recorder.gauge("queue depth", tick % 5)
        profile = recorder.snapshot()
        recorder.disable()
        return profile

    return make


@pytest.fixture
def results(run):
    """Checks budgets, written as on a command line, on one run."""

    def of(*texts, profile=None):
        plan = Plan(tuple(budget_of(text) for text in texts))
        return list(check([profile or run()], plan).results)

    return of
