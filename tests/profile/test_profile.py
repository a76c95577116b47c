from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from support.profile_strategies import gauge_of, profiles
from ticktree.errors import TicktreeError
from ticktree.profile import (
    MAX_DEPTH,
    CriticalNode,
    Loop,
    Node,
    Profile,
    ProfileError,
    Share,
    Stats,
    Thread,
    Waker,
    Wakes,
)


def profile_of(root: Node, **fields) -> Profile:
    return Profile(root=root, **fields)


@settings(max_examples=30)
@given(profiles(), profiles(), profiles())
def test_profiles_merge_in_any_order_and_still_hold(a, b, c):
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a.merge(b, c) == c.merge(a, b)
    a.merge(b, c).check()


@settings(max_examples=30)
@given(profiles())
def test_the_empty_profile_changes_nothing(profile):
    assert profile + Profile.empty() == Profile.empty() + profile == profile
    assert profile.merge() == profile
    profile.check()


def test_the_empty_profile_holds():
    Profile.empty().check()


def test_metadata_merges_to_the_set_of_values():
    one, other = (
        Profile(metadata={"host": frozenset({"a"})}),
        Profile(metadata={"host": frozenset({"b"}), "gpu": frozenset({1})}),
    )
    assert (one + other).metadata == {"host": {"a", "b"}, "gpu": {1}}


def test_a_truth_and_a_number_that_are_equal_merge_to_the_same_one_in_either_order():
    one, other = Profile(metadata={"x": frozenset({1})}), Profile(metadata={"x": frozenset({True})})
    assert (one + other).to_json() == (other + one).to_json()


def test_a_broken_rule_is_named_with_its_node_in_one_line():
    bad = Node(name="up\ndate", self_ns=5, steady=replace(Stats.of([5]), count=2))
    root = Node(name="root", children={"up\ndate": bad})
    with pytest.raises(
        ProfileError, match=r"node 'up\\ndate': the histogram holds 1 calls where 2"
    ) as error_info:
        profile_of(root).check()
    assert "\n" not in str(error_info.value)
    assert isinstance(error_info.value, TicktreeError)
    assert isinstance(error_info.value, ValueError)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"root": Node(name="trunk")}, "root is named"),
        ({"loops": {"train": Loop(path="train")}}, "no such node"),
        ({"losses": {"unwound": -1}}, "loss is negative"),
        ({"metadata": {"x": frozenset({float("inf")})}}, "not a finite number"),
        ({"gauges": {"a": gauge_of("b", [1.0])}}, "another name"),
        ({"threads": {"1-1/18": Thread(id="1-1/19")}}, "another id"),
        ({"threads": {"1-1/18": Thread(id="1-1/18", parent="nowhere")}}, "parent is no node"),
        ({"threads": {"1-1/18": Thread(id="1-1/18", members=0)}}, "has no members"),
        ({"critical": {CriticalNode("1-1/18", ""): 5}}, "no thread '1-1/18'"),
        ({"root": Node(name="root", by_thread={"1-1/18": Share()})}, "one of its threads is not known"),
        ({"root": Node(name="root", wakers={Waker("a", "b", "c", ""): Wakes(1, 2, 1)})}, "no thread '[bc]'"),
        ({"gauges": {"a": replace(gauge_of("a", [1.0]), zeros=3)}}, "4 readings are filed"),
    ],
)
def test_an_impossible_value_is_refused(change, rule):
    with pytest.raises(ProfileError, match=rule):
        replace(Profile.empty(), **change).check()


THREADS = {key: Thread(id=key) for key in ("1-1/18", "2-2/18")}


@pytest.mark.parametrize(
    ("place", "ns", "rule"),
    [
        (CriticalNode("1-1/18", ""), 0, "took no time"),
        (CriticalNode("1-1/18", "nowhere"), 5, "no node 'nowhere'"),
    ],
)
def test_a_critical_path_that_cannot_be_is_refused(place, ns, rule):
    with pytest.raises(ProfileError, match=rule):
        Profile(threads=THREADS, critical={place: ns}).check()


def test_a_waker_in_a_node_that_is_not_there_is_refused():
    root = Node(name="root", wakers={Waker("batch", "1-1/18", "2-2/18", "nowhere"): Wakes(1, 2, 1)})
    with pytest.raises(ProfileError, match="no node 'nowhere'"):
        Profile(root, threads=THREADS).check()


def test_a_loop_that_cannot_be_is_refused_by_its_path():
    root = Node(name="root", children={"train": Node(name="train")})
    with pytest.raises(ProfileError, match="loop 'train': 3 ticks"):
        profile_of(root, loops={"train": Loop(path="train", ticks=3)}).check()


def test_a_tree_deeper_than_the_model_allows_is_refused():
    root = Node(name="f")
    for _ in range(MAX_DEPTH):
        root = Node(name="f", children={"f": root})
    with pytest.raises(ProfileError, match="nodes deep"):
        profile_of(Node(name="root", children={"f": root})).check()
