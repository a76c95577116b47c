"""Who let whom go on, across the memory files of a run: a signal is named in the file of who waited for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ticktree.profile import CriticalPlace, Waker, Wakes
from ticktree.run.reading.branches import Branch
from ticktree.run.reading.image import ProcessKey
from ticktree.run.reading.places import NodeLocations
from ticktree.run.reading.records import ImageReader
from ticktree.run.reading.signals import Edge, NodeAddress

UNKNOWN_WAKERS = "wakes_by_unknown_processes"


class Loose(NamedTuple):
    """Waits of a node that were ended by a process of which there is no file: none yet, or none at all.

    Attributes:
        path: Of the node that waited.
        writer: Whose it was.
        edge: What is known of them.
    """

    path: str
    writer: str
    edge: Edge


class Longest(NamedTuple):
    """The critical path of the run's first process, or of that of several that ended last.

    Attributes:
        writer: Its main thread.
        shares: Nanoseconds by place, which need not be known yet.
    """

    writer: str = ""
    shares: Mapping[NodeAddress, int] = {}

    def or_longer(self, other: Longest) -> Longest:
        """Of several first processes, as of repeats, the one that ended last set the length."""
        return max(self, other, key=lambda path: (sum(path.shares.values()), path.writer))


class _Spot(NamedTuple):
    """A node's place in the tree of the run, and whose it is there."""

    branch: Branch
    writer: str


class WakesTally:
    """Edges and critical paths, kept until all files are known that they name.

    Args:
        root: Of the tree.
        known: Where the nodes of processes are whose files are there no more.

    Attributes:
        loose: Waits that were ended by processes of which there is no file; after `file`.
        longest: The critical path.
    """

    def __init__(self, root: Branch, known: NodeLocations) -> None:
        self.loose: list[Loose] = []
        self.longest = Longest()
        self._root = root
        self._known = known
        self._spots: dict[ProcessKey, dict[int, _Spot]] = {}
        self._edges: list[tuple[_Spot, Edge]] = []

    def add(self, process: ProcessKey, reader: ImageReader, branches: Mapping[int, Branch]) -> None:
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
            main = next((writer.id for writer in reader.writers if writer.is_main), "")
            self.longest = self.longest.or_longer(Longest(main, reader.critical))

    def take(self, loose: Iterable[Loose], longest: Longest) -> None:
        """Takes what was left over when files were folded."""
        self._edges.extend((_Spot(self._root.at(path), writer), edge) for path, writer, edge in loose)
        self.longest = self.longest.or_longer(longest)

    def file(self, *, is_whole: bool) -> None:
        """Files every edge under the node that waited.

        Args:
            is_whole: Whether these are all files of the run. Else those of this part are left loose.
        """
        for waiting, edge in self._edges:
            by = self._spot(edge.by) if is_whole else None
            if by is None:
                self.loose.append(Loose(waiting.branch.path, waiting.writer, edge))
                continue
            waker = Waker(edge.channel, waiting.writer, by.writer, by.branch.path)
            waiting.branch.add_wakes(waker, Wakes(edge.waits, edge.waited_ns, edge.handover_ns))
        self._edges.clear()

    def losses(self) -> dict[str, int]:
        """Waits that were ended by processes of which there is no file."""
        count = sum(loose.edge.waits for loose in self.loose)
        return {UNKNOWN_WAKERS: count} if count else {}

    def critical(self) -> dict[CriticalPlace, int]:
        """The critical path of the run; what went through places that are not known is its end's own."""
        path: dict[CriticalPlace, int] = {}
        for place, ns in self.longest.shares.items():
            spot = self._spot(place)
            at = (
                CriticalPlace(spot.writer, spot.branch.path)
                if spot
                else CriticalPlace(self.longest.writer, "")
            )
            path[at] = path.get(at, 0) + ns
        return {at: ns for at, ns in path.items() if ns > 0}

    def _spot(self, place: NodeAddress) -> _Spot | None:
        if place.process in self._spots:
            return self._spots[place.process].get(place.node)
        known = self._known.spot(place.process, place.node)
        return _Spot(self._root.at(known.path), f"{place.process}/{known.tree}") if known else None
