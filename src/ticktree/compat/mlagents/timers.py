"""Timers, and the tree of a stack as the program gets it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import ContextDecorator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ticktree.compat.mlagents.nodes import TimerNode, Timings
from ticktree.recorder import Block, Entered, Recorder, make_block

if TYPE_CHECKING:
    from ticktree.compat.mlagents.stack import Threads, TimerStack

# Resolves a recorder's nodes.
Holder: TypeAlias = "TimerStack | Threads"

# The maximum number of names in a recorder.
_NAMES_KEPT = 4096


def _node_property(name: str, doc: str, *, may_be_set: bool = False) -> Any:
    """Return a property of the timer's current node."""

    def get(timer: OpenTimer) -> Any:
        return getattr(timer._node(), name)

    def set_(timer: OpenTimer, value: Any) -> None:
        setattr(timer._snapshot_node(), name, value)

    return property(get, set_ if may_be_set else None, doc=doc)


class OpenTimer(Entered):
    """The node of a timer, as `with hierarchical_timer(...) as timer` returns it.

    It has a `TimerNode`'s attributes, and is an instance of it: its numbers are current at each access, open calls
    included, and assignments and added children are kept. It is pickled as a `TimerNode`.
    """

    __slots__ = ()

    children: dict[str, TimerNode] = _node_property("children", "The timers below it, by name.")
    total: float = _node_property("total", "Seconds in it by now.", may_be_set=True)
    count: int = _node_property("count", "Completed calls by now.", may_be_set=True)
    is_parallel: bool = _node_property(
        "is_parallel", "Whether it ran concurrently with something else.", may_be_set=True
    )
    self_time: float | None = _node_property(
        "self_time", "Seconds in which none of its children ran; None where that was not measured."
    )

    def get_child(self, name: str) -> TimerNode:
        """Return the child `name`, created if needed."""
        return self._node().get_child(name)

    def add_time(self, elapsed: float) -> None:
        """Add a call of `elapsed` seconds that the program timed, in addition to the open one."""
        self._extra().add_time(elapsed)

    def merge(self, other: Timings, root_name: str | None = None, is_parallel: bool = True) -> None:
        """Add another tree to the timer; see `TimerNode.merge`.

        This changes the tree that the program gets, not the recording, which already contains ticktree's data of other
        threads and processes.
        """
        self._extra().merge(other, root_name, is_parallel)

    def as_dict(self) -> dict[str, Any]:
        """Return this node's tree as JSON objects."""
        return self._node().as_dict()

    def __reduce__(self) -> str | tuple[Any, ...]:
        return self._node().__reduce__()

    # Without a node nothing is recorded: then the program gets a node that is in no tree.
    def _extra(self) -> TimerNode:
        holder: Holder = self.holder
        return holder.extra_at(self.node) if self.node else TimerNode()

    def _node(self) -> TimerNode:
        holder: Holder = self.holder
        return holder.node_at(self.node) if self.node else TimerNode()

    def _snapshot_node(self) -> TimerNode:
        # Not updated: `timer.total += 5` adds 5, without the time since `total` was read.
        holder: Holder = self.holder
        return holder.snapshot_node_at(self.node) if self.node else TimerNode()


TimerNode.register(OpenTimer)


class PushedTimer(OpenTimer):
    """The node that `TimerStack.push` returns. It is timed until `pop`; its user adds that same time again."""

    __slots__ = ()

    def add_time(self, elapsed: float) -> None:
        """Do nothing: the time between `push` and `pop` is recorded already."""


class Timer(Block, ContextDecorator):
    """A context manager that times a block, or a decorator that times a function."""

    if TYPE_CHECKING:  # the recorder creates the method of every timer

        def __enter__(self) -> OpenTimer: ...


class Timers(dict[str, Timer]):
    """The timers of a recorder by name, created on first access; `holder` resolves their nodes."""

    def __init__(self, recorder: Recorder, holder: Holder, timer_class: type[OpenTimer] = OpenTimer) -> None:
        super().__init__()
        self._recorder = recorder
        self._holder = holder
        self._timer_class = timer_class

    def __missing__(self, name: str) -> Timer:
        timer = make_block(self._recorder.section(name), Timer, self._timer_class, self._holder)
        if len(self) < _NAMES_KEPT:
            self[name] = timer
        return timer


ROOT = 0  # the root's reference; the recorder's begin at 1


@dataclass(frozen=True, slots=True)
class _NodeSnapshot:
    """A node's values when the program got it; the reference keeps its id unique."""

    node: TimerNode
    parent: int  # id() of its parent
    name: str  # in its parent
    ref: int | None  # the recorder's reference; None of a node that the program created
    total: float
    count: int
    is_parallel: bool


