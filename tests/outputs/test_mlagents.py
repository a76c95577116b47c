"""The timers file: its shape, and what comes back when it is read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.example_profiles import MS, control, node, training
from support.profile_strategies import profiles
from ticktree.importers.mlagents import is_timers_file, profile_of
from ticktree.outputs import EXPORTS
from ticktree.profile import Gauge, Node, Profile
from ticktree.profile.codec import parse_json


def render_json(profile):
    return EXPORTS["mlagents"].render(profile)


def shape(profile):
    return json.loads(render_json(profile))


def profile_with(root_own_ns=0, *children, **fields):
    return Profile(Node(name="root", self_ns=root_own_ns, children={c.name: c for c in children}), **fields)


def test_a_node_has_its_seconds_its_calls_and_its_children_by_name():
    step = node("step", [10 * MS, 20 * MS])
    tree = shape(profile_with(5 * MS, node("update", [100 * MS], step)))
    assert {key: tree[key] for key in ("name", "total", "count", "self")} == {
        "name": "root",
        "total": 0.105,
        "count": 1,
        "self": 0.005,
    }
    assert tree["children"] == {
        "update": {
            "total": 0.1,
            "count": 1,
            "self": 0.07,
            "children": {"step": {"total": 0.03, "count": 2, "self": 0.03}},
        }
    }


def test_what_ran_concurrently_with_its_parent_is_parallel_and_so_is_all_below_it():
    inner = node("inner", [20 * MS])
    worker = node("worker", [30 * MS], inner, concurrent_ns=30 * MS)
    tree = shape(profile_with(0, node("workers", [1 * MS], worker, self_ns=1 * MS)))
    workers = tree["children"]["workers"]
    assert "is_parallel" not in workers
    assert (workers["total"], workers["self"]) == (0.001, 0.001)
    assert workers["children"]["worker"]["is_parallel"] is True
    assert workers["children"]["worker"]["children"]["inner"]["is_parallel"] is True


def test_a_child_called_root_is_no_root():
    tree = shape(profile_with(0, Node(name="root", self_ns=5)))
    assert tree["children"]["root"]["count"] == 0


def test_gauges_metadata_and_losses_are_there():
    gauge = Gauge(name="reward", last=2.0, last_wall_ns=0, process="", count=3, min=-1.0, max=4.0)
    facts = {"python": frozenset({"3.11.7"}), "host": frozenset({"a", "b"}), "cores": frozenset({8})}
    tree = shape(
        profile_with(0, gauges={"reward": gauge}, metadata=facts, losses={"names_cut": 2, "unwound": 0})
    )
    assert tree["gauges"] == {"reward": {"value": 2.0, "min": -1.0, "max": 4.0, "count": 3}}
    assert tree["metadata"] == {
        "timer_format_version": "0.1.0",
        "python_version": "3.11.7",
        "host": "a, b",
        "cores": "8",
        "not_recorded": "2 names_cut",
        "exported_by": "ticktree",
    }


@pytest.mark.parametrize("make", [training, control, Profile.empty])
def test_a_profile_written_and_read_again_has_the_same_totals_and_calls(make):
    profile = make()
    back = profile_of(parse_json(render_json(profile)), "back")
    assert [(path, n.total_ns, n.count, n.self_ns) for path, _, n in back.root.walk()] == sorted(
        (path, n.total_ns, n.count, n.self_ns) for path, _, n in profile.root.walk()
    )
    assert back.losses == {what: count for what, count in profile.losses.items() if count}


@pytest.mark.slow
@settings(max_examples=20)
@given(profiles())
def test_any_profile_that_could_be_is_written_and_read_again(profile):
    if any(
        n.total_ns < 0 or n.concurrent_ns < 0 or n.total_ns < n.self_ns for _, _, n in profile.root.walk()
    ):
        return  # a part of a run alone; no such file could say it
    text = render_json(profile)
    value = parse_json(text)
    assert is_timers_file(value)
    back = profile_of(value, "back")
    for path, _, n in profile.root.walk():
        rounding = 2 * len(n.children) + 3 + (n.total_ns >> 50) * 2
        assert abs(back.root.at(path).total_ns - n.total_ns) <= rounding
        assert back.root.at(path).count == (n.count if path else (0 if n.count == 1 else n.count))
    assert {name: (g.last, g.min, g.max, g.count) for name, g in back.gauges.items()} == {
        name: (g.last, g.min, g.max, g.count) for name, g in profile.gauges.items()
    }


seconds = st.integers(0, 10**12).map(lambda ns: ns / 1e9)
files = st.recursive(
    st.fixed_dictionaries({"total": seconds, "count": st.integers(0, 9)}),
    lambda below: st.fixed_dictionaries(
        {
            "total": seconds,
            "count": st.integers(0, 9),
            "self": seconds | seconds.map(lambda s: -s),
            "is_parallel": st.booleans(),
            "children": st.dictionaries(st.sampled_from(["a", "b/c", ""]), below),
        }
    ),
    max_leaves=6,
)


@settings(max_examples=50)
@given(files)
def test_any_file_keeps_its_totals_and_once_its_accounts_add_up_changes_no_more(file):
    first = profile_of(file, "run")
    waiting = [(first.root, file)]
    for read, said in waiting:
        below = said.get("children", {})
        total_ns = round(said["total"] * 1e9)
        if below and said["count"] == total_ns == 0:  # never called: it says nothing of its own
            total_ns = sum(child.total_ns for child in read.children.values())
        assert abs(read.total_ns - total_ns) <= 2 * len(below) + 3
        waiting.extend((read.children[name], child) for name, child in below.items())
    second = profile_of(parse_json(render_json(first)), "run")
    assert second.losses == first.losses
    assert [(path, n.count, n.total_ns, n.self_ns) for path, _, n in second.root.walk()] == sorted(
        (path, n.count, n.total_ns, n.self_ns) for path, _, n in first.root.walk()
    )


def test_a_tree_of_any_depth_is_written():
    tree = Node(name="leaf", self_ns=1)
    for _ in range(990):
        tree = Node(name="level", children={tree.name: tree})
    back = profile_of(parse_json(render_json(profile_with(0, tree))), "deep")
    assert sum(1 for _ in back.root.walk()) == 992


def test_names_of_any_kind_come_back():
    names = ['"', "\\", "a/b", "", "\x00", "\u202e", "שלום", "</script>"]
    profile = profile_with(0, *(Node(name=name, self_ns=at) for at, name in enumerate(names)))
    assert set(profile_of(parse_json(render_json(profile)), "x").root.children) == set(names)
