from __future__ import annotations

import pytest

from support.example_trainers import LEARNER, MS, S, Trainer, node, straggling_trainer, thread
from support.example_workers import calling, first_role, ids, run_of_workers, stepping
from ticktree.analysis.context import Context
from ticktree.analysis.workers.stragglers import stragglers
from ticktree.analysis.workers.waits import Blame, blames
from ticktree.profile import Node, Profile, Waker, Wakes


def blamed(profile: Profile) -> list[Blame]:
    found = Context(profile)
    workers = next(role for role in found.threads if role.name == "env worker")
    return blames(stragglers(workers, found.run.sections)[0], found)


def waiting(calls: int, ms: float, wakers=None) -> tuple[Node, list]:
    """A learner that waits, and who that is."""
    wait = node("step_wait", {LEARNER: [round(ms * MS)] * calls}, wait=True, wakers=wakers or {})
    return wait, [thread(LEARNER, "learner", last_ns=10 * S)]


def with_learner(step: Node, calls: int, ms: float, wakers=None) -> Profile:
    wait, others = waiting(calls, ms, wakers)
    return run_of_workers(step, wait, others=others)


def test_wake_edges_show_how_much_of_a_wait_was_for_the_straggler():
    wakers = {
        Waker("results", LEARNER, ids(4)[3], "step"): Wakes(75, 600 * MS, MS),
        Waker("results", LEARNER, ids(4)[0], "step"): Wakes(25, 200 * MS, MS),
    }
    (one,) = blamed(with_learner(stepping([4, 4, 4, 8]), 100, 8, wakers))
    assert (one.role, one.workers, one.path, one.is_known) == ("learner", 1, "step_wait", True)
    assert (one.waited_ns, one.for_it_ns, one.share) == (800 * MS, 600 * MS, 0.75)
    assert one.saved_ns == 400 * MS  # as fast as its peers, it would still have been waited for


def test_wake_edges_of_a_nested_wait_count_for_the_outer_wait():
    wakers = {Waker("results", LEARNER, ids(4)[3], "step"): Wakes(100, 700 * MS, MS)}
    inner = node("queue.get", {LEARNER: [7 * MS] * 100}, wait=True, wakers=wakers)
    outer = node("step_wait", {LEARNER: [8 * MS] * 100}, inner, wait=True)
    profile = run_of_workers(
        stepping([4, 4, 4, 8]), outer, others=[thread(LEARNER, "learner", last_ns=10 * S)]
    )
    assert [(one.path, one.waited_ns, one.for_it_ns) for one in blamed(profile)] == [
        ("step_wait", 800 * MS, 700 * MS)
    ]


def test_a_wait_ended_by_other_workers_is_not_for_the_straggler():
    wakers = {Waker("results", LEARNER, ids(4)[0], "step"): Wakes(100, 800 * MS, MS)}
    assert blamed(with_learner(stepping([4, 4, 4, 8]), 100, 8, wakers)) == []


@pytest.mark.parametrize("waits", [100, 98, 400])
def test_without_wake_edges_a_worker_that_waits_once_per_call_waits_for_the_slowest(waits):
    (one,) = blamed(with_learner(stepping([4, 4, 4, 8]), waits, 800 / waits))
    assert (one.is_known, one.for_it_ns, one.saved_ns) == (False, 400 * MS, 400 * MS)
    assert one.share == pytest.approx(0.5)


def test_the_inferred_wait_does_not_exceed_the_waiting_time():
    (one,) = blamed(with_learner(stepping([4, 4, 4, 8]), 100, 1))
    assert (one.for_it_ns, one.share) == (100 * MS, 1.0)


@pytest.mark.parametrize("waits", [5, 50, 1000])
def test_workers_that_wait_more_or_less_often_are_ignored(waits):
    assert blamed(with_learner(stepping([4, 4, 4, 8]), waits, 3)) == []


def test_no_wait_is_inferred_if_workers_do_not_run_in_step():
    apart = calling({0: (200, 4.0), 1: (200, 4.0), 2: (200, 4.0), 3: (100, 8.0)})
    assert blamed(with_learner(apart, 100, 3)) == []


def test_in_a_trainer_with_wake_edges_the_learner_precedes_the_other_workers():
    first, *_ = blamed(straggling_trainer())
    assert (first.role, first.path, first.is_known) == ("learner", "train/collect/step_wait", True)
    assert first.share > 0.99


def test_in_a_trainer_without_wake_edges_the_same_waits_are_inferred():
    first, second = blamed(Trainer(slow={3: 8.5}, signals=False).profile())
    assert (first.role, first.is_known) == ("learner", False)
    assert 0.5 < first.share < 0.6
    assert (second.role, second.workers) == ("env worker", 3)


def test_blames_do_not_change_the_context():
    profile = straggling_trainer()
    _, found = first_role(profile)
    (one,) = stragglers(found.threads[1], found.run.sections)
    assert blames(one, found) == blames(one, found)
