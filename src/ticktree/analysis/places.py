"""Places: the nodes of a tree with their waits told apart, by writer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ticktree.analysis.crews.roles import Unit, amount
from ticktree.profile import Node, Waker, Wakes
from ticktree.profile import path as paths
from ticktree.profile.clock import HOST
from ticktree.profile.table import sums_of

# Of two, one in the other, the inner one tells better where something is if it has so much of it. Our own choice.
TELLING_SHARE = 0.8


@dataclass(slots=True, eq=False)
class Place:
    """A node, and what of its time was waited.

    Attributes:
        path: of the node.
        node: the node.
        is_in_wait: whether a node above it waits: its time is then part of that one's.
        is_elsewhere: whether it, or a node above it, is what a device or another program did beside whoever asked for
            it: its time is nobody's here.
        waited_ns: of the node's total, what it and the nodes below it waited, by writer.
        below: the places below it.
    """

    path: str
    node: Node
    is_in_wait: bool
    is_elsewhere: bool = False
    waited_ns: dict[str, int] = field(default_factory=dict)
    below: list[Place] = field(default_factory=list)

    def whole(self) -> list[Place]:
        """Return this place and all below it."""
        found = [self]
        for place in found:  # the list grows while it is walked
            found.extend(place.below)
        return found

    def wakers(self) -> list[tuple[Waker, Wakes]]:
        """Return who let calls go on here or anywhere below."""
        return [entry for place in self.whole() for entry in place.node.wakers.items()]

    def count(self, unit: Unit) -> int:
        """How many calls of `unit` have ended here."""
        return sum(self.node.by_writer[writer].count for writer in _here(self.node, unit))

    def total_ns(self, unit: Unit) -> int:
        """How long `unit` was here."""
        return sum(self.node.by_writer[writer].total_ns for writer in _here(self.node, unit))

    def self_ns(self, unit: Unit) -> int:
        """How long `unit` was here and in none of the places below."""
        return sum(self.node.by_writer[writer].self_ns for writer in _here(self.node, unit))

    def busy_ns(self, unit: Unit) -> int:
        """How long `unit` was here without waiting; 0 where tasks that wait at once waited longer than it was."""
        return max(0, self.total_ns(unit) - amount(self.waited_ns, unit))


def places(root: Node) -> list[Place]:
    """Return the place of every node, parents before their children."""
    found = [Place("", root, is_in_wait=False)]
    for place in found:  # the list grows while it is walked: trees may be deeper than functions can call
        for name, node in place.node.children.items():
            is_in_wait = place.is_in_wait or place.node.wait
            is_elsewhere = place.is_elsewhere or _is_elsewhere(node)
            child = Place(paths.child(place.path, name), node, is_in_wait, is_elsewhere)
            place.below.append(child)
            found.append(child)
    for place in reversed(found):
        place.waited_ns = _waited_ns(place)
    return found


def counts(node: Node) -> float:
    """Return what part of a node's time counts against the node around it: the rest went on beside that."""
    if node.total_ns <= 0:
        return 0.0
    return min(1.0, max(0.0, (node.total_ns - node.concurrent_ns) / node.total_ns))


def in_sections_ns(found: Sequence[Place]) -> dict[str, int]:
    """Return how long each writer was in any section, by its id.

    What went on outside them all is not in it. What `record` was told of is, as is what tasks did
    side by side: it is no part of the time that passed.
    """
    return sums_of(
        {writer: share.self_ns for writer, share in place.node.by_writer.items()}
        for place in found[1:]
        if not place.is_elsewhere
    )


def _is_elsewhere(node: Node) -> bool:
    # What a server did while it was waited for is a part of the wait, and of it more counts than not.
    return node.clock != HOST and 2 * node.concurrent_ns > node.total_ns


def _waited_ns(place: Place) -> dict[str, int]:
    if place.node.wait:
        return {writer: share.total_ns for writer, share in place.node.by_writer.items()}
    return sums_of(child.waited_ns for child in place.below)


def _here(node: Node, unit: Unit) -> list[str]:
    return [writer for writer in unit.writers if writer in node.by_writer]
