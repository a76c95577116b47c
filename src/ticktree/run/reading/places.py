"""Where the nodes of a run's processes are in its tree: a child hangs under one of its parent's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ticktree.profile import path as paths
from ticktree.profile.clock import key_of
from ticktree.run.reading.image import Image, ProcessKey
from ticktree.run.reading.layout import NodeFlag, clock_of


class NodeLocation(NamedTuple):
    """Where a node is.

    Attributes:
        path: Its path.
        tree: The reference of its tree: which thread of its process writes it.
    """

    path: str
    tree: int


class NodeLocations:
    """The spots of nodes, by process and reference.

    A node's spot is settled when the node is made: it may be taken from a live process's file, and is still right
    when the process has gone.

    Args:
        known: Those of processes whose files are there no more.
    """

    def __init__(self, known: Mapping[ProcessKey, Mapping[int, NodeLocation]] | None = None) -> None:
        self._known = dict(known or {})

    def __contains__(self, process: object) -> bool:
        return process in self._known

    def __getitem__(self, process: ProcessKey) -> Mapping[int, NodeLocation]:
        return self._known[process]

    def path(self, process: ProcessKey, node: int) -> str:
        """A node's path; the root's where either is unknown."""
        spot = self._known.get(process, {}).get(node)
        return spot.path if spot else paths.ROOT

    def spot(self, process: ProcessKey, node: int) -> NodeLocation | None:
        """Where a node is, if it is known."""
        return self._known.get(process, {}).get(node) if node else None

    def add(self, image: Image) -> None:
        """Notes where the nodes of one file are; those of its process's parent must be known, or count as none.

        Raises:
            DamagedError: The file says what cannot be.
        """
        above = NodeLocation(self.path(image.parent, image.header.parent_node), 0)
        found = {0: above}  # the place of a child of which only the parent is known
        for ref, node in image.nodes():
            if node.parent not in found:
                raise image.damaged("a node hangs under none")
            parent = found[node.parent]
            if node.flags & NodeFlag.ROOT:
                found[ref] = NodeLocation(parent.path, node.tree)
            else:
                key = key_of(image.text(node.name), clock_of(node.flags))
                found[ref] = NodeLocation(paths.child(parent.path, key), parent.tree)
        self._known[image.writer] = found


def parents_first(images: Iterable[Image]) -> Iterator[Image]:
    """The images in such an order that none comes before its parent's; those that are in a circle are left out."""
    waiting = list(images)
    while waiting:
        to_come = {image.writer for image in waiting}
        ready = [image for image in waiting if image.parent not in to_come]
        if not ready:
            return
        yield from ready
        done = {id(image) for image in ready}
        waiting = [image for image in waiting if id(image) not in done]
