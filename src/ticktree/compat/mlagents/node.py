"""TimerNode: what a timer took, as plain numbers that can be sent, merged and written."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Mapping
from typing import Any, Protocol


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
        is_parallel: whether it ran beside something else, in other threads or processes.
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
            is_parallel: Whether that ran beside what this tree holds.
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
        # What runs beside a node takes nothing of its time; within a node that runs beside others, all does.
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
