"""Recording does not change the results of programs that use Ray, and puts all their work into one tree."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import ticktree
from support.findings import findings
from ticktree.instruments.ray.executing import WorkerCalls

ray = pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def node_at(profile, path):
    """The node at a path, whose names are separated by slashes; None if there is none."""
    node = profile.root
    for name in path.split("/"):
        node = node.children.get(name) if node is not None else None
    return node


def count(profile, path):
    node = node_at(profile, path)
    return node.count if node is not None else None


EXPECTED_CALLS = {
    "given": ["GIVEN"],
    "squares": [1, 2, 5, 10],
    "nothing": ["yes", "kept", 1],
    "nested": 9,
    "streamed": [0, 1, 2],
    "failed": "ValueError: mine",
    "added": [6, 8, 7],
    "asked": 7,
    "awaited": [0, 1, 2],
    "plain": "plain",
    "waited": [2, 0],
}


def holds_what_one_node_did(profile):
    assert count(profile, "tasks/square/inside") == 4
    assert count(profile, "tasks/nothing") == 1, "a call without arguments carries where it was made, too"
    assert count(profile, "tasks/nested/nest/square/inside") == 1
    assert count(profile, "tasks/stream") == 4, "three items, and the end"
    assert count(profile, "tasks/failing") == 1
    assert count(profile, "actors/Counter/__init__") == 2
    assert count(profile, "actors/Counter/add") == 3
    assert count(profile, "actors/Counter/ask/Counter/get") == 1
    assert count(profile, "actors/Waiter/wait/asleep") == 3
    assert count(profile, "actors/Waiter/plain/awake") == 1
    assert count(profile, "actors/square/inside") == 2
    assert count(profile, "tasks/ray.get square") == 1
    assert node_at(profile, "tasks/ray.get square").wait
    assert node_at(profile, "actors/ray.wait square").wait
    assert all(loss == "wakes_without_slot" for loss in profile.losses), profile.losses


def test_tasks_and_actors_are_children_of_the_sections_that_called_them(recorded):
    profile, output = recorded("one_node.py")
    assert output == EXPECTED_CALLS
    holds_what_one_node_did(profile)
    names = {thread.process_name for thread in profile.threads.values()}
    assert {"Counter", "second", "Waiter", "ray tasks"} <= names
    wakers = {waker.by.partition("/")[0] for waker in node_at(profile, "tasks/ray.get square").wakers}
    tasks = {thread.process for thread in profile.threads.values() if thread.role == "ray tasks"}
    assert wakers, "somebody ended the wait"
    assert wakers <= tasks


def test_one_line_in_the_program_is_enough(recorded):
    profile, output = recorded("one_node.py", "--enable", under=False)
    assert output == EXPECTED_CALLS
    holds_what_one_node_did(profile)


def test_parts_of_other_nodes_are_gathered_and_their_memory_is_removed(recorded):
    profile, output = recorded("several_nodes.py", "--runners", "4", "--slow", "0.2")
    assert count(profile, "train/Runner/sample/step") == 80
    assert profile.losses.keys() <= {"wakes_without_slot"}
    runners = {thread.process for thread in profile.threads.values() if thread.role == "Runner"}
    assert len(runners) == 4
    assert output["left"] == [], "a node's memory is given back"
    stragglers = [finding for finding in findings(profile) if finding.rule == "straggler"]
    assert len(stragglers) == 1, "one of four runners is slower, wherever it runs"
    assert stragglers[0].facts["worker"].startswith("Runner")


def test_a_node_that_dies_loses_its_unpublished_ticks_and_the_loss_is_reported(recorded):
    profile, _ = recorded("several_nodes.py", "--kill")
    assert count(profile, "train/Runner/sample/step") == 40, (
        "all that was handed over before it died is there"
    )
    assert count(profile, "train/after/Runner/sample/step") == 5, "the other node goes on"
    assert count(profile, "train/lost/Runner/last_word") is None, "what it had not handed over is not"
    assert profile.losses["ray_nodes_not_fully_read"] == 1
    assert profile.losses["ray_milliseconds_not_collected"] > 0


def test_arguments_of_a_call_may_have_any_name():
    class Alone(WorkerCalls):
        """Who asks or tells a cluster that is not there, starts one."""

        def _title(self, descriptor):
            return descriptor.function_name

        def done(self, title):
            pass

    def call(*, function, names):
        return function, names

    recorder = ticktree.Recorder()
    descriptor = SimpleNamespace(class_name="", function_name="call")
    try:
        wrapped = Alone(recorder, lambda _: True)._function(call, descriptor)
        assert wrapped(function=1, names=2) == (1, 2)
        assert not ray.is_initialized()
    finally:
        recorder.disable()
