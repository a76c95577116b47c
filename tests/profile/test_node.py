from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from hypothesis import given, settings

from support.profile_strategies import nodes
from ticktree.profile import CallSite, Cpu, Memory, Node, OpenCalls, Share, Stats, Waker, Wakes, Windows, Work
from ticktree.profile.stats import BASE_WIDTH_NS


def tree(name: str, self_ns: int = 0, *children: Node, **fields) -> Node:
    return Node(name=name, self_ns=self_ns, children={child.name: child for child in children}, **fields)


@settings(max_examples=40)
@given(nodes("train"), nodes("train"), nodes("train"))
def test_nodes_merge_in_any_order(a, b, c):
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + Node(name="train") == a


@settings(max_examples=40)
@given(nodes("train"), nodes("train"))
def test_totals_sum_after_a_merge_for_every_node(a, b):
    merged = a + b
    assert merged.total_ns == a.total_ns + b.total_ns
    for _, _, node in merged.walk():
        assert not list(node.problems())


@settings(max_examples=40)
@given(nodes("train"))
def test_walking_visits_every_node_at_its_path_after_its_parent(root):
    paths = [path for path, _, _ in root.walk()]
    assert len(paths) == len(set(paths))
    for path, depth, node in root.walk():
        assert root.at(path) is node
        assert (depth == 0) == (path == "")


def test_a_total_is_own_time_and_what_the_children_covered():
    node = tree("update", 10, tree("actor", 50), tree("critic", 40, concurrent_ns=30))
    assert node.total_ns == 70
    assert node.parallel
    assert not tree("update", 10, tree("actor", 50)).parallel


def test_count_and_extremes_are_those_of_the_whole_run():
    node = tree("update", steady=Stats.of([10, 20]), warmup=Stats.of([500]))
    assert (node.count, node.stats.max_ns, node.steady.max_ns) == (3, 500, 20)


def test_there_is_one_call_site_only_where_there_was_only_one():
    line_3, line_9 = CallSite("train.py", 3, "main"), CallSite("train.py", 9, "main")
    assert tree("x", call_sites={line_3: 5}).call_site == line_3
    assert tree("x", call_sites={line_3: 5, line_9: 1}).call_site is None
    assert tree("x").call_site is None


def test_windows_are_dropped_when_part_of_the_calls_has_none():
    booked = tree("x", steady=Stats.of([5]), windows=Windows(BASE_WIDTH_NS, {0: 1}, {0: 5}))
    not_booked = tree("x", steady=Stats.of([5]))
    assert (booked + not_booked).windows == Windows()
    assert (booked + booked).windows == Windows(BASE_WIDTH_NS, {0: 2}, {0: 10})


def test_what_was_measured_in_one_part_only_is_kept():
    full = tree(
        "x",
        work=Work(1, 2, 3),
        cpu=Cpu(1, 2, 3),
        memory=Memory(1, -2, 3),
        open=OpenCalls(1, 2),
        device="no GPU",
    )
    merged = full + tree("x")
    assert (merged.work, merged.cpu, merged.memory) == (full.work, full.cpu, full.memory)
    assert (merged.open, merged.device) == (full.open, full.device)
    assert (full + full).memory == Memory(2, -4, 3)
    assert (full + full).open == OpenCalls(2, 2)


def test_peaks_of_memory_merge_by_the_greater_and_are_exact_if_both_are():
    one = Memory(1, -2, 100, growth_bytes=30, is_exact=True, devices=frozenset({"cuda:0"}))
    other = Memory(2, 5, 90, growth_bytes=40, is_exact=True, devices=frozenset({"cuda:1"}))
    assert one + other == Memory(3, 3, 100, 40, True, frozenset({"cuda:0", "cuda:1"}))
    assert not (one + Memory(1, 0, 1)).is_exact
    assert (one + Memory(1, 0, 1)).growth_bytes == 30
    assert (Memory(1, 0, 1) + Memory(1, 0, 1)).growth_bytes is None


def test_device_memory_is_kept_next_to_resident_memory():
    on_device = Memory(1, 0, 7, 7, True, frozenset({"cuda:0"}))
    merged = tree("x", memory=Memory(1, 0, 3)) + tree("x", device_memory=on_device)
    assert (merged.memory, merged.device_memory) == (Memory(1, 0, 3), on_device)


def test_concurrent_nodes_and_nodes_of_several_threads_are_parallel():
    assert tree("x", concurrent_ns=-1).parallel
    both = {"1-1/18": Share(1, 4, 4), "2-2/18": Share(1, 6, 6)}
    one_waits = {"1-1/18": Share(2, 4, 4), "2-2/18": Share(0, 6, 6)}
    assert tree("x", 10, steady=Stats.of([4, 6]), by_thread=both).parallel
    assert not tree("x", 10, steady=Stats.of([4, 6]), by_thread=one_waits).parallel


