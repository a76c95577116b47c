"""StackTree: the tree of a stack as the program gets it, and what the program itself adds to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from ticktree.compat.mlagents.node import TimerNode

ROOT = 0  # the root's reference; the recorder's begin at 1


@dataclass(frozen=True, slots=True)
class _Given:
    """A node as the program got it.

    Attributes:
        node: Kept, so that no other object can have its identity.
        parent: The identity of the node above it.
        name: Its name there.
        ref: The recorder's reference; None of a node that the program made.
        total: Seconds in it.
        count: Completed calls.
        is_parallel: Whether it ran concurrently with something else.
    """

    node: TimerNode
    parent: int
    name: str
    ref: int | None
    total: float
    count: int
    is_parallel: bool


class StackTree:
    """One tree until its stack is reset, as in the toolkit: brought up to date in place each time it is asked for.

    The program may do to its nodes whatever it can do to the toolkit's: call their methods, assign to their fields,
    put nodes into their `children`. `collect` finds out what it did.

    Attributes:
        root: The tree.
        nodes: Its nodes by the recorder's references.
    """

    def __init__(self) -> None:
        self.root = TimerNode()
        self.root.tree = self
        self.nodes: dict[int, TimerNode] = {ROOT: self.root}
        self._given: dict[int, _Given] = {}
        self.give({})

    def collect(self, extra_at: Callable[[int], TimerNode]) -> None:
        """Add to the stack's extras what the program changed since `give`.

        Args:
            extra_at: Returns what the program added at a node of the recorder, to be added to.
        """
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

        Args:
            nodes: By the recorder's references.
            open_nodes: The identities of those with a call that has not ended.
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
        """Keep what the program gets.

        Args:
            nodes: By the recorder's references.
        """
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
    """Add to a tree what the program added.

    Args:
        root: The tree.
        nodes: Its nodes, by the recorder's references.
        extras: By the reference of the node it was added to.
        elsewhere: Where to add what belongs to no node of the tree; None to leave that out.
    """
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
    while waiting:  # what was added at a node takes of the own time of the node above it
        node = waiting.pop()
        if any(id(child) in added_to for child in node.children.values()):
            node.own = None
        waiting.extend(node.children.values())
