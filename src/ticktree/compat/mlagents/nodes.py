"""Nodes of timers and gauges as plain data, the tree of the time since a moment, and the formats of releases."""

from __future__ import annotations

import time
from abc import ABCMeta
from collections.abc import Callable, Collection, Mapping
from copy import copy
from typing import Any, Protocol

from ticktree.run.reading.accounts import Tallies, Tally


class Timings(Protocol):
    """A node that can be merged into another: ticktree's or the toolkit's."""

    @property
    def children(self) -> Mapping[str, Any]: ...  # noqa: D102 - as in TimerNode
    @property
    def total(self) -> float: ...  # noqa: D102
    @property
    def count(self) -> int: ...  # noqa: D102
    @property
    def is_parallel(self) -> bool: ...  # noqa: D102


class TimerNode(metaclass=ABCMeta):  # noqa: B024 - OpenTimer is registered as a virtual subclass
    """The calls of one timer at one position in the tree.

    Attributes:
        children: the timers below it, by name.
        total: seconds in it, the children's included.
        count: completed calls.
        is_parallel: whether it was concurrent to other threads or processes.
        self_time: seconds in which none of its children ran; None if that was not measured.
        tree: the stack's tree that contains it, else None; not pickled.
    """

    __slots__ = ("children", "count", "is_parallel", "self_time", "total", "tree")

    def __init__(self) -> None:
        self.children: dict[str, TimerNode] = {}
        self.total = 0.0
        self.count = 0
        self.is_parallel = False
        self.self_time: float | None = None
        self.tree: object | None = None

    def get_child(self, name: str) -> TimerNode:
        """Return the child `name`, created if needed."""
        child = self.children.get(name)
        if child is None:
            child = self.children[name] = TimerNode()
            child.tree = self.tree
        return child

    def add_time(self, elapsed: float) -> None:
        """Add a call of `elapsed` seconds that the program timed itself."""
        self.total += elapsed
        self.count += 1
        self.self_time = None

    def merge(self, other: Timings, root_name: str | None = None, is_parallel: bool = True) -> None:
        """Add another tree to this one.

        Args:
            other: The root of the other tree.
            root_name: The child of this node to add it to; without a name, this node.
            is_parallel: Whether the other tree was concurrent to this one.
        """
        stack: list[tuple[TimerNode, Timings]] = [(self.get_child(root_name) if root_name else self, other)]
        while stack:  # not by recursion: trees are as deep as the program recursed
            node, addition = stack.pop()
            self_time: float | None = getattr(addition, "self_time", None)
            if not (node.total or node.count):
                node.self_time = self_time
            elif addition.total or addition.count:
                node.self_time = (
                    None if node.self_time is None or self_time is None else node.self_time + self_time
                )
            node.total += addition.total
            node.count += addition.count
            node.is_parallel = node.is_parallel or is_parallel or addition.is_parallel
            stack.extend((node.get_child(name), child) for name, child in list(addition.children.items()))

    def __reduce__(self) -> tuple[Callable[..., TimerNode], tuple[Any, ...]]:
        return _make_node, (self.children, self.total, self.count, self.is_parallel, self.self_time)

    def self_seconds(self) -> float:
        """Return the seconds in which none of its children ran; computed from totals if it was not measured."""
        if self.self_time is not None:
            return self.self_time
        # Children concurrent to a node take none of its time; within a concurrent node, all children do.
        sequential = (child for child in self.children.values() if self.is_parallel or not child.is_parallel)
        return max(0.0, self.total - sum(child.total for child in sequential))

    def as_dict(self) -> dict[str, Any]:
        """Return this node's tree as JSON objects."""
        result: dict[str, Any] = {}
        stack: list[tuple[TimerNode, dict[str, Any]]] = [(self, result)]
        while stack:
            node, written = stack.pop()
            written["total"] = node.total
            written["count"] = node.count
            if node.is_parallel:
                written["is_parallel"] = True
            written["self"] = node.self_seconds()
            if node.children:
                children: dict[str, Any] = {name: {} for name in node.children}
                written["children"] = children
                stack.extend((child, children[name]) for name, child in node.children.items())
        return result


def _make_node(
    children: dict[str, TimerNode], total: float, count: int, is_parallel: bool, self_time: float | None
) -> TimerNode:
    node = TimerNode()
    node.children, node.total, node.count = children, total, count
    node.is_parallel, node.self_time = is_parallel, self_time
    return node


class GaugeNode:
    """A value that is reported from time to time: the latest, the extremes and the number of readings."""

    __slots__ = ("_timestamp", "count", "max_value", "min_value", "value")

    def __init__(self, value: float) -> None:
        self.value = self.min_value = self.max_value = value
        self.count = 1
        self._timestamp = time.time()  # wall-clock time, which processes share

    def update(self, new_value: float) -> None:
        """Add a reading."""
        self.value = new_value
        self.min_value = min(self.min_value, new_value)
        self.max_value = max(self.max_value, new_value)
        self.count += 1
        self._timestamp = time.time()

    def merge(self, other: GaugeNode) -> None:
        """Add another gauge's readings; the latest of both is the value."""
        if other._timestamp > self._timestamp:
            self.value, self._timestamp = other.value, other._timestamp
        self.min_value = min(self.min_value, other.min_value)
        self.max_value = max(self.max_value, other.max_value)
        self.count += other.count

    def copy(self) -> GaugeNode:
        """Return an independent gauge with the same readings."""
        return copy(self)

    def as_dict(self) -> dict[str, float]:
        """Return the gauge as a JSON object."""
        return {"value": self.value, "min": self.min_value, "max": self.max_value, "count": self.count}


