"""Recursion: a tree in which what calls itself, at once or through others, is one node however deep it went.

The levels of a recursion are alike, and a reader asks where its time goes, not on which level. So a node that lies in
another of its own name is moved into that one: self times, and what lies below, add up level by level. The outermost
keeps its total, and the totals below it are what is left of them when the recursion is taken out: the accounts add up
as before. Profilers of stacks call it flattening ("Flatten Recursion" in Instruments).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ticktree.profile import Node, Share, Stats
from ticktree.profile.table import merge, present, sums_of, union_of

# A name stands in itself a few times where nothing recurses: an env's step in a loop's, a layer in a layer.
LEAST_LEVELS = 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recursion(Node):
    """A node that stands for all levels of a recursion, or for what lies in one.

    Attributes:
        levels: how deep it went at most, the outermost included; 1 where it does not itself recurse.
        entered: completed calls of all levels.
        is_part: whether what recurses in it is counted above it, and no part of its total.
    """

    levels: int
    entered: int
    is_part: bool


def flattened(root: Node) -> Node:
    """Return the tree below `root` with every recursion as one node; `root` itself where there is none."""
    levels = _levels(root)
    if all(number < LEAST_LEVELS for number in levels.values()):
        return root
    top = _Place(root.key, None, is_flat=False, called=[root])
    # A stack, for trees may be deeper than functions may call themselves.
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
    """Tell whether all of a node's time is its parent's: what ran beside it cannot be moved into it."""
    return not node.concurrent_ns


def _levels(root: Node) -> Mapping[int, int]:
    """Return, by the nodes' `id`, how many nodes of the same key lie one in another from each of them down."""
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
    """A node to be: those that are called there, those of deeper levels that are moved there, and what is left below.

    Attributes:
        key: of all its nodes.
        parent: the place around it; None of the root's.
        is_flat: whether nodes of its key that lie in it are moved into it.
        called: the outermost nodes.
        recursed: those that were moved into it.
        moved_out: children of any of these that were moved to a place around it or into this, and where to.
        levels: how many lie one in another at most.
        children: the places below, by key.
    """

    key: str
    parent: _Place | None
    is_flat: bool
    called: list[Node] = field(default_factory=list)
    recursed: list[Node] = field(default_factory=list)
    moved_out: list[tuple[Node, _Place]] = field(default_factory=list)
    levels: int = 1
    children: dict[str, _Place] = field(default_factory=dict)

    def recursing(self, key: str) -> _Place | None:
        """Return the place of `key` around this one, or this, into which its like is moved; None where none is."""
        place: _Place | None = self
        while place is not None and place.is_flat:
            if place.key == key:
                return place
            place = place.parent
        return None

    def below(self, key: str, *, is_flat: bool) -> _Place:
        if key not in self.children:
            # In a recursion all is: what lies there comes from every level, some deeper than others.
            self.children[key] = _Place(key, self, is_flat=is_flat or self.is_flat)
        return self.children[key]

    def node(self) -> Node:
        """Return the tree from here down."""
        places = [self]
        for place in places:  # the list grows while it is walked
            places.extend(place.children.values())
        made: dict[int, Node] = {}
        moved: dict[int, list[tuple[Node, _Place]]] = {}
        for place in reversed(places):
            below = list(place.children.values())
            children = {each.key: made.pop(id(each)) for each in below}
            moved[id(place)] = list(place.moved_out)
            for each in below:  # what was moved into it is in its total, and so in those around it
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
        if is_part:  # how long its calls took is not what is left of them: of that only the sum is known
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


# What calls are known by, those of deeper levels included in them; the rest is added up over all levels.
_OF_THE_OUTERMOST = (
    "name",
    "clock",
    "concurrent_ns",
    "steady",
    "warmup",
    "wait",
    "cpu",
    "memory",
    "device_memory",
    "device",
    "open",
)


def _shares(called: Sequence[Node], recursed: Sequence[Node], moved: Sequence[Node]) -> Mapping[str, Share]:
    """Return each writer's part: its calls from outside, all self times, and totals without what was moved out."""
    parts = [
        *(node.by_writer for node in called),
        *({who: replace(share, count=0) for who, share in node.by_writer.items()} for node in recursed),
        *({who: Share(total_ns=-share.total_ns) for who, share in node.by_writer.items()} for node in moved),
    ]
    return union_of(parts)


def deeper_levels(
    paths: Iterable[tuple[str, ...]],
) -> tuple[Mapping[tuple[str, ...], int], set[tuple[str, ...]]]:
    """Return where the second level of a recursion stands, and what lies below that.

    For views that show every node as it is: what lies below can be left out, and the accounts add up. The nodes of the
    second level are given with how many levels are below them.

    Args:
        paths: of all nodes, each as the names that lead to it, parents before their children.
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
