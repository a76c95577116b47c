from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings

from support.example_trainers import LEARNER, MS, S, node, straggling_trainer, thread
from support.example_workers import ids, run_of_workers, stepping
from support.profile_strategies import profiles
from ticktree.analysis.context import Context
from ticktree.analysis.workers.roles import UNKNOWN
from ticktree.analysis.workers.waits import Waiting, waitings
from ticktree.profile import Profile, Waker, Wakes


def found(profile: Profile) -> dict[tuple[str, str], Waiting]:
    return {(one.role.name, one.path): one for one in waitings(Context(profile))}


def test_waits_have_their_role_path_duration_and_causes():
    waits = found(straggling_trainer())
    learner = waits["learner", "train/collect/step_wait"]
    (cause,) = learner.causes
    assert (learner.count, learner.calls, cause.role, cause.path) == (
        1,
        1000,
        "env worker",
        "make envs/env step",
    )
    assert cause.by == (("env worker 3", learner.waited_ns),)
    assert cause.channels == ("results",)
    workers = waits["env worker", "make envs/next command"]
    assert (workers.count, workers.calls, workers.causes[0].by[0][0]) == (4, 4000, "learner")
    assert workers.known_ns == workers.waited_ns


def test_causes_are_grouped_by_role_and_path_with_the_longest_worker_first():
    who = ids(4)
    wakers = {
        Waker("a", LEARNER, who[0], "step"): Wakes(10, 100 * MS, MS),
        Waker("b", LEARNER, who[1], "step"): Wakes(10, 300 * MS, MS),
        Waker("a", LEARNER, "404-7/1", ""): Wakes(5, 50 * MS, 0),
    }
    wait = node("wait", {LEARNER: [5 * MS] * 100}, wait=True, wakers=wakers)
    others = [thread(LEARNER, "learner", last_ns=S), thread("404-7/1", "learner")]
    profile = run_of_workers(stepping([4] * 4), wait, others=others)
    profile = replace(profile, threads={key: profile.threads[key] for key in (*who, LEARNER)})
    (one,) = found(profile).values()
    workers, nobody = one.causes
    assert workers.by == (("env worker 1", 300 * MS), ("env worker 0", 100 * MS))
    assert (workers.wakes, workers.channels) == (Wakes(20, 400 * MS, 2 * MS), ("a", "b"))
    assert (nobody.role, nobody.path) == (UNKNOWN, "")
    assert one.known_ns == 450 * MS


def test_a_pool_thread_that_relays_results_is_replaced_by_its_workers():
    wakers = {Waker("event", LEARNER, "404-8/1", ""): Wakes(10, 100 * MS, MS)}
    wait = node("wait", {LEARNER: [5 * MS] * 100}, wait=True, wakers=wakers)
    relay = thread("404-8/1", "_handle_results", last_ns=S)
    learner = thread(LEARNER, "learner", last_ns=S)
    workers = thread("404-9/1", "pool worker", last_ns=S)

    def cause_of(*others):
        (one,) = found(run_of_workers(stepping([4] * 4), wait, others=[learner, relay, *others])).values()
        return one.causes[0].role

    assert cause_of(workers) == "pool worker"
    assert cause_of() == "_handle_results"


def test_a_waker_outside_its_sections_is_not_in_its_parents_section():
    who = ids(4)
    wakers = {Waker("a", LEARNER, who[0], "step"): Wakes(10, 100 * MS, MS)}
    wait = node("wait", {LEARNER: [5 * MS] * 100}, wait=True, wakers=wakers)
    learner = thread(LEARNER, "learner", last_ns=S)
    profile = run_of_workers(stepping([4] * 4), wait, others=[learner], parent="step")
    (one,) = found(profile).values()
    assert [cause.path for cause in one.causes] == [""]


def test_waits_without_wake_edges_have_no_causes():
    wait = node("wait", {LEARNER: [5 * MS] * 100}, wait=True)
    (one,) = found(run_of_workers(wait, count=0, others=[thread(LEARNER, "learner")])).values()
    assert (one.causes, one.known_ns, one.waited_ns, one.share) == ((), 0, 500 * MS, 1 / 80)


def test_the_role_with_the_largest_share_of_waits_is_first():
    waits = waitings(Context(straggling_trainer()))
    shares = [one.share for one in waits]
    assert shares == sorted(shares, reverse=True)


@settings(max_examples=60)
@given(profiles())
def test_every_wake_is_in_exactly_one_cause(profile):
    waits = waitings(Context(profile))
    told = sum(cause.wakes.count for one in waits for cause in one.causes)
    outermost = [node for _, _, node in profile.root.walk()]
    assert told <= sum(wakes.count for node in outermost for wakes in node.wakers.values())
    assert all(
        sum(ns for _, ns in cause.by) == cause.wakes.waited_ns for one in waits for cause in one.causes
    )
