from __future__ import annotations

import random
from dataclasses import replace
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.example_trainers import MS, S, node, straggling_trainer, thread
from support.example_workers import calling, first_role, ids, run_of_workers, stepping
from ticktree.analysis.context import Context
from ticktree.analysis.workers.stragglers import SLOWER_FACTOR, _median_without, stragglers
from ticktree.profile import Node, Profile


def found(profile: Profile):
    role, context = first_role(profile)
    return stragglers(role, context.run.sections)


def names(profile: Profile) -> list[str]:
    return [one.worker.name for one in found(profile)]


def test_a_worker_with_longer_calls_than_its_peers_is_a_straggler():
    (one,) = found(run_of_workers(stepping([4, 4, 4.1, 8])))
    assert (one.worker.name, one.path, one.measure, one.peers) == ("env worker 3", "step", "call", 3)
    assert (one.took_ns, one.peers_took_ns, one.factor) == (8 * MS, 4 * MS, 2.0)
    assert (one.calls, one.excess_ns, one.is_in_step) == (100, 400 * MS, True)


def test_equal_workers_are_not_stragglers():
    assert found(run_of_workers(stepping([4, 4.2, 3.9, 4.3]))) == []


def test_a_worker_within_the_variation_of_its_peers_is_not_a_straggler():
    assert found(run_of_workers(stepping([2, 4, 6, 8, 10, 12]), count=6)) == []


def test_a_second_straggler_does_not_hide_the_first():
    assert names(run_of_workers(stepping([4, 4, 4, 4, 9, 8]), count=6)) == ["env worker 4", "env worker 5"]


def test_one_of_two_workers_is_a_straggler_only_if_the_gap_is_large():
    assert found(run_of_workers(stepping([4, 7]), count=2)) == []
    assert names(run_of_workers(stepping([4, 8]), count=2)) == ["env worker 1"]


def test_a_single_worker_is_not_compared():
    assert found(run_of_workers(stepping([4]), count=1)) == []


def test_waits_do_not_make_a_worker_slow():
    each = ids(4)
    waits = {who: [ms * MS] * 50 for who, ms in zip(each, (1, 1, 1, 9), strict=True)}
    whole = {who: [(ms + 2) * MS] * 50 for who, ms in zip(each, (1, 1, 1, 9), strict=True)}
    assert found(run_of_workers(node("step", whole, node("recv", waits, wait=True)))) == []


def test_sections_inside_a_wait_are_ignored():
    each = ids(4)
    inner = {who: [ms * MS] * 50 for who, ms in zip(each, (1, 1, 1, 9), strict=True)}
    assert found(run_of_workers(node("recv", inner, node("poll", inner), wait=True))) == []


def test_too_few_calls_are_not_compared_by_call():
    early = {0: (3, 4.0), 1: (3, 4.0), 2: (3, 4.0), 3: (3, 40.0)}
    (one,) = found(run_of_workers(calling(early)))
    assert one.measure == "total"
    assert found(run_of_workers(calling({**early, 3: (3, 4.0)}))) == []


def test_more_calls_of_usual_length_are_more_work_in_total():
    (one,) = found(run_of_workers(calling({0: (100, 4.0), 1: (100, 4.0), 2: (100, 4.0), 3: (250, 4.0)})))
    assert (one.measure, one.factor, one.excess_ns) == ("total", 2.5, 600 * MS)
    assert not one.is_in_step


def test_slow_calls_are_detected_if_the_worker_makes_fewer_of_them():
    (one,) = found(run_of_workers(calling({0: (200, 4.0), 1: (200, 4.0), 2: (200, 4.0), 3: (100, 8.0)})))
    assert (one.measure, one.factor, one.is_in_step) == ("call", 2.0, False)


def test_a_shorter_lifetime_is_not_less_work():
    short = [thread(f"{n}-7/1", "env worker", started_ns=8 * S, last_ns=10 * S) for n in (200, 201)]
    took = {who: [40 * MS] * 200 for who in ids(2)} | {one.id: [40 * MS] * 50 for one in short}
    assert found(run_of_workers(node("step", took, concurrent=True), count=2, others=short)) == []


def test_workers_of_several_workers_are_not_compared():
    many = thread("200-7/1", "env worker", members=50)
    took = {who: [4 * MS] * 20 for who in ids(3)} | {many.id: [80 * MS] * 50}
    assert found(run_of_workers(node("step", took, concurrent=True), count=3, others=[many])) == []


