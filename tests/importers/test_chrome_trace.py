"""Chrome traces as their writers may write them, and as nobody should."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.chrome_traces import US, begin, call, end, read, totals
from ticktree.errors import TicktreeError
from ticktree.importers.chrome.aggregation import buckets_of
from ticktree.loading import load, load_repeats
from ticktree.profile.histogram import bucket_of


def test_calls_nest_by_when_they_began_and_ended_whatever_their_order():
    events = [call("inner", 2, 3), call("outer", 0, 10), call("inner", 6, 1.5), call("deep", 2.5, 1)]
    expected = {"outer": (1, 10, 5.5), "outer/inner": (2, 4.5, 3.5), "outer/inner/deep": (1, 1, 1)}
    for order in (events, events[::-1]):
        profile = read(order)
        assert totals(profile) == expected
        assert profile.losses == {}
    assert profile.root.total_ns == 10 * US


def test_begins_and_ends_are_calls_also_where_ends_have_no_names():
    events = [begin("a", 0), begin("b", 1), end(3), begin("c", 4), end(6), end(9)]
    assert totals(read(events)) == {"a": (1, 9, 5), "a/b": (1, 2, 2), "a/c": (1, 2, 2)}
    named = [{**begin("b", 1)}, end(3, name="b"), begin("a", 0), end(9, name="a")]
    assert totals(read(named)) == {"a": (1, 9, 7), "a/b": (1, 2, 2)}


def test_a_call_without_an_end_is_open_and_its_time_is_accounted_for_but_not_counted():
    profile = read([begin("run", 0), call("step", 2, 4), call("step", 10, 5)])
    run = profile.root.at("run")
    assert (run.count, run.total_ns, run.self_ns, run.open.age_ns) == (0, 15 * US, 6 * US, 15 * US)
    assert profile.root.at("run/step").count == 2


def test_ends_that_match_nothing_and_ends_that_end_several_calls_are_told():
    profile = read([end(1, name="x"), begin("a", 2), begin("b", 3), end(5, name="a")])
    assert totals(profile) == {"a": (1, 3, 1), "a/b": (1, 2, 2)}
    assert profile.losses == {"ends_without_a_begin": 1, "calls_that_ended_with_another": 1}


def test_events_without_a_time_are_told_and_those_that_are_none_are_passed_over():
    events = [
        *(
            call("a", 0, 1),
            call("a", None, 1),
            call("a", 1, -1),
            call("a", "x", 1),
            call("a", 2, float("inf")),
        ),
        *(
            call("a", 1e300, 1),
            {"ph": "X", "name": "a", "cat": "user_annotation"},
            {"ph": 3},
            {},
            None,
            7,
            "X",
            ["ph"],
        ),
    ]
    profile = read(events)
    assert totals(profile) == {"a": (1, 1, 1)}
    assert profile.losses == {"events_without_a_time": 6}


def test_other_lanes_ran_beside_the_longest_and_each_is_a_thread():
    names = [
        {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "trainer"}},
        {"ph": "M", "name": "thread_name", "pid": 7, "tid": 8, "args": {"name": "loader"}},
    ]
    events = [
        *names,
        call("train", 0, 10, pid=7, tid=7),
        call("load", 1, 4, pid=7, tid=8),
        call("load", 5, 6, pid=9),
    ]
    profile = read(events)
    load_ = profile.root.at("load")
    assert profile.root.total_ns == 10 * US
    assert (load_.total_ns, load_.concurrent_ns) == (10 * US, 10 * US)
    threads = {thread.thread_name: thread for thread in profile.threads.values()}
    assert {name: thread.process_name for name, thread in threads.items()} == {
        "7": "trainer",
        "loader": "trainer",
        "1": "9",
    }
    assert load_.by_thread[threads["loader"].id].total_ns == 4 * US
    assert (threads["7"].is_main, threads["loader"].is_main, threads["1"].is_main) == (True, False, True)
    assert (threads["1"].started_ns, threads["1"].last_ns) == (5 * US, 11 * US)
    assert all(node.attributed for _, _, node in profile.root.walk())


def test_lanes_named_by_words_and_addresses_are_lanes_like_others():
    profile = read(
        [call("f", 0, 3, pid="10.0.0.1/a", tid="worker:1"), call("f", 0, 4, pid="10.0.0.1/a", tid=[1])]
    )
    assert {thread.process for thread in profile.threads.values()} == {"10.0.0.1|a"}
    assert profile.root.at("f").count == 2


def test_calls_that_overlap_in_one_lane_run_beside_each_other_and_are_told():
    profile = read([call("outer", 0, 20), call("a", 1, 8, id=1), call("b", 5, 8.001), call("in b", 9.5, 2)])
    assert totals(profile) == {
        "outer": (1, 20, 10),
        "outer/a": (1, 8, 8),
        "outer/b": (1, 8.001, 8.001),
        "outer/in b": (1, 2, 2),
    }
    assert profile.root.at("outer/b").concurrent_ns == 8001
    assert profile.losses == {"places_of_overlapping_calls": 1}


def test_times_rounded_to_whole_microseconds_still_nest():
    # From 12.0 to 16.0 in what goes from 10.2 to 16.1: cut to whole microseconds it seems to end after that.
    profile = read([call("outer", 10, 5), call("inner", 12, 4), call("next", 15, 3)])
    assert totals(profile) == {"outer": (1, 5, 2), "outer/inner": (1, 3, 3), "next": (1, 3, 3)}
    assert profile.losses == {}


def test_times_since_1970_are_as_fine_as_their_numbers_and_say_when_the_run_began():
    wall_us = 1_790_000_000_000_000.0
    steps = [call("step", wall_us + 100 * at, 99.75) for at in range(5)]
    inner = [call("inner", wall_us + 100 * at + 1.3, 98.45) for at in range(5)]
    profile = read(steps + inner)
    assert profile.root.at("step/inner").count == 5
    assert profile.losses == {}
    assert profile.loops["step"].first_ticks.started_wall_ns == int(wall_us) * US


def test_by_default_annotations_are_read_and_other_categories_on_demand():
    events = [
        call("step", 0, 9),
        call("aten::mm", 1, 3, cat="cpu_op"),
        call("x.py(3): f", 0, 8, cat="python_function"),
    ]
    profile = read(events)
    assert list(totals(profile)) == ["step"]
    assert profile.metadata["not_read"] == {"cpu_op", "python_function"}
    assert list(totals(read(events, ["cpu_op"]))) == ["aten::mm"]
    all_categories = read(events, ["cpu_op", "user_annotation"])
    assert list(totals(all_categories)) == ["step", "step/aten::mm"]
    with pytest.raises(
        TicktreeError, match="no event is of category nope; there are 'cpu_op', 'python_function'"
    ):
        read(events, ["nope"])
    assert list(totals(read(events[1:]))) == ["aten::mm"]
    assert list(totals(read(events[2:]))) == ["x.py(3): f"]


def test_counters_are_gauges():
    counters = [
        {"ph": "C", "name": "memory", "ts": 5, "pid": 1, "args": {"used": 3, "free": -1.5}},
        {"ph": "C", "name": "memory", "ts": 9, "pid": 1, "args": {"used": 2, "free": 0}},
        {"ph": "C", "name": "reward", "ts": 1, "pid": 1, "args": {"value": 0.5}},
        {"ph": "C", "name": "odd", "ts": 1, "pid": 1, "args": {"value": "high"}},
        {"ph": "C", "name": "odd", "pid": 1},
        {"ph": "C", "name": "odd", "ts": 1, "args": {"value": float("nan"), "huge": 10**400}},
    ]
    gauges = read([call("a", 0, 1), *counters]).gauges
    assert sorted(gauges) == ["memory/free", "memory/used", "reward"]
    used = gauges["memory/used"]
    assert (used.last, used.min, used.max, used.count, used.p50) == (2, 2, 3, 2, 2)
    assert (gauges["memory/free"].zeros, gauges["memory/free"].min) == (1, -1.5)


def test_profiler_steps_are_ticks_of_one_loop_with_breakdowns_of_the_worst():
    events = []
    for at, length in enumerate((10, 30, 20)):
        events += [call(f"ProfilerStep#{at + 4}", 100 * at, length), call("update", 100 * at + 1, length - 2)]
    profile = read(events)
    loop = profile.loops["ProfilerStep"]
    assert (loop.ticks, loop.busy_ns, loop.stats.max_ns) == (3, 60 * US, 30 * US)
    assert [(tick.tick, tick.duration_ns) for tick in loop.worst] == [
        (1, 30 * US),
        (2, 20 * US),
        (0, 10 * US),
    ]
    assert loop.worst[0].breakdown == {"ProfilerStep/update": 28 * US}
    assert (loop.jitter.count, loop.jitter.sum_ns) == (2, 30 * US)
    assert loop.first_ticks.durations_ns == (10 * US, 30 * US, 20 * US)


def test_the_one_name_that_comes_again_and_again_at_the_top_of_a_lane_is_a_loop():
    steps = [call("step", 10 * at, 9) for at in range(4)]
    assert list(read([call("setup", -5, 3), *steps]).loops) == ["step"]
    two = read([*steps, *(call("save", 10 * at + 9, 1) for at in range(4))])
    assert two.loops == {}, "which of the two is the loop is not told by the trace"
    assert read(steps[:2]).loops == {}
    in_two_threads = read([*steps, *(call("step", 10 * at, 8, tid=2) for at in range(3))])
    assert in_two_threads.loops["step"].ticks == 7
    assert {tick.thread for tick in in_two_threads.loops["step"].worst} == {"1/0", "1/1"}


def test_windows_hold_each_call_where_it_ended():
    profile = read([call("step", 0, 1000), call("step", 15_000, 1000), call("step", 3_000_000, 2000)])
    windows = profile.root.at("step").windows
    assert windows.width_ns == 80_000_000
    assert (dict(windows.counts), dict(windows.totals)) == ({0: 2, 37: 1}, {0: 2_000_000, 37: 2_000_000})


def test_what_is_deeper_than_a_profile_may_be_stays_in_the_deepest_and_is_told():
    profile = read([call(f"f{at % 3}", at, 3000 - 2 * at) for at in range(1200)])
    assert profile.losses == {"calls_too_deep": 200}
    assert profile.root.total_ns == 3000 * US


@given(st.lists(st.integers(0, 1 << 62), min_size=1))
def test_buckets_are_those_of_the_model(durations):
    assert buckets_of(np.array(durations, np.int64)).tolist() == [
        bucket_of(duration) for duration in durations
    ]


_TREES = st.recursive(
    st.builds(lambda name, self_us: (name, self_us, []), st.sampled_from("abc/"), st.integers(1, 50)),
    lambda subtrees: st.builds(
        lambda name, self_us, children: (name, self_us, children),
        st.sampled_from("abc/"),
        st.integers(1, 50),
        st.lists(subtrees, max_size=4),
    ),
    max_leaves=25,
)


def _written(tree, at, phases, expected, path=()):
    """Write a call and what is in it as events from a moment on, add it to what is expected; return its end."""
    name, self_us, children = tree
    path = (*path, name)
    start = at
    events = []
    for part in children:
        more, at = _written(part, at, phases, expected, path)
        events += more
    at += self_us
    entry = expected.setdefault(path, [0, 0, 0])
    entry[0] += 1
    entry[1] += at - start
    entry[2] += self_us
    if next(phases):
        return [call(name, start / US, (at - start) / US), *events], at
    return [begin(name, start / US), *events, end(at / US, name=name)], at


@settings(max_examples=60, deadline=None)
@given(st.lists(_TREES, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_random_programs_are_read_back_to_the_nanosecond(trees, random):
    expected: dict = {}
    events, at = [], 0
    phases = iter(lambda: random.random() < 0.7, None)
    for tree in trees:
        more, at = _written(tree, at, phases, expected)
        events += more
    complete = [event for event in events if event["ph"] == "X"]
    random.shuffle(complete)
    edges = [event for event in events if event["ph"] != "X"]
    profile = read([*complete, *edges])
    found = {}
    for path, _, node in profile.root.walk():
        names = tuple(part.replace("\\/", "/") for part in _parts(path))
        found[names] = [node.count, node.total_ns, node.self_ns]
    assert found.pop(()) == [0, at, 0]
    assert profile.losses == {}
    assert found == expected


def _parts(path):
    from ticktree.profile import path as paths

    return paths.split(path)


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_a_file_may_be_a_list_or_an_object_and_compressed(tmp_path, suffix):
    events = [call("step", 0, 5)]
    for content in (
        events,
        {"traceEvents": events},
        {"displayTimeUnit": "ms", "traceEvents": events, "x": float("nan")},
    ):
        text = json.dumps(content).encode()
        path = tmp_path / f"run{suffix}"
        path.write_bytes(gzip.compress(text) if suffix.endswith("gz") else text)
        profile = load(path)
        assert totals(profile) == {"step": (1, 5, 5)}
        assert profile.metadata["name"] == {"run"}


def test_a_list_that_nobody_ended_is_read_as_far_as_it_goes(tmp_path):
    path = tmp_path / "run.json"
    path.write_text("[\n" + ",\n".join(json.dumps(call("step", 10 * at, 5)) for at in range(3)) + ",\n")
    assert load(path).root.at("step").count == 3


@pytest.mark.parametrize("keep", [0.3, 0.9, 0.999])
@pytest.mark.parametrize("is_compressed", [True, False])
def test_a_file_cut_short_is_one_clear_error(tmp_path, keep, is_compressed):
    text = json.dumps({"traceEvents": [call("step", 10 * at, 5) for at in range(50)]}).encode()
    text = gzip.compress(text) if is_compressed else text
    path = tmp_path / "run.json"
    path.write_bytes(text[: int(len(text) * keep)])
    with pytest.raises(TicktreeError, match="damaged or cut short") as error:
        load(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "content", [{"traceEvents": []}, {"traceEvents": [{"ph": "i", "ts": 1}]}, [{"ph": "M", "name": "x"}]]
)
def test_a_trace_without_calls_is_one_clear_error(tmp_path, content):
    path = tmp_path / "run.json"
    path.write_text(json.dumps(content))
    with pytest.raises(TicktreeError, match="without a single call"):
        load(path)


def test_times_that_add_up_to_more_than_can_be_are_one_clear_error():
    with pytest.raises(TicktreeError, match="sum to more than can be measured"):
        read([call("a", at, 4e15) for at in range(5)])


def test_ends_without_a_category_are_no_loss_where_their_begins_are_not_read():
    profile = read([call("step", 0, 9), {**begin("op", 1), "cat": "cpu_op"}, end(3)])
    assert profile.losses == {}


def test_traces_are_repeats_like_other_profiles(tmp_path):
    for number in (1, 2):
        (tmp_path / f"{number}.json").write_text(json.dumps([call("step", 0, number)]))
    first, second = load_repeats([tmp_path / "1.json", tmp_path / "2.json"])
    assert (first + second).root.at("step").per_run == {"1": (1, 1000), "2": (1, 2000)}
