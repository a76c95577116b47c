"""What the toolkit's users rely on, and what they could not."""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import math
import pickle
import weakref
from unittest import mock

import numpy as np
import pytest

import ticktree
from ticktree.compat import mlagents as timers


@timers.timed
def decorated(x=0, y=1.0):
    """Adds."""
    timers.set_gauge("sum", x + y)
    return x + y


def test_timers_nest_and_are_counted_where_they_were_entered(virtual):
    with timers.hierarchical_timer("advance"):
        virtual.advance(1)
        for _ in range(3):
            with timers.hierarchical_timer("step"):
                virtual.advance(2)
    with timers.hierarchical_timer("step"):
        virtual.advance(4)
    virtual.advance(8)
    assert virtual.times() == {
        "": (19, 1, 8),
        "advance": (7, 1, 1),
        "advance/step": (6, 3, 6),
        "step": (4, 1, 4),
    }


def test_a_tree_has_the_fields_of_the_toolkits_and_no_others(virtual):
    with timers.hierarchical_timer("top"):
        decorated(2, 2)
        decorated(0, 0)
    tree = json.loads(json.dumps(virtual.tree()))
    assert tree == {
        "name": "root",
        "gauges": {"sum": {"value": 0.0, "min": 0.0, "max": 4.0, "count": 2}},
        "metadata": {
            "timer_format_version": timers.TIMER_FORMAT_VERSION,
            "start_time_seconds": mock.ANY,
            "end_time_seconds": mock.ANY,
            "python_version": mock.ANY,
            "command_line_arguments": mock.ANY,
        },
        "total": 0.0,
        "count": 1,
        "self": 0.0,
        "children": {
            "top": {
                "total": 0.0,
                "count": 1,
                "self": 0.0,
                "children": {"decorated": {"total": 0.0, "count": 2, "self": 0.0}},
            }
        },
    }


def test_an_exception_ends_its_timers_and_goes_on(virtual):
    with pytest.raises(RuntimeError), timers.hierarchical_timer("outer"), timers.hierarchical_timer("raises"):
        virtual.advance(1)
        raise RuntimeError
    with timers.hierarchical_timer("after"):
        virtual.advance(2)
    assert virtual.times() == {
        "": (3, 1, 0),
        "outer": (1, 1, 0),
        "outer/raises": (1, 1, 1),
        "after": (2, 1, 2),
    }


def test_recursion_nests(virtual):
    @timers.timed
    def down(levels):
        virtual.advance(1)
        if levels:
            down(levels - 1)

    down(2)
    name = down.__qualname__
    assert virtual.times()[f"{name}/{name}"] == (2, 1, 1)


def test_an_open_timer_has_its_time_so_far_and_nothing_is_below_zero(virtual):
    with timers.hierarchical_timer("open"):
        with timers.hierarchical_timer("done"):
            virtual.advance(3)
        virtual.advance(1)
        assert virtual.times() == {"": (4, 1, 0), "open": (4, 0, 1), "open/done": (3, 1, 3)}
    assert virtual.times()["open"] == (4, 1, 1)


def test_a_generator_is_timed_while_it_runs(virtual):
    @timers.timed
    def batches():
        for item in range(2):
            virtual.advance(5)
            yield item

    with timers.hierarchical_timer("consumer"):
        for _ in batches():
            with timers.hierarchical_timer("use"):
                virtual.advance(1)
    name = batches.__qualname__
    assert virtual.times() == {
        "": (12, 1, 0),
        "consumer": (12, 1, 0),
        f"consumer/{name}": (10, 3, 10),
        "consumer/use": (2, 2, 2),
    }


def test_a_timer_in_a_sleeping_generator_has_nobody_elses_timers_below_it(virtual):
    def batches():
        with timers.hierarchical_timer("read"):
            yield 1

    for _ in batches():
        with timers.hierarchical_timer("use"):
            virtual.advance(1)
    assert set(virtual.times()) == {"", "read", "use"}


