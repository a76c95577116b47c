"""What one clock measured is never added to what another did."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.profile_strategies import nodes
from ticktree.profile import CLOCKS, Node, Profile, ProfileError, Stats, key_of
from ticktree.profile.measures import split_key
from ticktree.profile.table import merge

names = st.text(max_size=4) | st.sampled_from(["cuda:0", "a@device", "a@host", "@remote", "a@device@host"])
clocks = st.sampled_from(CLOCKS)


def calls(name: str, clock: str, *durations: int) -> Node:
    return Node(
        name=name,
        clock=clock,
        self_ns=sum(durations),
        concurrent_ns=sum(durations),
        steady=Stats.of(durations),
    )


def around(*children: Node) -> Node:
    return Node(name="root", children={child.key: child for child in children})


@given(names, clocks)
def test_a_key_says_name_and_clock(name, clock):
    assert split_key(key_of(name, clock)) == (name, clock)


@given(names, clocks, names, clocks)
def test_no_two_nodes_of_different_names_or_clocks_have_one_key(name, clock, other, its_clock):
    assert (key_of(name, clock) == key_of(other, its_clock)) == ((name, clock) == (other, its_clock))


def test_a_node_of_the_host_is_filed_under_its_name_alone():
    assert Node(name="forward").key == "forward"
    assert Node(name="forward", clock="device").key == "forward@device"


def test_siblings_of_one_name_and_several_clocks_merge_each_with_its_like():
    host, device = calls("forward", "host", 5), calls("forward", "device", 900)
    merged = around(host) + around(device) + around(host, device)
    assert merged == around(device, host) + around(host) + around(device)
    assert {key: child.total_ns for key, child in merged.children.items()} == {
        "forward": 10,
        "forward@device": 1800,
    }
    assert merged == merge([around(device), around(host), around(host, device)])


def test_nodes_of_different_clocks_do_not_merge():
    with pytest.raises(ValueError, match="different nodes"):
        calls("forward", "host", 5) + calls("forward", "device", 5)


@given(nodes("train", clock="remote"), nodes("train", clock="remote"))
def test_a_node_with_only_its_name_and_clock_is_the_identity(one, other):
    assert one + Node(name="train", clock="remote") == one
    assert (one + other).clock == "remote"


def test_json_says_the_clock_where_it_is_not_the_hosts():
    profile = Profile(around(calls("request", "host", 9), calls("request", "remote", 4)))
    tree = profile.to_dict()["tree"]["children"]
    assert [(child["name"], child["path"], child.get("clock")) for child in tree] == [
        ("request", "request", None),
        ("request", "request@remote", "remote"),
    ]
    assert Profile.from_json(profile.to_json()) == profile


def test_json_has_device_times_next_to_host_times():
    forward = Node(
        name="forward",
        self_ns=40,
        steady=Stats.of([40]),
        device="calls were captured into a graph",
        children={
            child.key: child for child in (calls("cuda:0", "device", 900), calls("cuda:1", "device", 5))
        },
    )
    profile = Profile(around(forward))
    written = profile.to_dict()["tree"]["children"][0]
    assert written["device"] == {"unsupported": forward.device, "count": 2, "total_ns": 905}
    assert (written["count"], written["total_ns"]) == (1, 40)
    assert Profile.from_json(profile.to_json()) == profile


def test_a_clock_that_there_is_not_is_refused():
    profile = Profile(around(calls("request", "remote", 4)))
    with pytest.raises(ProfileError, match="'clock' should be one of host, device, remote"):
        Profile.from_json(profile.to_json().replace('"clock":"remote"', '"clock":"sundial"'))


def test_a_child_filed_without_its_clock_is_a_problem():
    node = Node(name="root", children={"cuda:0": calls("cuda:0", "device", 4)})
    assert list(node.problems()) == ["a child is filed under another name or clock than its own"]
