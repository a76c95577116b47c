"""Timers to be entered, and the tree of a stack as the program gets it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import ContextDecorator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ticktree.compat.mlagents.nodes import TimerNode, Timings
from ticktree.recorder import Block, Entered, Recorder, make_block

if TYPE_CHECKING:
    from ticktree.compat.mlagents.stack import Threads, TimerStack

# What knows a recorder's nodes.
Holder: TypeAlias = "TimerStack | Threads"

# As many as a recorder has names for.
_NAMES_KEPT = 4096


def _of_node(name: str, doc: str, *, may_be_set: bool = False) -> Any:
    """A property of the timer's node, as it is at the moment of access."""

    def get(timer: OpenTimer) -> Any:
        return getattr(timer._now(), name)

    def set_(timer: OpenTimer, value: Any) -> None:
        setattr(timer._given(), name, value)

    return property(get, set_ if may_be_set else None, doc=doc)


class OpenTimer(Entered):
    """What `with hierarchical_timer(...) as timer` gives: the timer's place in the tree.

    It has what a `TimerNode` has, and counts as one: its numbers are those of the moment of access, open
    calls included, and what is assigned to them or added to its children is kept. Pickled it is a `TimerNode`.
    """

    __slots__ = ()

    children: dict[str, TimerNode] = _of_node("children", "The timers below it, by name.")
    total: float = _of_node("total", "Seconds in it by now.", may_be_set=True)
    count: int = _of_node("count", "Completed calls by now.", may_be_set=True)
    is_parallel: bool = _of_node(
        "is_parallel", "Whether it ran concurrently with something else.", may_be_set=True
    )
    own: float | None = _of_node(
        "own", "Seconds in which none of its children ran; None where that was not measured."
    )

    def get_child(self, name: str) -> TimerNode:
        """Return the child called `name`, made at need."""
        return self._now().get_child(name)

    def add_time(self, elapsed: float) -> None:
        """Add a call of `elapsed` seconds that the program timed, next to the one that is being timed."""
        self._extra().add_time(elapsed)

    def merge(self, other: Timings, root_name: str | None = None, is_parallel: bool = True) -> None:
        """Add another tree to the timer; see `TimerNode.merge`.

        It is added to the tree that the program gets, and not to what is recorded: what ticktree has recorded of
        other threads and processes is there already.
        """
        self._extra().merge(other, root_name, is_parallel)

    def as_dict(self) -> dict[str, Any]:
        """Return the tree from here on as objects to be written as JSON."""
        return self._now().as_dict()

    def __reduce__(self) -> str | tuple[Any, ...]:
        return self._now().__reduce__()

    # Without a node nothing is being recorded: then the program has a node that is in no tree.
    def _extra(self) -> TimerNode:
        holder: Holder = self.holder
        return holder.extra_at(self.node) if self.node else TimerNode()

    def _now(self) -> TimerNode:
        holder: Holder = self.holder
        return holder.node_at(self.node) if self.node else TimerNode()

    def _given(self) -> TimerNode:
        # Not brought up to date: `timer.total += 5` adds 5, not also the time since `total` was read.
        holder: Holder = self.holder
        return holder.given_at(self.node) if self.node else TimerNode()


TimerNode.register(OpenTimer)


class PushedTimer(OpenTimer):
    """What `TimerStack.push` gives. It is timed until `pop`; the time its user adds to it is that same time."""

    __slots__ = ()

    def add_time(self, elapsed: float) -> None:
        """Do nothing: what lies between `push` and `pop` is recorded as it is."""


class Timer(Block, ContextDecorator):
    """A block to be timed, or a decorator of a function to be."""

    if TYPE_CHECKING:  # each timer has its own, which the recorder makes

        def __enter__(self) -> OpenTimer: ...


class Timers(dict[str, Timer]):
    """The timers of a recorder by name, made on first access; their nodes are merged into what `holder` has."""

    def __init__(self, recorder: Recorder, holder: Holder, gives: type[OpenTimer] = OpenTimer) -> None:
        super().__init__()
        self._recorder = recorder
        self._holder = holder
        self._gives = gives

    def __missing__(self, name: str) -> Timer:
        timer = make_block(self._recorder.section(name), Timer, self._gives, self._holder)
        if len(self) < _NAMES_KEPT:
            self[name] = timer
        return timer


ROOT = 0  # the root's reference; the recorder's begin at 1


@dataclass(frozen=True, slots=True)
class _Given:
    """A node as the program got it; it is kept, so that no other object can have its identity."""

    node: TimerNode
    parent: int  # the identity of the node above it
    name: str  # there
    ref: int | None  # the recorder's; None of a node that the program made
    total: float
    count: int
    is_parallel: bool


