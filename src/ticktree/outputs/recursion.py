"""Recursion: a tree in which a section that calls itself, directly or through others, is one node at any depth.

The levels of a recursion are alike, and a reader wants to know where its time goes, not on which level. So a node that
is a descendant of a node of the same name is merged into that one: self times and children are summed over the levels.
The outermost node keeps its total, and the totals below it exclude the recursion, so that times still sum. Stack
profilers call this flattening ("Flatten Recursion" in Instruments).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ticktree.profile import Node, Share, Stats
from ticktree.profile.table import merge, present, sums_of, union_of

# A name may be its own ancestor a few times without a recursion: an env's step in a loop's, a layer in a layer.
LEAST_LEVELS = 5


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
    if all(number < LEAST_LEVELS for number in levels.values()):
        return root
    top = _Place(root.key, None, is_flat=False, called=[root])
    # An explicit stack, because trees may be deeper than Python's recursion limit.
    waiting = [(root, top)]
    while waiting:
        node, place = waiting.pop()
        for key, child in node.children.items():
            around = place.recursing(key) if _counts(child) else None
            if around is None:
                below = place.below(key, is_flat=levels[id(child)] >= LEAST_LEVELS)
                below.called.append(child)
                below.levels = max(below.levels, levels[id(child)])
            else:
                below = around
                below.recursed.append(child)
                place.moved_out.append((child, around))
            waiting.append((child, below))
    return top.node()


def _counts(node: Node) -> bool:
    """Return whether all of a node's time is in its parent's: a concurrent node cannot be merged into an ancestor."""
    return not node.concurrent_ns


def _levels(root: Node) -> Mapping[int, int]:
    """Return, by the nodes' `id`, the maximum number of nested nodes of the same key, the node itself included."""
    levels: dict[int, int] = {}
    above: defaultdict[str, list[Node]] = defaultdict(list)  # those that are open, by key
    waiting = [(root, False)]
    while waiting:
        node, is_done = waiting.pop()
        around = above[node.key]
        if not is_done:
            levels[id(node)] = 1
            around.append(node)
            waiting.append((node, True))
            waiting.extend((child, False) for child in node.children.values())
            continue
        around.pop()
        if around and _counts(node):
            levels[id(around[-1])] = max(levels[id(around[-1])], levels[id(node)] + 1)
    return levels


@dataclass(slots=True, eq=False)
class _Place:
    """A node of the new tree: the outermost nodes called there, the nodes merged into it, and its children."""

    key: str
    parent: _Place | None
    is_flat: bool  # whether descendants of the same key are merged into it
    called: list[Node] = field(default_factory=list)
    recursed: list[Node] = field(default_factory=list)
    # Children of any of these that were merged into this or an ancestor, and into which.
    moved_out: list[tuple[Node, _Place]] = field(default_factory=list)
    levels: int = 1
    children: dict[str, _Place] = field(default_factory=dict)

    def recursing(self, key: str) -> _Place | None:
        """Return the ancestor of `key`, or this, into which a node of that key is merged; None if there is none."""
        place: _Place | None = self
        while place is not None and place.is_flat:
            if place.key == key:
                return place
            place = place.parent
        return None

    def below(self, key: str, *, is_flat: bool) -> _Place:
        if key not in self.children:
            # Within a recursion, every node is: its nodes come from every level, some deeper than others.
            self.children[key] = _Place(key, self, is_flat=is_flat or self.is_flat)
        return self.children[key]

    def node(self) -> Node:
        places = [self]
        for place in places:  # the list grows while it is walked
            places.extend(place.children.values())
        made: dict[int, Node] = {}
        moved: dict[int, list[tuple[Node, _Place]]] = {}
        for place in reversed(places):
            below = list(place.children.values())
            children = {each.key: made.pop(id(each)) for each in below}
            moved[id(place)] = list(place.moved_out)
            for each in below:  # nodes merged into it are in its total and its ancestors'
                moved[id(place)] += [one for one in moved.pop(id(each)) if one[1] is not each]
            made[id(place)] = place._made(children, [node for node, _ in moved[id(place)]])
        return made[id(self)]

    def _made(self, children: Mapping[str, Node], moved: Sequence[Node]) -> Node:
        if not self.is_flat:
            return replace(self.called[0], children=children)
        every = [*self.called, *self.recursed]
        self_ns = sum(node.self_ns for node in every)
        total_ns = self_ns + sum(child.total_ns - child.concurrent_ns for child in children.values())
        is_part = total_ns != sum(node.total_ns for node in self.called)
        outermost = merge(replace(node, children={}) for node in self.called)
        if is_part:  # its calls' durations include the recursion: without it, only the sum is known
            left = Stats(outermost.count, max(0, total_ns)) if outermost.count else Stats()
            outermost = replace(outermost, steady=left, warmup=None)
        return Recursion(
            **{name: getattr(outermost, name) for name in _OF_THE_OUTERMOST},
            self_ns=self_ns,
            recorder_ns=sum(node.recorder_ns for node in every),
            call_sites=sums_of(node.call_sites for node in every),
            work=present(*(node.work for node in every)),
            by_writer=_shares(self.called, self.recursed, moved),
            children=children,
            levels=self.levels if self.recursed else 1,
            entered=sum(node.count for node in every),
            is_part=is_part,
        )


# Facts about single calls, which include deeper levels; other facts are summed over all levels.
_OF_THE_OUTERMOST = (
    *("name", "clock", "concurrent_ns", "steady", "warmup", "wait"),
    *("cpu", "memory", "device_memory", "device", "open"),
)


def _shares(called: Sequence[Node], recursed: Sequence[Node], moved: Sequence[Node]) -> Mapping[str, Share]:
    """Return each writer's part: its outermost calls, all self times, and totals without what was moved out."""
    parts = [
        *(node.by_writer for node in called),
        *({who: replace(share, count=0) for who, share in node.by_writer.items()} for node in recursed),
        *({who: Share(total_ns=-share.total_ns) for who, share in node.by_writer.items()} for node in moved),
    ]
    return union_of(parts)


def deeper_levels(
    paths: Iterable[tuple[str, ...]],
) -> tuple[Mapping[tuple[str, ...], int], set[tuple[str, ...]]]:
    """Return the paths of the second level of recursions, and the paths below these.

    For views that show every node unmerged: they can leave out the latter, and times still sum. The former come with
    the number of levels below them.

    Args:
        paths: of all nodes, each as a tuple of names, parents before their children.
    """
    known = list(paths)
    deepest: dict[tuple[str, ...], int] = {}  # by the path of the first level
    for path in known:
        first = path[: path.index(path[-1]) + 1]
        deepest[first] = max(deepest.get(first, 0), path.count(path[-1]))
    second: dict[tuple[str, ...], int] = {}
    below: set[tuple[str, ...]] = set()
    for path in known:
        levels = deepest[path[: path.index(path[-1]) + 1]]
        if path[:-1] in below or path[:-1] in second:
            below.add(path)
        elif levels >= LEAST_LEVELS and path.count(path[-1]) == 2:
            second[path] = levels - 2
    return second, below
