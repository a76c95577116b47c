"""What a program does to nodes by hand: it is in the tree that the program gets, and nowhere else."""

from __future__ import annotations

import pickle

import pytest

from ticktree.compat import mlagents as timers


def test_what_the_program_does_to_a_nodes_fields_and_children_stays_until_the_reset(virtual):
    with timers.hierarchical_timer("step") as step:
        virtual.advance(2)
        step.total += 5
        step.count += 2
        step.is_parallel = True
        step.get_child("part").add_time(3)
    root = timers.get_timer_root()
    root.get_child("made").add_time(1)
    root.children["put"] = timers.TimerNode()
    root.children["step"].children["part"].add_time(0.5)
    assert timers.get_timer_root() is root
    root.children["put"].add_time(4)
    tree = virtual.tree()["children"]
    assert tree["step"] | {"children": None} == {
        "total": 5.002,
        "count": 3,
        "is_parallel": True,
        "self": pytest.approx(1.502),
        "children": None,
    }
    assert tree["step"]["children"]["part"]["total"] == 3.5
    assert (tree["made"]["total"], tree["put"]["total"]) == (1, 4)
    timers.reset_timers()
    assert "children" not in virtual.tree()
    assert timers.get_timer_root() is not root


def test_an_open_timer_is_a_node_to_whoever_asks_and_is_sent_as_one(virtual):
    with timers.hierarchical_timer("step") as step:
        virtual.advance(2)
        step.get_child("part").add_time(0.001)
        assert isinstance(step, timers.TimerNode)
        sent = pickle.loads(pickle.dumps(step))
        virtual.advance(2)
    assert type(sent) is timers.TimerNode
    assert (sent.count, sent.total, sent.children["part"].count) == (0, 0.002, 1)


def test_a_node_that_is_in_two_stacks_is_added_to_each_once(virtual):
    worker = timers.TimerStack()
    worker.root.get_child("step").add_time(2)
    timers.get_timer_root().children["worker"] = worker.root
    for _ in range(3):
        assert virtual.tree()["children"]["worker"]["children"]["step"]["total"] == 2
        assert timers.get_timer_tree(worker)["children"]["step"]["total"] == 2


def test_nodes_can_be_made_and_merged_by_hand():
    first, second = timers.TimerNode(), timers.TimerNode()
    for node in (first, second):
        node.get_child("a").add_time(1)
        node.get_child("a").get_child("b").add_time(0.25)
    first.merge(second)
    a = first.children["a"]
    assert (a.total, a.count, a.is_parallel, a.children["b"].total) == (2, 2, True, 0.5)
    assert a.as_dict()["self"] == 1.5