def test_coroutines_that_take_turns_are_parallel_and_their_parent_takes_no_longer_than_it_does(virtual):
    @timers.timed
    async def act():
        virtual.advance(1)
        await asyncio.sleep(0)
        virtual.advance(1)

    async def both():
        with timers.hierarchical_timer("step"):
            await asyncio.gather(act(), act())

    asyncio.run(both())
    step = virtual.tree()["children"]["step"]
    (acts,) = step["children"].values()
    assert (step["total"], step["self"]) == (0.004, 0)
    assert (acts["count"], acts["is_parallel"]) == (2, True)
    assert acts["total"] > step["total"]
    assert inspect.iscoroutinefunction(act)


def test_a_decorated_function_keeps_its_name_its_signature_and_its_kind():
    assert (decorated.__name__, decorated.__doc__) == ("decorated", "Adds.")
    assert list(inspect.signature(decorated).parameters) == ["x", "y"]

    class Trainer:
        @timers.timed
        @staticmethod
        def still():
            return 1

        @timers.timed
        @classmethod
        def of(cls):
            return cls

        @timers.timed
        def rows(self):
            yield self

    assert Trainer.still() == 1
    assert Trainer().of() is Trainer
    assert inspect.isgeneratorfunction(Trainer.rows)
    with pytest.raises(TypeError, match="wants a function"):
        timers.timed(3)


def test_a_timer_decorates_a_function_too(virtual):
    @timers.hierarchical_timer("named")
    def work():
        virtual.advance(1)

    work()
    work()
    assert virtual.times()["named"] == (2, 2, 2)


def test_a_reset_forgets_what_was_and_the_recorder_does_not(virtual):
    with timers.hierarchical_timer("before"):
        virtual.advance(1)
    timers.set_gauge("reward", 3)
    timers.add_metadata("version", "1")
    timers.reset_timers()
    virtual.advance(2)
    assert virtual.times() == {"": (2, 1, 2)}
    assert "gauges" not in virtual.tree()
    assert "version" not in virtual.tree()["metadata"]
    assert virtual.recorder.snapshot().root.at("before").count == 1


def test_a_reset_while_timers_are_open_lets_them_begin_again(virtual):
    """In the toolkit the next timer then raises in the program."""
    with timers.hierarchical_timer("outer"):
        virtual.advance(10)
        with timers.hierarchical_timer("inner"):
            virtual.advance(5)
            timers.reset_timers()
            virtual.advance(1)
        virtual.advance(2)
    with timers.hierarchical_timer("later"):
        virtual.advance(4)
    assert virtual.times() == {
        "": (7, 1, 0),
        "outer": (3, 1, 2),
        "outer/inner": (1, 1, 1),
        "later": (4, 1, 4),
    }


def test_after_the_recorder_itself_was_reset_the_tree_begins_there(virtual):
    with timers.hierarchical_timer("a"):
        virtual.advance(5)
    timers.reset_timers()
    with timers.hierarchical_timer("a"):
        virtual.advance(1)
    virtual.recorder.reset()
    with timers.hierarchical_timer("a"):
        virtual.advance(2)
    assert virtual.times()["a"] == (2, 1, 2)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_reading_that_is_no_finite_number_is_left_out(virtual, value):
    timers.set_gauge("loss", 1.5)
    timers.set_gauge("loss", value)
    assert virtual.tree()["gauges"] == {"loss": {"value": 1.5, "min": 1.5, "max": 1.5, "count": 1}}


def test_a_gauge_takes_numbers_only_and_writes_them_as_they_are(virtual):
    with pytest.raises(TypeError):
        timers.set_gauge("loss", "3")
    timers.set_gauge("steps", 3)
    timers.set_gauge("loss", np.float32(0.5))
    assert json.dumps(virtual.tree()["gauges"]["steps"]) == '{"value": 3, "min": 3, "max": 3, "count": 1}'
    assert json.loads(json.dumps(virtual.tree()["gauges"]["loss"]))["value"] == 0.5


def test_gauges_are_recorded_too(virtual):
    timers.set_gauge("reward", 2)
    timers.set_gauge("reward", -1)
    gauge = virtual.recorder.snapshot().gauges["reward"]
    assert (gauge.last, gauge.min, gauge.max, gauge.count) == (-1, -1, 2, 2)