def test_the_threads_parts_of_a_node_sum_to_it():
    one = tree("x", 4, steady=Stats.of([4]), by_thread={"1-1/18": Share(1, 4, 4)})
    other = tree("x", 6, steady=Stats.of([6]), by_thread={"2-2/18": Share(1, 6, 6)})
    assert (one + other).by_thread == {"1-1/18": Share(1, 4, 4), "2-2/18": Share(1, 6, 6)}
    assert (one + one).by_thread == {"1-1/18": Share(2, 8, 8)}
    assert (one + other).attributed


def test_threads_are_unknown_if_part_of_the_calls_has_no_thread():
    known = tree("x", 4, steady=Stats.of([4]), by_thread={"1-1/18": Share(1, 4, 4)})
    for unattributed in (tree("x", steady=Stats.of([0])), tree("x", 1), tree("x", 0, tree("y", 1))):
        assert not unattributed.attributed
        assert (known + unattributed).by_thread == (unattributed + known).by_thread == {}
        assert not list((known + unattributed).problems())


def test_wakers_merge_by_adding():
    actor, learner = Waker("batch", "1-1/18", "2-2/18", "act"), Waker("batch", "2-2/18", "1-1/18", "learn")
    node = tree("x", wakers={actor: Wakes(1, 10, 2)}) + tree(
        "x", wakers={actor: Wakes(2, 5, 5), learner: Wakes(1, 1, 0)}
    )
    assert node.wakers == {actor: Wakes(3, 15, 7), learner: Wakes(1, 1, 0)}


def test_nodes_of_different_names_do_not_merge():
    with pytest.raises(ValueError, match="different nodes"):
        tree("a") + tree("b")


def test_a_path_that_leads_nowhere_is_a_key_error():
    with pytest.raises(KeyError):
        tree("root", 0, tree("train")).at("train/update")


def test_a_tree_deeper_than_pythons_stack_merges_compares_and_is_walked():
    deep = tree("leaf", 1)
    for _ in range(5000):
        deep = tree("f", 1, deep)
    twice = deep + deep
    assert twice != deep
    assert twice == deep + deep
    assert twice.total_ns == 2 * 5001
    assert sum(1 for _ in twice.walk()) == 5001


def test_a_node_survives_pickling():
    node = tree("a", 3, tree("b", 4, steady=Stats.of([4])))
    assert pickle.loads(pickle.dumps(node)) == node


def test_a_node_is_unlike_anything_else():
    assert tree("a") != "a"


@pytest.mark.parametrize(
    "change",
    [
        {"self_ns": -1},
        {"recorder_ns": 11},
        {"recorder_ns": -1},
        {"raised": -1},
        {"raised": 10**6},
        {"windows": Windows(BASE_WIDTH_NS, {0: 1}, {0: 5})},
        {"call_sites": {CallSite("f", 1, "g"): 0}},
        {"per_run": {"a": (3, 5)}},
        {"per_run": {"a": (-1, 5)}},
        {"children": {"b": Node(name="c")}},
        {"work": Work(-1, 0, 0)},
        {"cpu": Cpu(1, -1, 0)},
        {"memory": Memory(1, 0, -1)},
        {"memory": Memory(1, 0, 5, -1)},
        {"device_memory": Memory(1, 0, 5, 6)},
        {"open": OpenCalls(0, 0)},
        {"warmup": replace(Stats.of([1]), count=2)},
        {"by_thread": {"1-1/18": Share(1, 10, 10)}},
        {"by_thread": {"1-1/18": Share(2, 9, 10)}},
        {"by_thread": {"1-1/18": Share(2, 10, 9)}},
        {"by_thread": {"1-1/18": Share(3, 0, 0), "2-2/18": Share(-1, 10, 10)}},
        {"by_thread": {"1-1/18": Share(2, 0, 11), "2-2/18": Share(0, 10, -1)}},
        {"wakers": {Waker("batch", "1-1/18", "2-2/18", ""): Wakes(0, 0, 0)}},
        {"wakers": {Waker("batch", "1-1/18", "2-2/18", ""): Wakes(1, 2, 3)}},
        {"wakers": {Waker("batch", "1-1/18", "2-2/18", ""): Wakes(1, 2, -1)}},
    ],
)
def test_an_impossible_value_is_a_problem(change):
    node = tree("a", 10, steady=Stats.of([4, 6]))
    assert not list(node.problems())
    assert list(replace(node, **change).problems())
