"""Where the nodes of a run's processes are in its tree: a child hangs under one of its parent's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ticktree.profile import path as paths
from ticktree.run.image import Image
from ticktree.run.layout import NodeFlag

Process = tuple[int, int]


def process_of(image: Image) -> Process:
    """Who writes an image."""
    return image.header.pid, image.header.process_start


def parent_of(image: Image) -> Process:
    """Who started its process; the first number is 0 where nobody did, or nobody knows."""
    return image.header.parent_pid, image.header.parent_start


class Places:
    """The paths of nodes, by process and reference.

    A node's path is settled when the node is made: it may be taken from a live process's file, and is still
    right when the process has gone.

    Args:
        known: Those of processes whose files are there no more.
    """

    def __init__(self, known: Mapping[Process, Mapping[int, str]] | None = None) -> None:
        self._known = dict(known or {})

    def __contains__(self, process: Process) -> bool:
        return process in self._known

    def __getitem__(self, process: Process) -> Mapping[int, str]:
        return self._known[process]

    def path(self, process: Process, node: int) -> str:
        """A node's path; the root's where either is unknown."""
        return self._known.get(process, {}).get(node, paths.ROOT)

    def add(self, image: Image) -> None:
        """Notes where the nodes of one file are; those of its process's parent must be known, or count as none.

        Raises:
            DamagedError: The file says what cannot be.
        """
        found: dict[int, str] = {}
        above = self.path(parent_of(image), image.header.parent_node)
        for ref, node in image.nodes():
            if node.parent and node.parent not in found:
                raise image.damaged("a node hangs under none")
            parent = found[node.parent] if node.parent else above
            found[ref] = parent if node.flags & NodeFlag.ROOT else paths.child(parent, image.text(node.name))
        self._known[process_of(image)] = found


def parents_first(images: Iterable[Image]) -> Iterator[Image]:
    """The images in such an order that none comes before its parent's; those that are in a circle are left out."""
    waiting = list(images)
    while waiting:
        to_come = {process_of(image) for image in waiting}
        ready = [image for image in waiting if parent_of(image) not in to_come]
        if not ready:
            return
        yield from ready
        done = {id(image) for image in ready}
        waiting = [image for image in waiting if id(image) not in done]
