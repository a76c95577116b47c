"""Recursion: a tree in which a section that calls itself, directly or through others, is one node at any depth.

The levels of a recursion are alike, and a reader wants to know where its time goes, not on which level. So a node is
merged into an ancestor of the same name: self times and children are summed over the levels.
The outermost node keeps its total, and the totals below it exclude the recursion, so that times still sum. Stack
profilers call this flattening ("Flatten Recursion" in Instruments).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ticktree.profile import Node, Share, Stats
from ticktree.profile.table import merge, merge_present, sums_of, union_of

# A name may be its own ancestor a few times without a recursion: an env's step in a loop's, a layer in a layer.
MIN_LEVELS = 5

Names: TypeAlias = tuple[str, ...]
"""A path as the names of its nodes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recursion(Node):
    """A node that represents all levels of a recursion, or all nodes of a name within one.

    Attributes:
        levels: maximum depth of the recursion, the outermost level included; 1 if the node itself does not recurse.
        entered: completed calls of all levels.
        is_part: whether its recursive calls count in an ancestor, and not in its total.
    """

    levels: int
    entered: int
    is_part: bool


def flattened(root: Node) -> Node:
    """Return the tree below `root` with every recursion as one node; `root` itself if there is none."""
    levels = _levels(root)
    if all(number < MIN_LEVELS for number in levels.values()):
        return root
    top = _FlatNode(root.key, None, is_flat=False, outer=[root])
    # An explicit stack, because trees may be deeper than Python's recursion limit.
    to_visit = [(root, top)]
    while to_visit:
        node, flat = to_visit.pop()
        for key, child in node.children.items():
            recursion = flat.recursion_around(key) if _is_in_parent(child) else None
            target = recursion or flat.child_at(key, is_flat=levels[id(child)] >= MIN_LEVELS)
            if recursion is None:
                target.outer.append(child)
                target.levels = max(target.levels, levels[id(child)])
            else:
                target.inner.append(child)
                flat.moved.append((child, target))
            to_visit.append((child, target))
    return top.build()


def _is_in_parent(node: Node) -> bool:
    """Return whether all of a node's time is in its parent's: a concurrent node cannot be merged into an ancestor."""
    return not node.concurrent_ns


def _levels(root: Node) -> Mapping[int, int]:
    """Return, by the nodes' `id`, the maximum number of nested nodes of the same key, the node itself included."""
    levels: dict[int, int] = {}
    open_nodes: defaultdict[str, list[Node]] = defaultdict(list)  # those that are open, by key
    to_visit = [(root, False)]
    while to_visit:
        node, is_done = to_visit.pop()
        same_key = open_nodes[node.key]
        if not is_done:
            levels[id(node)] = 1
            same_key.append(node)
            to_visit.append((node, True))
            to_visit.extend((child, False) for child in node.children.values())
            continue
        same_key.pop()
        if same_key and _is_in_parent(node):
            levels[id(same_key[-1])] = max(levels[id(same_key[-1])], levels[id(node)] + 1)
    return levels


@dataclass(slots=True, eq=False)
class _FlatNode:
    """A node of the new tree: its outermost nodes, the inner nodes that are merged into it, and its children."""

    key: str
    parent: _FlatNode | None
    is_flat: bool  # whether descendants of the same key are merged into it
    outer: list[Node] = field(default_factory=list)
    inner: list[Node] = field(default_factory=list)
    # Children of these nodes that were merged into this node or an ancestor, and into which.
    moved: list[tuple[Node, _FlatNode]] = field(default_factory=list)
    levels: int = 1
    children: dict[str, _FlatNode] = field(default_factory=dict)

    def recursion_around(self, key: str) -> _FlatNode | None:
        """Return this node or the ancestor into which a node of `key` is merged; None without one."""
        flat: _FlatNode | None = self
        while flat is not None and flat.is_flat:
            if flat.key == key:
                return flat
            flat = flat.parent
        return None

    def child_at(self, key: str, *, is_flat: bool) -> _FlatNode:
        if key not in self.children:
            # Within a recursion, every node is flat: its nodes come from every level, some deeper than others.
            self.children[key] = _FlatNode(key, self, is_flat=is_flat or self.is_flat)
        return self.children[key]

    def build(self) -> Node:
        flat_nodes = [self]
        for flat in flat_nodes:  # the list grows while it is walked
            flat_nodes.extend(flat.children.values())
        built: dict[int, Node] = {}
        for flat in reversed(flat_nodes):
            for child in flat.children.values():  # nodes merged into it are in its total and its ancestors'
                flat.moved += [pair for pair in child.moved if pair[1] is not child]
            built[id(flat)] = flat._build({key: built.pop(id(child)) for key, child in flat.children.items()})
        return built[id(self)]

    def _build(self, children: Mapping[str, Node]) -> Node:
        if not self.is_flat:
            return replace(self.outer[0], children=children)
        nodes = [*self.outer, *self.inner]
        self_ns = sum(node.self_ns for node in nodes)
        total_ns = self_ns + sum(child.total_ns - child.concurrent_ns for child in children.values())
        is_part = total_ns != sum(node.total_ns for node in self.outer)
        outermost = merge(replace(node, children={}) for node in self.outer)
        if is_part:  # its calls' durations include the recursion: without it, only the sum is known
            steady = Stats(outermost.count, max(0, total_ns)) if outermost.count else Stats()
            outermost = replace(outermost, steady=steady, warmup=None)
        return Recursion(
            **{name: getattr(outermost, name) for name in _OUTERMOST_FIELDS},
            self_ns=self_ns,
            recorder_ns=sum(node.recorder_ns for node in nodes),
            call_sites=sums_of(node.call_sites for node in nodes),
            work=merge_present(*(node.work for node in nodes)),
            by_thread=_shares(self.outer, self.inner, [node for node, _ in self.moved]),
            children=children,
            levels=self.levels if self.inner else 1,
            entered=sum(node.count for node in nodes),
            is_part=is_part,
        )


# Facts about single calls, which include deeper levels; other facts are summed over all levels.
_OUTERMOST_FIELDS = (
    *("name", "clock", "concurrent_ns", "steady", "warmup", "wait"),
    *("cpu", "memory", "device_memory", "device", "open"),
)


def _shares(outer: Sequence[Node], inner: Sequence[Node], moved: Sequence[Node]) -> Mapping[str, Share]:
    """Return each thread's part: its outermost calls, all self times, and totals without the moved children."""
    parts = [
        *(node.by_thread for node in outer),
        *({thread: replace(share, count=0) for thread, share in node.by_thread.items()} for node in inner),
        *({key: Share(total_ns=-share.total_ns) for key, share in node.by_thread.items()} for node in moved),
    ]
    return union_of(parts)


def deeper_levels(paths: Sequence[Names]) -> tuple[Mapping[Names, int], set[Names]]:
    """Return the paths of the second level of recursions with the number of levels below, and all paths below these.

    Views that show every node unmerged can omit the latter, and times still sum.

    Args:
        paths: of all nodes, parents before their children.
    """
    deepest: dict[Names, int] = {}  # by the path of the first level
    for path in paths:
        first = path[: path.index(path[-1]) + 1]
        deepest[first] = max(deepest.get(first, 0), path.count(path[-1]))
    second: dict[Names, int] = {}
    below: set[Names] = set()
    for path in paths:
        levels = deepest[path[: path.index(path[-1]) + 1]]
        if path[:-1] in below or path[:-1] in second:
            below.add(path)
        elif levels >= MIN_LEVELS and path.count(path[-1]) == 2:
            second[path] = levels - 2
    return second, below