def merge_into(gauges: dict[str, GaugeNode], others: Mapping[str, GaugeNode]) -> None:
    """Add `others` to `gauges`, by name; new gauges are copied."""
    for name, gauge in others.items():
        if name in gauges:
            gauges[name].merge(gauge)
        else:
            gauges[name] = gauge.copy()


_NS_PER_SECOND = 1_000_000_000
_EMPTY = Tally()


class Growth:
    """The recorded time since a moment, from the view of some threads; `before` has the tallies of that moment.

    The roots of `trees` become the result's root; the `concurrent` trees of other threads appear where those were
    started; all others are left out. After `grow`, `nodes` has the tree's nodes by the recorder's references.
    """

    def __init__(
        self, tallies: Tallies, trees: Collection[int], concurrent: Collection[int], before: Tallies | None
    ) -> None:
        self.tallies = tallies
        self.trees = trees
        self.concurrent = concurrent
        self.before = before
        self.nodes: dict[int, TimerNode] = {}
        self._since: dict[int, tuple[Tally, int, int]] = {}  # tally, self and concurrent ns by reference
        self._measure()

    def grow(self, root: TimerNode, *, is_alive: bool) -> None:
        """Build the tree below `root`, which is new and, if `is_alive`, lasts until now.

        The time of an ended thread outside all timers is unknown.
        """
        totals = self._totals()
        covered_ns = 0
        for ref, entry in self.tallies.places.items():
            if entry.tree not in self.trees and entry.tree not in self.concurrent:
                continue
            if entry.is_root:
                self.nodes[ref] = root if entry.tree in self.trees else self.nodes.get(entry.parent, root)
                continue
            parent = self.nodes[entry.parent]
            node = self.nodes[ref] = parent.get_child(entry.name)
            concurrent_ns = self._concurrent_ns(ref, totals[ref])
            self._add(node, ref, totals[ref], is_parallel=concurrent_ns != 0 or parent.is_parallel)
            if parent is root:
                covered_ns += totals[ref] - concurrent_ns
        began = self.tallies.began if self.before is None else self.before.now
        elapsed_ns = max(covered_ns, self.tallies.ns(self.tallies.now - began)) if is_alive else covered_ns
        root.total, root.count = elapsed_ns / _NS_PER_SECOND, 1
        root.self_time = (elapsed_ns - covered_ns) / _NS_PER_SECOND

    def open_nodes(self) -> set[int]:
        """Return the id() of each of the tree's nodes with an open call."""
        return {id(node) for ref, node in self.nodes.items() if self._since[ref][0].open}

    def _measure(self) -> None:
        before = self.before.at if self.before else {}
        for ref, tally in self.tallies.at.items():
            since = tally.since(before.get(ref, _EMPTY))
            convert = int if self.tallies.places[ref].in_ns else self.tallies.ns
            self._since[ref] = (since, max(0, convert(since.own)), convert(since.concurrent))

    def _totals(self) -> dict[int, int]:
        totals = {ref: self_ns for ref, (_, self_ns, _) in self._since.items()}
        for ref, entry in reversed(self.tallies.places.items()):
            if not entry.is_root:
                totals[entry.parent] += totals[ref] - self._since[ref][2]
        return totals

    def _concurrent_ns(self, ref: int, total_ns: int) -> int:
        """Return the part of a node's time that was concurrent to its parent, from the view of `trees`."""
        entry = self.tallies.places[ref]
        if not self.tallies.places[entry.parent].is_root or entry.tree not in self.trees:
            return self._since[ref][2]
        # The run's root has self time. Another thread's root does not: there a timer without a parent counts as
        # concurrent to everything, which for the thread itself it is not.
        if self._since[entry.parent][1] or self._since[entry.parent][0].open:
            return self._since[ref][2]
        return self._since[ref][2] - total_ns

    def _add(self, node: TimerNode, ref: int, total_ns: int, *, is_parallel: bool) -> None:
        since, self_ns, _ = self._since[ref]
        node.total += total_ns / _NS_PER_SECOND
        node.self_time = (node.self_time or 0.0) + self_ns / _NS_PER_SECOND
        node.count += since.calls
        node.is_parallel = node.is_parallel or is_parallel


_NEWEST_VERSION = "1.1.0"

emulated_version = _NEWEST_VERSION  # the version of the toolkit whose file is written


def as_written_by_release(tree: dict[str, Any]) -> dict[str, Any]:
    """Return a tree as the emulated release writes it.

    Releases before 0.15 write lists of objects with names in place of objects by name, those before 0.16 no metadata,
    and 0.16's development versions no command line. Read from the packages mlagents_envs 0.13.0 to 1.1.0 and, of the
    development version, from the toolkit's history.
    """
    release = tuple(int(part) for part in emulated_version.split(".")[:2])
    if release < (0, 16):
        tree.pop("metadata", None)
    elif emulated_version.startswith("0.16.0.dev"):
        tree.get("metadata", {}).pop("command_line_arguments", None)
    return _with_lists(tree) if release < (0, 15) else tree


def _with_lists(tree: dict[str, Any]) -> dict[str, Any]:
    stack = [tree]
    while stack:  # not by recursion: trees are as deep as the program recursed
        node = stack.pop()
        for key in ("gauges", "children"):
            if key in node:
                node[key] = [{"name": name, **value} for name, value in node[key].items()]
        stack.extend(node.get("children", ()))
    return tree