def test_workers_are_compared_with_those_of_their_own_run():
    others = [thread(f"{n}-7/1", "env worker", run="run-2") for n in (200, 201, 202)]
    took = {who: [4 * MS] * 20 for who in ids(3)} | {one.id: [9 * MS] * 20 for one in others}
    assert found(run_of_workers(node("step", took, concurrent=True), count=3, others=others)) == []


def test_the_section_with_most_of_the_excess_is_the_main_path():
    _, context = first_role(straggling_trainer())
    learners, workers = context.threads
    (one,) = stragglers(workers, context.run.sections)
    assert stragglers(learners, context.run.sections) == []
    assert (one.path, one.main_path) == ("make envs/env step", "make envs/env step/physics")


def test_without_a_child_with_most_of_the_excess_the_section_is_the_main_path():
    each = ids(4)
    slow = {who: [ms * MS] * 50 for who, ms in zip(each, (2, 2, 2, 5), strict=True)}
    whole = {who: [2 * durations[0]] * 50 for who, durations in slow.items()}
    (one,) = found(run_of_workers(node("step", whole, node("physics", slow), node("render", slow))))
    assert (one.path, one.main_path) == ("step", "step")


@settings(max_examples=60)
@given(st.lists(st.integers(0, 10**12), min_size=2, max_size=30), st.data())
def test_the_median_without_one_value_is_that_of_the_shorter_list(values, data):
    values.sort()
    at = data.draw(st.integers(0, len(values) - 1))
    assert _median_without(values, at) == pytest.approx(median(values[:at] + values[at + 1 :]))


@settings(max_examples=60)
@given(st.lists(st.floats(4, 4 * SLOWER_FACTOR - 0.01), min_size=2, max_size=12))
def test_workers_that_differ_by_less_than_the_factor_have_no_straggler(took):
    assert found(run_of_workers(stepping(took), count=len(took))) == []


@settings(max_examples=60)
@given(st.integers(3, 12), st.floats(2.1, 50), st.integers(0, 1000))
def test_only_a_worker_twice_as_slow_as_its_equals_is_a_straggler(count, factor, seed):
    random_numbers = random.Random(seed)
    took = [random_numbers.uniform(4.0, 4.2) for _ in range(count)]
    slow = random_numbers.randrange(count)
    took[slow] = 4.2 * factor
    assert names(run_of_workers(stepping(took), count=count)) == [f"env worker {slow}"]


def test_a_thousand_workers_are_compared():
    took = [4.0 + (n % 7) / 50 for n in range(1000)]
    took[500] = 9.0
    assert names(run_of_workers(stepping(took, calls=12), count=1000)) == ["env worker 500"]


def waiting(waits_ms, **fields) -> Node:
    return stepping(waits_ms, name="Connection.recv", wait=True, **fields)


def test_with_only_waits_known_the_worker_slower_between_waits_is_a_straggler():
    (one,) = found(run_of_workers(waiting([80, 81, 40, 80])))
    assert (one.worker.name, one.path, one.measure) == ("env worker 2", "Connection.recv", "between")
    assert (one.took_ns, one.peers_took_ns, one.excess_ns) == (60 * MS, 20 * MS, 4 * S)


@pytest.mark.parametrize("waits_ms", [[80, 81, 65, 80], [80, 80, 80, 80]], ids=str)
def test_with_only_waits_known_less_than_twice_as_long_is_not_enough(waits_ms):
    assert found(run_of_workers(waiting(waits_ms))) == []


def test_workers_with_sections_are_compared_by_them():
    assert found(run_of_workers(waiting([80, 81, 40, 80]), stepping([5, 5, 5, 5]))) == []


def differently_named(*parts: str, **fields) -> Profile:
    profile = run_of_workers(waiting([80, 81, 40, 80][: len(parts)], **fields), count=len(parts))
    named = zip(profile.threads.values(), parts, strict=True)
    return replace(profile, threads={each.id: replace(each, role=f"bench-{part}") for each, part in named})


def test_processes_with_individual_names_that_wait_in_step_are_peers():
    context = Context(differently_named("hip", "thigh", "ankle", "toe"))
    (role,) = [role for role in context.comparable if role not in context.threads]
    (one,) = context.stragglers[role.name]
    assert (one.worker.name, one.peers) == ("bench-ankle", 3)


def test_two_processes_with_individual_names_are_not_peers():
    context = Context(differently_named("hip", "ankle"))
    assert context.comparable == context.threads
