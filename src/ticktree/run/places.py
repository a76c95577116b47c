"""Where the nodes of a run's processes are in its tree: a child hangs under one of its parent's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ticktree.profile import Writer as Thread
from ticktree.profile import path as paths
from ticktree.run.image import Image, Writer
from ticktree.run.layout import NodeFlag
from ticktree.run.writers import main_tree, writer_id


class Places:
    """The paths of nodes, by process and reference.

    A node's path is settled when the node is made: it may be taken from a live process's file, and is still
    right when the process has gone.

    Args:
        known: Those of processes whose files are there no more.
        writers: Those of such processes, by their ids.
    """

    def __init__(
        self,
        known: Mapping[Writer, Mapping[int, str]] | None = None,
        writers: Mapping[str, Thread] | None = None,
    ) -> None:
        self._known = dict(known or {})
        self._mains = {each.process: key for key, each in (writers or {}).items() if each.is_main}

    def __contains__(self, process: object) -> bool:
        return process in self._known

    def __getitem__(self, process: Writer) -> Mapping[int, str]:
        return self._known[process]

    def path(self, process: Writer, node: int) -> str:
        """A node's path; the root's where either is unknown."""
        return self._known.get(process, {}).get(node, paths.ROOT)

    def main(self, process: Writer) -> str | None:
        """The id of a process's main thread, as of a writer; None where that is unknown."""
        return self._mains.get(str(process))

    def add(self, image: Image) -> None:
        """Notes where the nodes of one file are; those of its process's parent must be known, or count as none.

        Raises:
            DamagedError: The file says what cannot be.
        """
        above = self.path(image.parent, image.header.parent_node)
        found: dict[int, str] = {0: above}  # as of a child of which only the parent is known
        for ref, node in image.nodes():
            if node.parent not in found:
                raise image.damaged("a node hangs under none")
            parent = found[node.parent]
            found[ref] = parent if node.flags & NodeFlag.ROOT else paths.child(parent, image.text(node.name))
        self._known[image.writer] = found
        main = main_tree(image.trees())
        if main:
            self._mains[str(image.writer)] = writer_id(image, main)


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
