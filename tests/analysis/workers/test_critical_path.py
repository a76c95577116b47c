from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from support.example_trainers import LEARNER, MS, straggling_trainer, thread
from support.example_workers import ids, run_of_workers, stepping
from support.profile_strategies import profiles
from ticktree.analysis.workers.roles import UNKNOWN
from ticktree.analysis.workers.waits import critical_path
from ticktree.profile import CriticalNode, Profile


def path_of(critical: dict[tuple[str, str], int]) -> Profile:
    profile = run_of_workers(stepping([4] * 4), others=[thread(LEARNER, "learner")])
    return replace(profile, critical={CriticalNode(*place): ns for place, ns in critical.items()})


def test_shares_are_grouped_by_role_and_path_longest_first():
    a, b, *_ = ids(4)
    learner, workers = critical_path(path_of({(a, "step"): 10, (b, "step"): 30, (LEARNER, "step"): 60}))
    assert (learner.role, learner.ns, learner.share) == ("learner", 60, 0.6)
    assert (workers.role, workers.by) == ("env worker", (("env worker 1", 30), ("env worker 0", 10)))


def test_the_maximum_speedup_follows_from_the_share():
    most, least = critical_path(path_of({(LEARNER, "step"): 80, (LEARNER, ""): 20}))
    assert (most.speedup, least.speedup) == (pytest.approx(5.0), pytest.approx(1.25))


def test_a_share_of_one_has_no_speedup():
    (only,) = critical_path(path_of({(LEARNER, "step"): 80}))
    assert only.speedup is None


def test_a_thread_that_was_not_read_is_unknown():
    (only,) = critical_path(path_of({("404-1/1", "step"): 80}))
    assert only.role == UNKNOWN


def test_a_run_without_wake_edges_has_no_critical_path():
    assert critical_path(run_of_workers(stepping([4 * MS] * 4))) == []


def test_in_a_trainer_with_a_straggler_its_physics_have_the_longest_share():
    longest = critical_path(straggling_trainer())[0]
    assert (longest.path, longest.by[0][0]) == ("make envs/env step/physics", "env worker 3")


@pytest.mark.slow
@settings(max_examples=60)
@given(profiles())
def test_the_shares_sum_to_the_critical_path(profile):
    path = critical_path(profile)
    assert sum(one.ns for one in path) == sum(profile.critical.values())
    assert all(sum(ns for _, ns in one.by) == one.ns for one in path)
    if path:
        assert sum(one.share for one in path) == pytest.approx(1.0)
