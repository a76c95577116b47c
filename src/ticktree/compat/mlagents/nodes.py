"""Nodes of timers and gauges as plain data, the growth of a tree since a moment, and the file of a release."""

from __future__ import annotations

import time
from abc import ABCMeta
from collections.abc import Callable, Collection, Mapping
from copy import copy
from typing import Any, Protocol

from ticktree.run.reading.accounts import Tallies, Tally


class Timings(Protocol):
    """What can be merged into a node: another, ours or the toolkit's own."""

    @property
    def children(self) -> Mapping[str, Any]: ...  # noqa: D102 - as in TimerNode
    @property
    def total(self) -> float: ...  # noqa: D102
    @property
    def count(self) -> int: ...  # noqa: D102
    @property
    def is_parallel(self) -> bool: ...  # noqa: D102


class TimerNode(metaclass=ABCMeta):  # noqa: B024 - not for methods: what `with` gives is registered as one
    """The calls of one timer at its place in the tree.

    Attributes:
        children: the timers below it, by name.
        total: seconds in it, the children's included.
        count: completed calls.
        is_parallel: whether it was concurrent to something else, in other threads or processes.
        own: seconds in which none of its children ran; None where that was not measured.
        tree: the stack's tree that it is in; None of any other. It is not sent along.
    """

    __slots__ = ("children", "count", "is_parallel", "own", "total", "tree")

    def __init__(self) -> None:
        self.children: dict[str, TimerNode] = {}
        self.total = 0.0
        self.count = 0
        self.is_parallel = False
        self.own: float | None = None
        self.tree: object | None = None

    def get_child(self, name: str) -> TimerNode:
        """Return the child called `name`, made at need."""
        child = self.children.get(name)
        if child is None:
            child = self.children[name] = TimerNode()
            child.tree = self.tree
        return child

    def add_time(self, elapsed: float) -> None:
        """Add a call of `elapsed` seconds that was timed by hand."""
        self.total += elapsed
        self.count += 1
        self.own = None

    def merge(self, other: Timings, root_name: str | None = None, is_parallel: bool = True) -> None:
        """Add another tree to this one.

        Args:
            other: The node whose tree is added.
            root_name: The child of this node that it is added to; without a name, this node.
            is_parallel: Whether that was concurrent to this tree.
        """
        waiting: list[tuple[TimerNode, Timings]] = [(self.get_child(root_name) if root_name else self, other)]
        while waiting:  # not by recursion: trees are as deep as the program recursed
            node, added = waiting.pop()
            own: float | None = getattr(added, "own", None)
            if not (node.total or node.count):
                node.own = own
            elif added.total or added.count:
                node.own = None if node.own is None or own is None else node.own + own
            node.total += added.total
            node.count += added.count
            node.is_parallel = node.is_parallel or is_parallel or added.is_parallel
            waiting.extend((node.get_child(name), child) for name, child in list(added.children.items()))

    def __reduce__(self) -> tuple[Callable[..., TimerNode], tuple[Any, ...]]:
        return _plain, (self.children, self.total, self.count, self.is_parallel, self.own)

    def self_seconds(self) -> float:
        """Return the seconds in which none of its children ran; from the totals where it was not measured."""
        if self.own is not None:
            return self.own
        # What is concurrent to a node takes nothing of its time; within a concurrent node, all children do.
        covering = (child for child in self.children.values() if self.is_parallel or not child.is_parallel)
        return max(0.0, self.total - sum(child.total for child in covering))

    def as_dict(self) -> dict[str, Any]:
        """Return the tree from here on as objects to be written as JSON."""
        result: dict[str, Any] = {}
        waiting: list[tuple[TimerNode, dict[str, Any]]] = [(self, result)]
        while waiting:
            node, written = waiting.pop()
            written["total"] = node.total
            written["count"] = node.count
            if node.is_parallel:
                written["is_parallel"] = True
            written["self"] = node.self_seconds()
            if node.children:
                below: dict[str, Any] = {name: {} for name in node.children}
                written["children"] = below
                waiting.extend((child, below[name]) for name, child in node.children.items())
        return result


def _plain(
    children: dict[str, TimerNode], total: float, count: int, is_parallel: bool, own: float | None
) -> TimerNode:
    node = TimerNode()
    node.children, node.total, node.count = children, total, count
    node.is_parallel, node.own = is_parallel, own
    return node


class GaugeNode:
    """A value that is reported from time to time.

    Attributes:
        value: the latest.
        min_value: the least.
        max_value: the greatest.
        count: how many there were.
    """

    __slots__ = ("_timestamp", "count", "max_value", "min_value", "value")

    def __init__(self, value: float) -> None:
        self.value = self.min_value = self.max_value = value
        self.count = 1
        self._timestamp = time.time()  # of the wall clock, which processes share

    def update(self, new_value: float) -> None:
        """Add a reading."""
        self.value = new_value
        self.min_value = min(self.min_value, new_value)
        self.max_value = max(self.max_value, new_value)
        self.count += 1
        self._timestamp = time.time()

    def merge(self, other: GaugeNode) -> None:
        """Add another's readings; the latest of both is the value."""
        if other._timestamp > self._timestamp:
            self.value, self._timestamp = other.value, other._timestamp
        self.min_value = min(self.min_value, other.min_value)
        self.max_value = max(self.max_value, other.max_value)
        self.count += other.count

    def copy(self) -> GaugeNode:
        """Return a gauge of the same readings, which goes its own way."""
        return copy(self)

    def as_dict(self) -> dict[str, float]:
        """Return the gauge as an object to be written as JSON."""
        return {"value": self.value, "min": self.min_value, "max": self.max_value, "count": self.count}


