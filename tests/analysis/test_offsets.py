"""How far apart two machines' clocks are, told from meetings of their ranks; checked with invented clocks."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticktree.analysis.offsets import MIN_COLLECTIVES, offset
from ticktree.profile.timeline import CalledNode, Lane, Timeline

US = 1_000


def rank_of(number):
    return Lane(f"{number}-7", number, f"rank {number}", "rank", number, "MainThread", 0)


def job(ahead_ns, collectives=20, seed=1, drift=0.0):
    """The timelines of two machines, the second's clock so far ahead. Ranks work for up to 1 ms, then meet."""
    dice = random.Random(seed)
    now = {rank: 10**9 + abs(ahead_ns) for rank in range(4)}
    calls = {rank: [] for rank in now}
    for _ in range(collectives):
        came = {rank: at + dice.randrange(1000 * US) for rank, at in now.items()}
        last = max(came.values())
        for rank, at in came.items():
            now[rank] = last + dice.randrange(1, 50 * US)
            calls[rank].append((at, now[rank]))
    machines = [[0, 1], [2, 3]]
    shift = [lambda at: at, lambda at: round((at + ahead_ns) * (1 + drift))]
    return [
        timeline({rank: [(move(a), move(b)) for a, b in calls[rank]] for rank in machine})
        for machine, move in zip(machines, shift, strict=True)
    ]


def timeline(calls, name="all_reduce", wait=True):
    rows = sorted(
        (came, left - came, lane) for lane, each in enumerate(calls.values()) for came, left in each
    )
    start, duration, lane = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    lanes = tuple(rank_of(rank) for rank in calls)
    return Timeline(
        lanes, (CalledNode(name, wait=wait),), start, duration, np.zeros(len(rows), np.int64), lane
    )


@given(st.integers(-(10**9), 10**9), st.integers(0, 10**6))
def test_the_true_offset_is_always_within_the_bound(ahead_ns, seed):
    first, second = job(ahead_ns, seed=seed)
    found = offset(second, first)
    assert abs(found.ns + ahead_ns) <= found.bound_ns + 1
    assert found.collectives == 20


def test_many_meetings_bound_it_to_what_passes_between_the_last_to_come_and_the_first_to_leave():
    first, second = job(123_456_789, collectives=500)
    found = offset(second, first)
    assert found.bound_ns < 50 * US
    assert found.ns == pytest.approx(-123_456_789, abs=50 * US)


def test_the_reverse_offset_has_the_opposite_sign():
    first, second = job(5_000_000)
    there, back = offset(second, first), offset(first, second)
    assert abs(there.ns + back.ns) <= 1
    assert abs(there.bound_ns - back.bound_ns) <= 1


def test_clocks_that_drift_apart_further_than_the_bound_have_no_offset():
    first, second = job(0, collectives=3000, drift=1e-3)
    assert offset(second, first) is None


@pytest.mark.parametrize("name", ["Work.wait", "DDP all_reduce", "broadcast", "all_reduce (2 of 4 ranks)"])
def test_only_meetings_of_all_that_begin_when_a_rank_comes_tell_anything(name):
    first, second = (replace(each, nodes=(CalledNode(name, wait=True),)) for each in job(0))
    assert offset(second, first) is None


def test_too_few_or_incomplete_collectives_give_no_offset():
    first, second = job(0, collectives=MIN_COLLECTIVES - 1)
    assert offset(second, first) is None
    first, second = job(0)
    assert offset(replace(second, overwritten=1), first) is None
    assert offset(job(0, collectives=19)[1], first) is None


def test_without_calls_there_is_no_offset():
    nothing = np.empty(0, np.int64)
    empty = Timeline((), (), nothing, nothing, nothing, nothing)
    assert offset(empty, job(0)[0]) is None
