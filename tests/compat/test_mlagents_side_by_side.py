"""One program under the toolkit's own timers and under ours: the same names, nesting, counts and fields.

Needs the package: `pip install --no-deps --ignore-requires-python mlagents-envs==1.1.0`, or `make test-apart`, which
has it in the venv of the workload mlagents_trainer. Times are not compared; where the two are meant to differ,
docs/compat/mlagents.md says so, and other tests show ours to be right.
"""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ticktree.compat import mlagents as ours

theirs = pytest.importorskip(
    "mlagents_envs.timers",
    reason="NOT COMPARED with the toolkit's own timers: no mlagents-envs here; `make test-apart` compares",
)


def shape(node):
    """Names, nesting, counts and fields; of numbers that are times only that they are numbers."""
    return {
        **{key: value for key, value in node.items() if key in ("name", "count", "is_parallel", "gauges")},
        **{key: type(node[key]) for key in ("total", "self")},
        **({"metadata": set(node["metadata"])} if "metadata" in node else {}),
        **(
            {"children": [(name, shape(child)) for name, child in node["children"].items()]}
            if "children" in node
            else {}
        ),
        "fields": set(node),
    }


def of(module, program):
    """The shape that a program leaves, on a stack that nobody else uses, and the thread's own."""
    stack = module.TimerStack()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_get_thread_timer", lambda: stack)
        program(module)
        return shape(module.get_timer_tree())


def training(timers):
    class Trainer:
        @timers.timed
        def advance(self, steps):
            for _ in range(steps):
                with timers.hierarchical_timer("env_step"):
                    self.step()
            with timers.hierarchical_timer("update"):
                timers.set_gauge("loss", 0.25 * steps)

        @timers.timed
        def step(self):
            return 1

    timers.add_metadata("mlagents_version", "1.1.0")
    trainer = Trainer()
    with timers.hierarchical_timer("run_training.setup"):
        pass
    for steps in (1, 3):
        trainer.advance(steps)


def failing(timers):
    with timers.hierarchical_timer("outer"):
        for _ in range(2):
            try:
                with timers.hierarchical_timer("raises"):
                    raise RuntimeError("expected")
            except RuntimeError:
                pass
        with timers.hierarchical_timer("after"):
            pass


def recursive(timers):
    @timers.timed
    def down(levels):
        if levels:
            down(levels - 1)

    down(4)
    down(2)


def merged(timers):
    def root(calls):
        stack = timers.TimerStack()
        for _ in range(calls):
            stack.push("environment.step").add_time(0.002)
            stack.push("communicator.exchange").add_time(0.001)
            stack.pop()
            stack.pop()
            timers.set_gauge("reward", calls, timer_stack=stack)
        timers.merge_gauges(stack.gauges)
        return timers.get_timer_root(stack)

    with timers.hierarchical_timer("workers") as workers:
        for calls in (2, 3):
            workers.merge(root(calls), root_name="worker_root", is_parallel=True)
    by_hand = timers.TimerNode()
    by_hand.get_child("part").add_time(1.0)
    with timers.hierarchical_timer("in sequence") as node:
        node.merge(by_hand, is_parallel=False)


def reset(timers):
    with timers.hierarchical_timer("forgotten"):
        pass
    timers.set_gauge("forgotten", 1)
    timers.reset_timers()
    with timers.hierarchical_timer("kept"):
        pass


def pushed(timers):
    stack = timers.TimerStack()
    node = stack.push("a")
    stack.push("b").add_time(0.5)
    stack.pop()
    node.add_time(1.0)
    stack.pop()
    with timers.hierarchical_timer("stacks") as stacks:
        stacks.merge(stack.root, root_name="pushed")
    counts = {name: child.count for name, child in stack.root.children.items()}
    assert counts == {"a": 1}


@pytest.mark.parametrize("program", [training, failing, recursive, reset])
def test_a_program_leaves_the_same_tree(program):
    assert of(ours, program) == of(theirs, program)


@pytest.mark.parametrize("program", [merged, pushed])
def test_merged_trees_are_the_same_but_that_a_root_always_counts(program):
    def counted(node):
        return {
            **node,
            "count": 1 if node["count"] == 0 else node["count"],
            **(
                {"children": [(name, counted(child)) for name, child in node["children"]]}
                if "children" in node
                else {}
            ),
        }

    assert of(ours, program) == counted(of(theirs, program))


def threaded(timers):
    """As the toolkit's trainer controller does it."""

    barrier = threading.Barrier(
        2
    )  # the toolkit tells threads apart by numbers that are free again when one ends

    def update():
        barrier.wait()
        for _ in range(4):
            with timers.hierarchical_timer("trainer_advance"):
                timers.set_gauge("Policy/Loss", 0.5)
        barrier.wait()

    timers.reset_timers()
    threads = [threading.Thread(target=update) for _ in range(2)]
    with timers.hierarchical_timer("start_learning"):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with timers.hierarchical_timer("trainer_threads") as main:
        for thread in threads:
            stack = timers.get_timer_stack_for_thread(thread)
            if stack:
                main.merge(stack.root, root_name="thread_root", is_parallel=True)
                timers.merge_gauges(stack.gauges)
    tree = timers.get_timer_tree()
    timers.reset_timers()
    return tree


