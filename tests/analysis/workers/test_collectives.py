"""Ranks that meet at collectives: who waits least is waited for."""

from __future__ import annotations

import pytest

from support.example_trainers import MS
from support.example_workers import calling, first_role, run_of_workers, stepping
from ticktree.analysis.rules.workers import StragglerRule
from ticktree.analysis.workers.stragglers import stragglers
from ticktree.analysis.workers.waits import blames
from ticktree.outputs.sentences import with_sentences


def found(profile):
    role, context = first_role(profile)
    return stragglers(role, context.run.sections)


def collective(waits_ms, name="all_reduce", **fields):
    return stepping(waits_ms, name=name, wait=True, **fields)


def test_the_rank_that_waits_least_is_late():
    (one,) = found(run_of_workers(collective([20, 21, 1, 20.5])))
    assert (one.worker.name, one.path, one.measure) == ("env worker 2", "all_reduce", "wait")
    assert (one.took_ns, one.peers_took_ns, one.peers) == (1 * MS, round(20.5 * MS), 3)
    assert (one.calls, one.excess_ns) == (100, 100 * round(19.5 * MS))


@pytest.mark.parametrize(
    "waits_ms", [[20, 21, 19, 20], [20, 21, 11, 20], [1, 1, 1, 30], [5, 10, 15, 20]], ids=str
)
def test_similar_waits_or_one_longer_wait_mean_no_late_rank(waits_ms):
    assert found(run_of_workers(collective(waits_ms))) == []


def test_of_two_ranks_one_that_waits_at_most_half_as_long_is_late():
    assert found(run_of_workers(collective([20, 11]), count=2)) == []
    assert [one.worker.name for one in found(run_of_workers(collective([20, 10]), count=2))] == [
        "env worker 1"
    ]


def test_two_late_ranks_are_both_reported():
    late = found(run_of_workers(collective([30, 30, 2, 30, 30, 3]), count=6))
    assert {one.worker.name for one in late} == {"env worker 2", "env worker 5"}


@pytest.mark.parametrize("name", ["recv", "broadcast", "all_reduce (2 of 4 ranks)", "Queue.get"])
def test_shorter_waits_in_other_collectives_show_no_late_rank(name):
    assert found(run_of_workers(collective([20, 21, 1, 20], name=name))) == []


def test_ranks_with_fewer_calls_are_not_compared():
    waits = {0: (100, 20), 1: (100, 20), 2: (60, 1), 3: (100, 20)}
    assert found(run_of_workers(calling(waits, name="all_reduce", wait=True))) == []
    assert found(run_of_workers(stepping([20, 20, 1, 20], calls=9, name="all_reduce", wait=True))) == []


def test_the_slow_section_is_reported_if_it_has_most_of_the_lost_time():
    both = run_of_workers(stepping([5, 5, 23, 5], name="load"), collective([19, 19, 1, 19]))
    (one,) = found(both)
    assert (one.path, one.measure) == ("load", "call")
    (one,) = found(run_of_workers(stepping([5, 5, 8, 5], name="load"), collective([19, 19, 1, 19])))
    assert (one.path, one.measure) == ("all_reduce", "wait")


def test_the_finding_names_the_late_rank_and_its_peers_waits():
    _, context = first_role(run_of_workers(collective([20, 20, 1, 20])))
    (finding,) = with_sentences(StragglerRule().find(context), context.short_names)
    assert finding.message == (
        "env worker 2 arrives last at all_reduce: its 3 peers wait 20× as long; 3 × env worker wait for it up to 95% "
        "of the time in all_reduce"
    )
    assert finding.facts["waited_per_call_ns"] == 1 * MS
    assert finding.facts["waited_per_call_by_peers_ns"] == 20 * MS
    (one,) = context.stragglers["env worker"]
    (blame,) = blames(one, context)
    assert (blame.workers, blame.waited_ns, blame.for_it_ns) == (3, 6000 * MS, 5700 * MS)