def test_merged_gauges_have_the_least_the_greatest_and_the_latest_and_stay_apart(virtual, monkeypatch):
    other = timers.TimerStack()
    clock = iter(range(1, 10))
    monkeypatch.setattr("ticktree.compat.mlagents.nodes.time.time", lambda: next(clock))
    timers.set_gauge("reward", 5)
    timers.set_gauge("reward", 1, timer_stack=other)
    timers.set_gauge("depth", 7, timer_stack=other)
    timers.set_gauge("reward", 3)
    timers.merge_gauges(other.gauges)
    timers.set_gauge("depth", 8)
    gauges = virtual.tree()["gauges"]
    assert gauges["reward"] == {"value": 3, "min": 1, "max": 5, "count": 3}
    assert gauges["depth"] == {"value": 8, "min": 7, "max": 8, "count": 2}
    assert other.gauges["depth"].count == 1


def test_metadata_is_written_as_it_was_added(virtual):
    timers.add_metadata("mlagents_version", "1.1.0")
    tree = virtual.tree()
    assert tree["metadata"]["mlagents_version"] == "1.1.0"
    assert int(tree["metadata"]["end_time_seconds"]) >= int(tree["metadata"]["start_time_seconds"])


@pytest.mark.parametrize("name", ["_global_timer_stack", "_get_thread_timer"])
def test_tests_replace_the_stack_as_the_toolkits_releases_have_it(name):
    stack = timers.TimerStack()
    replaced = stack if name == "_global_timer_stack" else lambda: stack
    with mock.patch(f"ticktree.compat.mlagents.{name}", replaced):
        with timers.hierarchical_timer("here"):
            decorated()
        assert timers.get_timer_tree()["children"].keys() == {"here"}
    assert stack.root.children["here"].children["decorated"].count == 1
    assert "here" not in timers.get_timer_tree().get("children", {})


def test_the_one_stack_of_older_releases_is_that_of_the_thread_that_asks(virtual):
    with timers.hierarchical_timer("here"):
        virtual.advance(1)
    assert timers._global_timer_stack.get_timing_tree() == timers.get_timer_tree()
    with pytest.raises(AttributeError, match="_global_timer"):
        _ = timers._global_timer


@pytest.mark.parametrize("release", ["0.14.1", "0.15.0", "0.16.0.dev0", "0.16.0", "1.1.0"])
def test_the_tree_has_the_shape_of_the_release_whose_place_it_takes(virtual, monkeypatch, release):
    monkeypatch.setattr("ticktree.compat.mlagents.nodes.emulated_version", release)
    with timers.hierarchical_timer("top"), timers.hierarchical_timer("below"):
        virtual.advance(2)
    timers.set_gauge("loss", 1)
    tree = timers.get_timer_tree()
    below = {"total": 0.002, "count": 1, "self": 0.002}
    gauge = {"value": 1, "min": 1, "max": 1, "count": 1}
    if release == "0.14.1":
        assert tree["gauges"] == [{"name": "loss", **gauge}]
        (top,) = tree["children"]
        assert top["name"] == "top"
        assert top["children"] == [{"name": "below", **below}]
    else:
        assert tree["gauges"] == {"loss": gauge}
        assert tree["children"]["top"]["children"] == {"below": below}
    command_line = {"command_line_arguments"}
    metadata = {
        "timer_format_version",
        "start_time_seconds",
        "end_time_seconds",
        "python_version",
    } | command_line
    written = {"0.14.1": None, "0.15.0": None, "0.16.0.dev0": metadata - command_line}.get(release, metadata)
    assert (set(tree["metadata"]) if "metadata" in tree else None) == written


def test_a_stack_that_is_given_is_used(virtual):
    other = timers.TimerStack()
    with timers.hierarchical_timer("x", timer_stack=other):
        pass
    timers.add_metadata("key", "value", timer_stack=other)
    assert set(virtual.times()) == {""}
    assert timers.get_timer_root(other).children["x"].count == 1
    assert timers.get_timer_tree(other)["metadata"]["key"] == "value"
    timers.reset_timers(other)
    assert timers.get_timer_tree(other).get("children") is None


def test_push_and_pop_time_what_is_between_them(virtual):
    node = virtual.stack.push("a")
    virtual.advance(1)
    virtual.stack.push("b")
    virtual.advance(2)
    virtual.stack.pop()
    node.add_time(0.003)  # as the toolkit's own context manager does
    virtual.stack.pop()
    virtual.stack.pop()
    assert virtual.times() == {"": (3, 1, 0), "a": (3, 1, 1), "a/b": (2, 1, 2)}


