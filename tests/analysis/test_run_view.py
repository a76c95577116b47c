from __future__ import annotations

from hypothesis import given, settings

from support.example_trainers import MS, node, straggling_trainer
from support.example_workers import first_role, ids, run_of_workers, stepping
from support.profile_strategies import profiles
from support.virtual_programs import Program
from ticktree.analysis.context import Context
from ticktree.analysis.loop_views import run_view
from ticktree.analysis.workers.roles import roles
from ticktree.analysis.workers.stragglers import busy_ns
from ticktree.profile import Node, Profile
from ticktree.recorder import Calling


def test_waits_are_told_apart_from_work_also_further_down():
    a, b = ids(2)
    wait = node("wait", {a: [30 * MS], b: [10 * MS]}, wait=True)
    step = node("step", {a: [100 * MS], b: [100 * MS]}, node("ask", {a: [40 * MS], b: [20 * MS]}, wait))
    role, found = first_role(run_of_workers(step, count=2))
    section = found.run.sections[1]
    assert [busy_ns(worker, section) for worker in role.workers] == [70 * MS, 90 * MS]
    assert [found.worked_ns(worker) for worker in role.workers] == [70 * MS, 90 * MS]


def test_nested_waits_count_once():
    (a,) = ids(1)
    outer = node("outer", {a: [30 * MS]}, node("inner", {a: [20 * MS]}, wait=True), wait=True)
    role, found = first_role(run_of_workers(outer, count=1))
    assert found.waited_ns(role.workers[0]) == 30 * MS
    assert [section.is_in_wait for section in found.run.sections] == [False, False, True]


def test_a_node_has_only_the_threads_that_entered_it():
    profile = run_of_workers(stepping([5.0]), count=2)
    (role,) = roles(profile, "thread")
    node = profile.root.at("step")
    assert [worker.calls(node) for worker in role.workers] == [100, 0]
    assert [worker.total_ns(node) for worker in role.workers] == [500 * MS, 0]


@settings(max_examples=60)
@given(profiles())
def test_all_time_in_sections_is_somebodys_where_all_nodes_are(profile):
    found = Context(profile)
    sections = found.run.sections
    nodes = [section.node for section in sections[1:] if section.node.by_thread and not section.is_remote]
    workers = [worker for role in found.threads for worker in role.workers]
    assert sum(map(found.present_ns, workers)) == sum(node.self_ns for node in nodes)
    assert [section.path for section in sections].count("") == 1
    assert {section.path for section in sections} == {path for path, _, _ in profile.root.walk()}


def test_what_a_device_did_is_nobodys_time_and_what_a_server_did_is_the_waits():
    program = Program()
    for _ in range(20):
        with program.section("update"):
            program.take(5)
            program.recorder.book(program.recorder.place(), ("cuda:0",), 40 * MS, "device")
        with program.section("ask", wait=True):
            calling = Calling(program.recorder)
            program.take(5)
            calling.graft("server", 4 * MS)
    found = Context(program.profile())
    assert [section.path for section in found.run.sections if section.is_remote] == ["update/cuda:0@device"]
    (worker,) = (worker for role in found.threads for worker in role.workers)
    assert (found.present_ns(worker), found.waited_ns(worker)) == (200 * MS, 100 * MS)
    assert [view.path for view in found.repeated] == ["update", "ask"]


@settings(max_examples=40)
@given(profiles())
def test_working_time_is_never_negative(profile):
    found = Context(profile)
    assert all(found.worked_ns(worker) >= 0 for role in found.threads for worker in role.workers)


def test_a_trainers_learner_and_workers_wait_for_one_another():
    profile = straggling_trainer()
    learner, workers = (role.workers for role in roles(profile, "process"))
    found = Context(profile)
    assert found.waited_ns(learner[0]) == profile.root.at("train/collect/step_wait").total_ns
    waits = profile.root.at("make envs/next command")
    assert sum(map(found.waited_ns, workers)) == waits.total_ns


def test_a_tree_deeper_than_pythons_stack_has_a_view():
    deep = Node(name="f", self_ns=1)
    for _ in range(3000):
        deep = Node(name="f", self_ns=1, children={"f": deep})
    run = run_view(Profile(root=deep), lambda name: None)
    assert len(run.sections) == len(run.waited_ns) == 3001
