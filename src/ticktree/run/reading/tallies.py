"""Tallies: how often and how long, of one process's nodes; for who asks often and wants no more than that."""

from __future__ import annotations

from typing import NamedTuple

from ticktree.run.reading.accounts import leave_virtually
from ticktree.run.reading.clock import Clock
from ticktree.run.reading.image import Image
from ticktree.run.reading.layout import NodeFlag

_IS_ROOT, _IN_NS = int(NodeFlag.ROOT), int(NodeFlag.NS)  # plain numbers: this is read often


class Tally(NamedTuple):
    """What was booked at a node by one moment, open calls left virtually. In clock ticks, or in nanoseconds.

    Attributes:
        calls: that completed.
        own: the node's own time.
        concurrent: of its total, what does not count against its parent; signed.
        open: calls that have not ended.
    """

    calls: int = 0
    own: int = 0
    concurrent: int = 0
    open: int = 0

    def since(self, before: Tally) -> Tally:
        """What was added after `before`; all of it, where the recorder was reset in between."""
        if self.calls < before.calls or self.own < before.own:
            return self
        return Tally(
            self.calls - before.calls, self.own - before.own, self.concurrent - before.concurrent, self.open
        )


class NodePosition(NamedTuple):
    """Where a node is.

    Attributes:
        name: of the section; "" of a tree's root.
        parent: the node above it; of a tree's root the node its thread was started under, 0 where none is known.
        tree: whose thread's it is.
        is_root: whether it is a tree's root.
        in_ns: whether its tally is in nanoseconds.
    """

    name: str
    parent: int
    tree: int
    is_root: bool
    in_ns: bool


class Tallies:
    """The tallies of one memory image, by the nodes' references.

    Args:
        data: The image, as `Recorder.image` gives it.

    Attributes:
        places: Every node, parents before their children.
        at: The tally of each.
        threads: Which thread wrote each tree last, by the system's number for it.
        began: When the recorder began, in clock ticks.
        now: When the image was taken.
    """

    def __init__(self, data: bytes) -> None:
        image = Image(data)
        accounts = leave_virtually(image)
        self.places: dict[int, NodePosition] = {}
        self.at: dict[int, Tally] = {}
        for ref, node in image.nodes():
            is_root = bool(node.flags & _IS_ROOT)
            name = "" if is_root else image.text(node.name)
            self.places[ref] = NodePosition(name, node.parent, node.tree, is_root, bool(node.flags & _IN_NS))
            self.at[ref] = Tally(
                node.stats.count + node.warmup.count,
                node.own + accounts.own.get(ref, 0),
                node.concurrent + accounts.concurrent.get(ref, 0),
                len(accounts.ages.get(ref, ())),
            )
        self.threads: dict[int, int] = {ref: tree.thread_id for ref, tree in image.trees()}
        self.began: int = image.header.first.ticks
        self.now: int = image.header.last.ticks
        self._clock = Clock(image.header)

    def ns(self, ticks: int) -> int:
        """A duration in nanoseconds."""
        return self._clock.ns(ticks)