def merge_into(gauges: dict[str, GaugeNode], others: Mapping[str, GaugeNode]) -> None:
    """Add `others` to `gauges`, by name; what is new there is a copy."""
    for name, gauge in others.items():
        if name in gauges:
            gauges[name].merge(gauge)
        else:
            gauges[name] = gauge.copy()


_SECOND = 1_000_000_000
_NOTHING = Tally()


class Growth:
    """What was recorded since a moment, from the view of some threads; `before` has the tallies of that moment.

    The trees of `mine` have the result's root as theirs, those of other threads, `concurrent`, are shown where those
    were started, and others are left out. Once grown, `nodes` has the tree's nodes by the recorder's references.
    """

    def __init__(
        self, tallies: Tallies, mine: Collection[int], concurrent: Collection[int], before: Tallies | None
    ) -> None:
        self.tallies = tallies
        self.mine = mine
        self.concurrent = concurrent
        self.before = before
        self.nodes: dict[int, TimerNode] = {}
        self._since: dict[
            int, tuple[Tally, int, int]
        ] = {}  # each node's tally, own and concurrent nanoseconds
        self._measure()

    def grow(self, root: TimerNode, *, lives: bool) -> None:
        """Let the tree grow from `root`, which is new. Whether it lasts until now, `lives` says.

        What happened outside all timers of a thread that has ended is not known.
        """
        totals = self._totals()
        covered_ns = 0
        for ref, place in self.tallies.places.items():
            if place.tree not in self.mine and place.tree not in self.concurrent:
                continue
            if place.is_root:
                self.nodes[ref] = root if place.tree in self.mine else self.nodes.get(place.parent, root)
                continue
            above = self.nodes[place.parent]
            node = self.nodes[ref] = above.get_child(place.name)
            concurrent_ns = self._concurrent_ns(ref, totals[ref])
            self._add(node, ref, totals[ref], is_parallel=concurrent_ns != 0 or above.is_parallel)
            if above is root:
                covered_ns += totals[ref] - concurrent_ns
        began = self.tallies.began if self.before is None else self.before.now
        elapsed_ns = max(covered_ns, self.tallies.ns(self.tallies.now - began)) if lives else covered_ns
        root.total, root.count, root.own = elapsed_ns / _SECOND, 1, (elapsed_ns - covered_ns) / _SECOND

    def open_nodes(self) -> set[int]:
        """The identities of the tree's nodes with a call that has not ended."""
        return {id(node) for ref, node in self.nodes.items() if self._since[ref][0].open}

    def _measure(self) -> None:
        before = self.before.at if self.before else {}
        for ref, tally in self.tallies.at.items():
            since = tally.since(before.get(ref, _NOTHING))
            convert = int if self.tallies.places[ref].in_ns else self.tallies.ns
            self._since[ref] = (since, max(0, convert(since.own)), convert(since.concurrent))

    def _totals(self) -> dict[int, int]:
        totals = {ref: self_ns for ref, (_, self_ns, _) in self._since.items()}
        for ref, place in reversed(self.tallies.places.items()):
            if not place.is_root:
                totals[place.parent] += totals[ref] - self._since[ref][2]
        return totals

    def _concurrent_ns(self, ref: int, total_ns: int) -> int:
        """The part of a node's time that was concurrent to the node above it, from the view of `mine`."""
        place = self.tallies.places[ref]
        if not self.tallies.places[place.parent].is_root or place.tree not in self.mine:
            return self._since[ref][2]
        # The run's own root passes time of its own. Another thread's does not: there a timer without a parent
        # counts as concurrent to everything, which to the thread itself it is not.
        if self._since[place.parent][1] or self._since[place.parent][0].open:
            return self._since[ref][2]
        return self._since[ref][2] - total_ns

    def _add(self, node: TimerNode, ref: int, total_ns: int, *, is_parallel: bool) -> None:
        since, self_ns, _ = self._since[ref]
        node.total += total_ns / _SECOND
        node.own = (node.own or 0.0) + self_ns / _SECOND
        node.count += since.calls
        node.is_parallel = node.is_parallel or is_parallel


_NEWEST = "1.1.0"

emulated = _NEWEST  # the version of the toolkit whose file is written


def as_written_by_release(tree: dict[str, Any]) -> dict[str, Any]:
    """Return a tree as the emulated release writes it.

    Releases before 0.15 write lists of objects with names in place of objects by name, those before 0.16 no metadata,
    and 0.16's development versions no command line. Read from the packages mlagents_envs 0.13.0 to 1.1.0 and, of the
    development version, from the toolkit's history.
    """
    release = tuple(int(part) for part in emulated.split(".")[:2])
    if release < (0, 16):
        tree.pop("metadata", None)
    elif emulated.startswith("0.16.0.dev"):
        tree.get("metadata", {}).pop("command_line_arguments", None)
    return _with_lists(tree) if release < (0, 15) else tree


def _with_lists(tree: dict[str, Any]) -> dict[str, Any]:
    waiting = [tree]
    while waiting:  # not by recursion: trees are as deep as the program recursed
        node = waiting.pop()
        for key in ("gauges", "children"):
            if key in node:
                node[key] = [{"name": name, **value} for name, value in node[key].items()]
        waiting.extend(node.get("children", ()))
    return tree