class StackTree:
    """One tree until its stack is reset, as in the toolkit: brought up to date in place at each access.

    The program may do to its nodes whatever it can do to the toolkit's: call their methods, assign to their fields,
    put nodes into their `children`. `collect` finds out what it did. `nodes` has them by the recorder's references.
    """

    def __init__(self) -> None:
        self.root = TimerNode()
        self.root.tree = self
        self.nodes: dict[int, TimerNode] = {ROOT: self.root}
        self._given: dict[int, _Given] = {}
        self.give({})

    def collect(self, extra_at: Callable[[int], TimerNode]) -> None:
        """Add what the program changed since `give` to what `extra_at` returns for a node of the recorder."""
        waiting = [self.root]
        while waiting:  # not by recursion: trees are as deep as the program recursed
            node = waiting.pop()
            given = self._given[id(node)]
            if (node.total, node.count, node.is_parallel) != (given.total, given.count, given.is_parallel):
                extra = self._extra_of(given, extra_at)
                extra.total += node.total - given.total
                extra.count += node.count - given.count
                extra.is_parallel = extra.is_parallel or node.is_parallel
                extra.own = None  # not measured: what its children do not take of its total
            for name, child in list(node.children.items()):
                if id(child) in self._given:
                    waiting.append(child)
                    continue
                self._extra_of(given, extra_at).get_child(name).merge(child, is_parallel=False)
                self._adopt(node, name, child)

    def _adopt(self, node: TimerNode, name: str, child: TimerNode) -> None:
        """Make what the program put into a node's `children` part of the tree, but for what is in another stack's."""
        waiting = [(node, name, child)]
        while waiting:
            node, name, child = waiting.pop()
            if child.tree not in (None, self):  # its own stack writes to it
                child = node.children[name] = TimerNode()
            child.tree = self
            waiting.extend((child, below, added) for below, added in child.children.items())

    def clear(self) -> None:
        """Set all nodes to 0: they are about to be brought up to date."""
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            node.total, node.count, node.is_parallel, node.own = 0.0, 0, False, None
            waiting.extend(node.children.values())

    def prune(self, nodes: Mapping[int, TimerNode], open_nodes: Collection[int]) -> None:
        """Take out the nodes without calls, such as those from before a reset; those that the program made stay.

        So do those of `open_nodes`, whose identities these are: they have a call that has not ended.
        """
        recorded = {id(node) for node in nodes.values()}
        recorded.update(key for key, given in self._given.items() if given.ref is not None)
        found = [(self.root, "", self.root)]
        for _, _, node in found:
            found.extend((node, name, child) for name, child in node.children.items())
        for above, name, node in reversed(found[1:]):
            if (
                id(node) not in recorded
                or node.children
                or node.count
                or node.total
                or id(node) in open_nodes
            ):
                continue
            del above.children[name]

    def give(self, nodes: Mapping[int, TimerNode]) -> None:
        """Keep what the program gets: `nodes`, by the recorder's references."""
        self.nodes = {**nodes, ROOT: self.root}
        refs: dict[int, int] = {}
        for ref, node in self.nodes.items():
            refs.setdefault(id(node), ref)
        refs[id(self.root)] = ROOT
        self._given = {}
        waiting = [(self.root, id(self.root), "")]
        while waiting:
            node, parent, name = waiting.pop()
            known = (refs.get(id(node)), node.total, node.count, node.is_parallel)
            self._given[id(node)] = _Given(node, parent, name, *known)
            waiting.extend((child, id(node), name) for name, child in node.children.items())

    def _extra_of(self, given: _Given, extra_at: Callable[[int], TimerNode]) -> TimerNode:
        """What the program added at a node: of one that it made, below the nearest that was recorded."""
        names = []
        while given.ref is None:
            names.append(given.name)
            given = self._given[given.parent]
        extra = extra_at(given.ref)
        for name in reversed(names):
            extra = extra.get_child(name)
        return extra


def add_extras(
    root: TimerNode,
    nodes: Mapping[int, TimerNode],
    extras: Mapping[int, TimerNode],
    elsewhere: TimerNode | None,
) -> None:
    """Add to a tree what the program added at its nodes, and `elsewhere`, if that is one, what is of other trees."""
    added_to: set[int] = set()
    for ref, extra in list(extras.items()):
        node = nodes.get(ref, elsewhere)
        if node is None:
            continue
        node.total += extra.total
        node.count += extra.count
        node.is_parallel = node.is_parallel or extra.is_parallel
        for name, child in extra.children.items():
            node.get_child(name).merge(child, is_parallel=False)
        node.own = None
        added_to.add(id(node))
    waiting = [root] if added_to else []
    while waiting:  # what was added at a node takes of the self time of the node above it
        node = waiting.pop()
        if any(id(child) in added_to for child in node.children.values()):
            node.own = None
        waiting.extend(node.children.values())
