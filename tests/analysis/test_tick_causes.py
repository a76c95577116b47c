from __future__ import annotations

import pytest

from ticktree.analysis.tick_causes import usual_per_tick
from ticktree.profile import Loop, Stats, WorstTick
from ticktree.profile.loop import Causes

MS = 1_000_000


def loop(causes=None, worst=(), ticks=20):
    kept = tuple(WorstTick(ms * MS, "a", n, 0, {}, told) for n, (ms, told) in enumerate(worst))
    return Loop(path="control", ticks=ticks, stats=Stats.of([10 * MS] * ticks), causes=causes, worst=kept)


def test_sums_over_the_steady_ticks_are_what_a_usual_one_has():
    known = loop(Causes(20, voluntary_switches=40, minor_faults=5000), worst=[(10, {"minor_faults": 900})])
    assert usual_per_tick(known, "minor_faults") == 250
    assert usual_per_tick(known, "voluntary_switches") == 2


def test_a_few_ticks_with_very_many_are_not_what_is_usual():
    known = loop(
        Causes(20, minor_faults=100_000), worst=[(90, {"minor_faults": 99_000}), (11, {"minor_faults": 50})]
    )
    assert usual_per_tick(known, "minor_faults") == 50


def test_without_them_it_is_the_median_of_the_kept_ticks_that_are_not_much_longer():
    kept = [
        (60, {"minor_faults": 9000}),
        (12, {"minor_faults": 30}),
        (11, {"minor_faults": 20}),
        (10, {"gc_ns": 5}),
    ]
    assert usual_per_tick(loop(worst=kept), "minor_faults") == pytest.approx(25)


@pytest.mark.parametrize(
    "known", [loop(), loop(Causes(3, minor_faults=3000)), loop(worst=[(90, {"minor_faults": 1})])]
)
def test_without_system_counters_the_number_is_unknown(known):
    assert usual_per_tick(known, "minor_faults") is None