def test_a_root_is_of_its_moment_and_can_be_sent(virtual):
    with timers.hierarchical_timer("step"):
        virtual.advance(2)
    root = timers.get_timer_root()
    timers.reset_timers()
    sent = pickle.loads(pickle.dumps(root))
    assert (sent.count, sent.total, sent.children["step"].total) == (1, 0.002, 0.002)
    assert type(sent) is timers.TimerNode


def test_trees_of_other_processes_are_merged_where_the_timer_is(virtual):
    sent = []
    for _ in range(2):
        stack = timers.TimerStack(ticktree.Recorder(virtual_clock=True))
        with timers.hierarchical_timer("env.step", timer_stack=stack):
            stack.recorder.advance(40_000_000)
        sent.append(pickle.loads(pickle.dumps(timers.get_timer_root(stack))))
    with timers.hierarchical_timer("env_step"):
        virtual.advance(1)
        with timers.hierarchical_timer("workers") as workers:
            for root in sent:
                workers.merge(root, root_name="worker_root", is_parallel=True)
        assert workers.children["worker_root"].count == 2
    tree = virtual.tree()["children"]["env_step"]
    workers = tree["children"]["workers"]
    assert (tree["total"], tree["self"], workers["total"], workers["self"]) == (0.001, 0.001, 0, 0)
    assert "is_parallel" not in workers
    assert workers["children"]["worker_root"] == {
        "total": 0.08,
        "count": 2,
        "is_parallel": True,
        "self": 0.0,
        "children": {"env.step": {"total": 0.08, "count": 2, "is_parallel": True, "self": 0.08}},
    }


def test_what_is_merged_is_not_recorded_for_it_is_already(virtual):
    with timers.hierarchical_timer("workers") as workers:
        other = timers.TimerNode()
        other.add_time(7)
        workers.merge(other, root_name="worker_root")
    assert virtual.recorder.snapshot().root.at("workers").children == {}


def test_merging_into_the_innermost_of_equal_names_is_merging_there(virtual):
    added = timers.TimerNode()
    added.add_time(1)
    with timers.hierarchical_timer("a") as outer, timers.hierarchical_timer("a"):
        outer.merge(added, root_name="x")
    assert set(virtual.times()) == {"", "a", "a/a", "a/x"}


def test_a_tree_that_is_merged_in_sequence_takes_of_the_timers_own_time(virtual):
    part = timers.TimerNode()
    part.get_child("part").add_time(0.003)
    with timers.hierarchical_timer("whole") as whole:
        virtual.advance(4)
        whole.merge(part, is_parallel=False)
    assert virtual.times()["whole"] == (4, 1, 1)


def test_what_is_merged_into_the_root_stays_there_until_the_reset(virtual):
    added = timers.TimerNode()
    added.add_time(1)
    root = timers.get_timer_root()
    root.merge(added, root_name="elsewhere")
    assert root.children["elsewhere"].total == 1
    assert virtual.tree()["children"]["elsewhere"]["total"] == 1
    timers.reset_timers()
    assert "children" not in virtual.tree()


def test_a_deep_recursion_is_written_without_one(virtual):
    def down(levels):
        if levels:
            with timers.hierarchical_timer("level"):
                down(levels - 1)

    down(200)
    node, depth = virtual.tree(), 0
    while "children" in node:
        node, depth = node["children"]["level"], depth + 1
    assert depth == 200


def test_a_timer_is_seen_at_the_line_that_enters_it(virtual):
    with timers.hierarchical_timer("here"):
        pass
    site = virtual.recorder.snapshot().root.at("here").call_site
    assert site.file == __file__
    assert site.function == "test_a_timer_is_seen_at_the_line_that_enters_it"


@pytest.mark.slow
def test_a_stack_that_nobody_has_any_more_is_freed():
    stack = timers.TimerStack()
    with timers.hierarchical_timer("x", timer_stack=stack):
        pass
    stack.push("y")
    recorder, stack = weakref.ref(stack.recorder), weakref.ref(stack)
    gc.collect()
    assert stack() is None
    gc.collect()
    assert recorder() is None