def test_threads_that_the_program_merges_leave_the_same_tree(monkeypatch):
    # The toolkit knows threads by numbers that the system uses again, and would go on with those of earlier tests.
    monkeypatch.setattr(theirs, "_thread_timer_stacks", {})
    left, right = shape(threaded(ours)), shape(threaded(theirs))
    (root,) = (child for _, child in dict(left["children"])["trainer_threads"]["children"])
    assert root["count"] == 2
    root["count"] = 0  # there the root of a thread is not counted
    assert left == right


programs = st.recursive(
    st.just([]),
    lambda inner: st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.booleans(), inner), max_size=3),
    max_leaves=12,
)


def play(timers, steps):
    for name, raises, inner in steps:
        try:
            with timers.hierarchical_timer(name):
                play(timers, inner)
                if raises:
                    raise KeyError(name)
        except KeyError:
            pass


@settings(max_examples=60, deadline=None)
@given(programs)
def test_any_nesting_leaves_the_same_tree(steps):
    assert of(ours, lambda timers: play(timers, steps)) == of(theirs, lambda timers: play(timers, steps))


def by_hand(depth):
    """What a program can do to a node, at most `depth` levels down."""
    seconds = st.sampled_from([1e6, 2e6, 6e6])
    names = st.sampled_from(["a", "b", "x"])
    here = [
        st.tuples(st.just("add_time"), seconds),
        st.tuples(st.just("total"), seconds),
        st.tuples(st.just("count"), st.just(2)),
        st.tuples(st.just("is_parallel"), st.just(True)),
        st.tuples(st.just("merge"), seconds, seconds, st.one_of(st.none(), names), st.booleans()),
        st.tuples(st.just("timer"), names),
        st.tuples(st.just("tree")),
    ]
    if depth:
        inner = by_hand(depth - 1)
        here += [
            st.tuples(st.just("get_child"), names, inner),
            st.tuples(st.just("children"), names, inner),
            st.tuples(st.just("put"), names, seconds),
            st.tuples(st.just("enter"), names, inner),
            st.tuples(st.just("root"), inner),
        ]
    return st.lists(st.one_of(here), max_size=4)


class ByHand:
    """Plays such a program's steps, under one of the two modules."""

    def __init__(self, timers):
        self.timers = timers

    def play(self, node, steps):
        for action, *arguments in steps:
            getattr(self, action)(node, *arguments)

    def add_time(self, node, seconds):
        node.add_time(seconds)

    def total(self, node, seconds):
        node.total += seconds

    def count(self, node, calls):
        node.count += calls

    def is_parallel(self, node, value):
        node.is_parallel = value

    def merge(self, node, total, child, name, is_parallel):
        merged = self.timers.TimerNode()
        merged.add_time(total + child)
        merged.get_child("part").add_time(child)
        node.merge(merged, root_name=name, is_parallel=is_parallel)

    def timer(self, node, name):
        with self.timers.hierarchical_timer(name):
            pass

    def tree(self, node):
        self.timers.get_timer_tree()

    def get_child(self, node, name, inner):
        self.play(node.get_child(name), inner)

    def children(self, node, name, inner):
        if name in node.children:
            self.play(node.children[name], inner)

    def put(self, node, name, seconds):
        if name not in node.children:
            node.children[name] = node_made = self.timers.TimerNode()
            self.timers.get_timer_tree()
            node_made.add_time(seconds)

    def enter(self, node, name, inner):
        with self.timers.hierarchical_timer(name) as entered:
            assert isinstance(entered, self.timers.TimerNode)
            self.play(entered, inner)

    def root(self, node, inner):
        self.play(self.timers.get_timer_root(), inner)


def numbers(node):
    """A tree's numbers, in millions of seconds: what is added by hand; what is measured is far less."""
    children = {name: numbers(child) for name, child in node.get("children", {}).items()}
    in_parallel = any(child["is_parallel"] for child in children.values())
    return {
        "total": round(node["total"] / 1e6),
        "count": node["count"],
        "is_parallel": node.get("is_parallel", False),
        # There parallel children take of their parent's time; docs/compat/mlagents.md says so.
        "self": None if in_parallel else round(node["self"] / 1e6),
        "children": children,
    }


@settings(max_examples=200, deadline=None)
@given(by_hand(3))
def test_whatever_a_program_does_to_nodes_by_hand_leaves_the_same_numbers(steps):
    def of(module):
        stack = module.TimerStack()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_get_thread_timer", lambda: stack)
            with module.hierarchical_timer("run") as run:
                ByHand(module).play(run, steps)
            tree = numbers(module.get_timer_tree())
        # There the root is always one call of the time since the reset, whatever is added to it by hand.
        tree.update(total=None, self=None, count=None, is_parallel=None)
        return tree

    assert of(ours) == of(theirs)