class StackTree:
    """A stack's tree, which stays the same object until a reset, as in the toolkit, and is updated at each access.

    The program may change its nodes like the toolkit's: call methods, assign attributes, put nodes into `children`.
    `collect` finds these changes. `nodes` has the nodes by the recorder's references.
    """

    def __init__(self) -> None:
        self.root = TimerNode()
        self.root.tree = self
        self.nodes: dict[int, TimerNode] = {ROOT: self.root}
        self._snapshots: dict[int, _NodeSnapshot] = {}
        self.take_snapshots({})

    def collect(self, extra_at: Callable[[int], TimerNode]) -> None:
        """Add the program's changes since `take_snapshots` to the node that `extra_at` returns for each reference."""
        stack = [self.root]
        while stack:  # not by recursion: trees are as deep as the program recursed
            node = stack.pop()
            snapshot = self._snapshots[id(node)]
            if (node.total, node.count, node.is_parallel) != (
                snapshot.total,
                snapshot.count,
                snapshot.is_parallel,
            ):
                extra = self._extra_of(snapshot, extra_at)
                extra.total += node.total - snapshot.total
                extra.count += node.count - snapshot.count
                extra.is_parallel = extra.is_parallel or node.is_parallel
                extra.self_time = None  # not measured; computed from totals
            for name, child in list(node.children.items()):
                if id(child) in self._snapshots:
                    stack.append(child)
                    continue
                self._extra_of(snapshot, extra_at).get_child(name).merge(child, is_parallel=False)
                self._add_to_tree(node, name, child)

    def _add_to_tree(self, node: TimerNode, name: str, child: TimerNode) -> None:
        """Add a child that the program put into `children` to the tree; copy nodes of another stack's tree."""
        stack = [(node, name, child)]
        while stack:
            node, name, child = stack.pop()
            if child.tree not in (None, self):  # that tree's stack writes to it
                child = node.children[name] = TimerNode()
            child.tree = self
            stack.extend((child, child_name, grandchild) for child_name, grandchild in child.children.items())

    def clear(self) -> None:
        """Set all nodes to 0 before an update."""
        stack = [self.root]
        while stack:
            node = stack.pop()
            node.total, node.count, node.is_parallel, node.self_time = 0.0, 0, False, None
            stack.extend(node.children.values())

    def prune(self, nodes: Mapping[int, TimerNode], open_nodes: Collection[int]) -> None:
        """Remove nodes without calls, such as those from before a reset.

        Nodes that the program created stay, and so do nodes with an open call, whose ids are `open_nodes`.
        """
        recorded_ids = {id(node) for node in nodes.values()}
        recorded_ids.update(key for key, snapshot in self._snapshots.items() if snapshot.ref is not None)
        nodes_with_parents = [(self.root, "", self.root)]
        for _, _, node in nodes_with_parents:
            nodes_with_parents.extend((node, name, child) for name, child in node.children.items())
        for parent, name, node in reversed(nodes_with_parents[1:]):
            if (
                id(node) not in recorded_ids
                or node.children
                or node.count
                or node.total
                or id(node) in open_nodes
            ):
                continue
            del parent.children[name]

    def take_snapshots(self, nodes: Mapping[int, TimerNode]) -> None:
        """Record the values of the tree that the program gets; `nodes` are by the recorder's references."""
        self.nodes = {**nodes, ROOT: self.root}
        refs: dict[int, int] = {}
        for ref, node in self.nodes.items():
            refs.setdefault(id(node), ref)
        refs[id(self.root)] = ROOT
        self._snapshots = {}
        stack = [(self.root, id(self.root), "")]
        while stack:
            node, parent, name = stack.pop()
            values = (refs.get(id(node)), node.total, node.count, node.is_parallel)
            self._snapshots[id(node)] = _NodeSnapshot(node, parent, name, *values)
            stack.extend((child, id(node), name) for name, child in node.children.items())

    def _extra_of(self, snapshot: _NodeSnapshot, extra_at: Callable[[int], TimerNode]) -> TimerNode:
        """Return the additions at a node; for a node that the program created, below its nearest recorded parent."""
        names = []
        while snapshot.ref is None:
            names.append(snapshot.name)
            snapshot = self._snapshots[snapshot.parent]
        extra = extra_at(snapshot.ref)
        for name in reversed(names):
            extra = extra.get_child(name)
        return extra


def add_extras(
    root: TimerNode,
    nodes: Mapping[int, TimerNode],
    extras: Mapping[int, TimerNode],
    default_node: TimerNode | None,
) -> None:
    """Add the program's additions to a tree; those at other trees' nodes go to `default_node`, if given."""
    added_to: set[int] = set()
    for ref, extra in list(extras.items()):
        node = nodes.get(ref, default_node)
        if node is None:
            continue
        node.total += extra.total
        node.count += extra.count
        node.is_parallel = node.is_parallel or extra.is_parallel
        for name, child in extra.children.items():
            node.get_child(name).merge(child, is_parallel=False)
        node.self_time = None
        added_to.add(id(node))
    stack = [root] if added_to else []
    while stack:  # an addition reduces the self time of its parent
        node = stack.pop()
        if any(id(child) in added_to for child in node.children.values()):
            node.self_time = None
        stack.extend(node.children.values())
