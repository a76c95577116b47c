"""Who let whom go on, across the memory files of a run: a signal is named in the file of who waited for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ticktree.profile import CriticalPlace, Waker, Wakes
from ticktree.run.branches import Branch
from ticktree.run.edges import Edge, Place
from ticktree.run.image import Writer
from ticktree.run.places import Places
from ticktree.run.records import ImageReader

UNKNOWN_WAKERS = "wakes_by_unknown_processes"


class _Spot(NamedTuple):
    """A node's place in the tree of the run, and whose it is there."""

    branch: Branch
    writer: str


class WakesTally:
    """Edges and critical paths, kept until all files are known that they name.

    Args:
        root: Of the run's tree.
        known: Where the nodes of processes are that are not among the files.

    Attributes:
        losses: Waits that were ended by processes of which nothing is known.
        named: The ids of writers that are named here, and are not among those of the files.
    """

    def __init__(self, root: Branch, known: Places) -> None:
        self.losses: dict[str, int] = {}
        self.named: set[str] = set()
        self._root = root
        self._known = known
        self._spots: dict[Writer, dict[int, _Spot]] = {}
        self._edges: list[tuple[_Spot, Edge]] = []
        self._longest: Mapping[Place, int] = {}
        self._ends_at = CriticalPlace("", "")

    def add(self, process: Writer, reader: ImageReader, branches: Mapping[int, Branch]) -> None:
        """Takes what one file says.

        Args:
            process: Whose file it is.
            reader: The file, part of the tree by now.
            branches: Where its nodes are in that.
        """
        spots = {ref: _Spot(branches[ref], writer) for ref, writer in reader.writer_ids.items()}
        self._spots[process] = spots
        self._edges.extend((spots[edge.node], edge) for edge in reader.edges)
        if reader.critical:
            # Of several first processes, as of repeats, the one that ended last set the length.
            main = next((writer.id for writer in reader.writers if writer.is_main), "")
            length_ns = sum(reader.critical.values())
            if (length_ns, main) > (sum(self._longest.values()), self._ends_at.writer):
                self._longest, self._ends_at = reader.critical, CriticalPlace(main, "")

    def file(self) -> None:
        """Files every edge under the node that waited."""
        for waiting, edge in self._edges:
            by = self._spot(edge.by)
            if by is None:
                self.losses[UNKNOWN_WAKERS] = self.losses.get(UNKNOWN_WAKERS, 0) + edge.count
                continue
            waker = Waker(edge.channel, waiting.writer, by.writer, by.branch.path)
            waiting.branch.tally.add_wakes(waker, Wakes(edge.count, edge.waited_ns, edge.handover_ns))
        self._edges.clear()

    def critical(self) -> dict[CriticalPlace, int]:
        """The critical path of the run; what went through places that are not known is its end's own."""
        path: dict[CriticalPlace, int] = {}
        for place, ns in self._longest.items():
            spot = self._spot(place)
            at = CriticalPlace(spot.writer, spot.branch.path) if spot else self._ends_at
            path[at] = path.get(at, 0) + ns
        return {at: ns for at, ns in path.items() if ns > 0}

    def _spot(self, place: Place) -> _Spot | None:
        process, node = place
        if process in self._spots:
            return self._spots[process].get(node)
        # Which of its threads that was is not known any more: hardly ever another.
        main = self._known.main(process)
        if main is None:
            return None
        self.named.add(main)
        return _Spot(self._root.at(self._known.path(process, node)), main)
