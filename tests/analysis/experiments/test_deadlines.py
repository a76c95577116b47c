"""Predicted misses: counted on ticks whose parts are known."""

from __future__ import annotations

import numpy as np

from ticktree.analysis.experiments.deadlines import predicted_misses
from ticktree.profile.timeline import CalledNode, Lane, Timeline, call_order

MS = 1_000_000
NODES = (
    CalledNode("control", tick=True),
    CalledNode("control/plan"),
    CalledNode("control/plan/lock", wait=True),
    CalledNode("control/pace", wait=True),
)
LOOP, PLAN, LOCK, PACE = range(4)


def timeline_of(*ticks: tuple[float, float, float], lanes: int = 1) -> Timeline:
    """Ticks of (plan without its wait, the wait in it, the rest) in ms, paced to 10 ms where there is time left."""
    calls, now = [], 0.0
    for plan, lock, rest in ticks:
        busy = plan + lock + rest
        pace = max(0.0, 10 - busy)
        calls += [
            (LOOP, now, busy + pace),
            (PLAN, now, plan + lock),
            (LOCK, now, lock),
            (PACE, now + busy, pace),
        ]
        now += busy + pace
    calls.append((PLAN, now + 1, 50))  # after the last tick: of none
    all_calls = [(node, begin, took, lane) for lane in range(lanes) for node, begin, took in calls]
    start = np.array([begin * MS for _, begin, _, _ in all_calls], np.int64)
    took = np.array([ms * MS for _, _, ms, _ in all_calls], np.int64)
    node = np.array([which for which, _, _, _ in all_calls], np.int64)
    lane = np.array([of for _, _, _, of in all_calls], np.int64)
    order = call_order(start, node, NODES)
    known = tuple(Lane(f"1-{at}", 1, "robot", "", 7 + at, "", 0) for at in range(lanes))
    return Timeline(known, NODES, start[order], took[order], node[order], lane[order])


def counted(timeline: Timeline, *speedups: int) -> list[tuple[int, int, int]]:
    found = predicted_misses(timeline, "control", 10 * MS, ["control/plan"], speedups)
    assert [each.speedup_percent for each in found] == list(speedups)
    return [(each.ticks, each.missed, each.predicted_missed) for each in found]


def test_a_tick_is_missed_until_the_section_is_short_enough():
    # Busy for 12, 16 and 8 ms: half of the section is enough for the first, 90% for the second.
    timeline = timeline_of((8, 0, 4), (10, 0, 6), (5, 0, 3))
    assert counted(timeline, 10, 25, 50, 90) == [(3, 2, 2), (3, 2, 1), (3, 2, 1), (3, 2, 0)]


def test_waits_are_not_busy_time_and_do_not_get_faster():
    # 20 ms of which 12 are a wait in the section: no miss. Of 15 with a wait of 2, a speed-up has but 4 to shorten.
    assert counted(timeline_of((4, 12, 4)), 50) == [(1, 0, 0)]
    assert counted(timeline_of((4, 2, 11)), 50, 100) == [(1, 1, 1), (1, 1, 1)]


def test_ticks_of_all_threads_count():
    assert counted(timeline_of((8, 0, 4), lanes=3), 50) == [(3, 3, 0)]


def test_warm_up_is_left_out():
    timeline = timeline_of((30, 0, 4), (8, 0, 4), (5, 0, 3), lanes=2)
    (found,) = predicted_misses(timeline, "control", 10 * MS, ["control/plan"], [50], warmup_ticks=1)
    assert (found.ticks, found.missed, found.predicted_missed) == (4, 2, 0)


def test_without_ticks_nothing_is_counted():
    none = np.empty(0, np.int64)
    assert counted(Timeline((), NODES, none, none, none, none), 50) == [(0, 0, 0)]
