from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.example_trainers import MS, straggling_trainer
from support.example_workers import first_role, run_of_workers, stepping
from ticktree.analysis.context import Context
from ticktree.analysis.workers.imbalance import imbalance, presence
from ticktree.analysis.workers.roles import roles


def of(took_ms):
    role, found = first_role(run_of_workers(stepping(took_ms), count=len(took_ms)))
    return imbalance(role.workers, found)


def test_lost_time_is_the_busiest_workers_excess_over_the_mean():
    uneven = of([1, 1, 1, 5])
    assert (uneven.busiest.name, uneven.mean_ns, uneven.lost_ns) == ("env worker 3", 200 * MS, 300 * MS)
    assert uneven.share == pytest.approx(0.8)


def test_fewer_than_two_workers_or_no_work_have_no_imbalance():
    assert of([3]) is None
    assert of([0, 0]) is None


def test_one_nanosecond_among_three_workers_has_no_imbalance():
    role, found = first_role(run_of_workers(stepping([0, 0, 1 / MS], calls=1), count=3))
    assert imbalance(role.workers, found) is None


@settings(max_examples=60)
@given(st.lists(st.integers(0, 1000), min_size=2, max_size=9))
def test_the_share_is_0_for_equal_work_and_1_if_one_worker_has_all(took_ms):
    uneven = of(took_ms)
    if uneven is not None:
        assert 0 <= uneven.share <= 1
    assert of([7] * len(took_ms)).share == 0
    assert of([0] * (len(took_ms) - 1) + [7]).share == pytest.approx(1)


def test_waiting_does_not_count_as_work():
    learner, workers = (presence(role, Context(straggling_trainer())) for role in trainer_roles())
    assert learner.imbalance is None
    assert workers.imbalance.busiest.name == "env worker 3"
    assert learner.waited_share == pytest.approx(0.645, abs=0.01)
    assert workers.waited_ns < workers.in_sections_ns


def trainer_roles():
    return roles(straggling_trainer(), "process")
