"""Join the memory files of a run one by one, so that few are in memory at the same time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeVar

from ticktree.profile import CriticalPlace, Gauge, Loop, Profile, Waker, Wakes
from ticktree.profile import Writer as Thread
from ticktree.profile import metadata as meta
from ticktree.profile.loop import WORST_TICKS_KEPT
from ticktree.profile.metadata import Metadata
from ticktree.profile.table import Mergeable, sums_of
from ticktree.run.memory import ProcessKey
from ticktree.run.reading.image import DamagedError, Image
from ticktree.run.reading.records import ImageReader
from ticktree.run.reading.signals import Edge, NodeAddress
from ticktree.run.reading.tree import Branch, NodeLocations

Part = TypeVar("Part", bound=Mergeable)


class Joining:
    """Builds one tree of several processes, each a child of the node that was open when it was started.

    Attributes:
        errors: The errors of files that were left out.
        wakes: Wake edges and the critical path; only the whole run can place them.
    """

    def __init__(self, run_id: str, known: NodeLocations | None = None) -> None:
        self.files = 0
        self.errors: list[DamagedError] = []
        self._run_id = run_id
        self._known = known or NodeLocations()
        self._root = Branch("root", "", run_id=run_id)
        self._places: dict[ProcessKey, dict[int, Branch]] = {}
        self._waiting: dict[ProcessKey, list[Image]] = {}
        self.wakes = WakesTally(self._root, self._known)
        self._loops: dict[str, Loop] = {}
        self._long_enough: dict[str, int] = {}
        self._gauges: dict[str, Gauge] = {}
        self._writers: dict[str, Thread] = {}
        self._facts: list[Metadata] = []
        self._losses: dict[str, int] = {}
        self._timeline_calls = 0

    def add(self, image: Image) -> None:
        """Add one process's file; a child's waits until its parent's has been added."""
        if image.parent.pid and image.parent not in self._places and image.parent not in self._known:
            self._waiting.setdefault(image.parent, []).append(image)
        else:
            self._take(image)

    def profile(self, *, is_whole: bool = True) -> Profile:
        """Return the profile of all files; those that were left out are a loss.

        If these are not all files of the run, records that may name other processes are left over.
        """
        to_come = {image.writer for images in self._waiting.values() for image in images}
        for parent in [parent for parent in self._waiting if parent not in to_come]:
            self._take_children_of(parent)
        while self._waiting:  # files that name each other as parents
            self._take_children_of(next(iter(self._waiting)))
        self.wakes.file(is_whole=is_whole)
        losses = sums_of([self._losses, self.wakes.losses() if is_whole else {}])
        if self.errors:
            losses["memory_files_damaged"] = len(self.errors)
        return Profile(
            root=self._root.to_node(),
            loops=dict(self._loops),
            gauges=dict(self._gauges),
            metadata=meta.merged(*self._facts),
            losses=losses,
            writers=dict(self._writers),
            critical=self.wakes.critical() if is_whole else {},
            timeline_calls=self._timeline_calls,
        )

    def path_of(self, process: ProcessKey, node: int) -> str:
        """Return the path of a node of a process; if it is unknown, that of the process's parent node."""
        places = self._places.get(process)
        if places is None:
            return self._known.path(process, node)
        return places[node if node in places else 0].path if places else ""

    def _take_children_of(self, parent: ProcessKey) -> None:
        for image in self._waiting.pop(parent, ()):
            self._take(image)

    def _take(self, image: Image) -> None:
        """Add a file to the tree, and then those that waited for it."""
        ready = [image]
        while ready:
            image = ready.pop()
            above = self._above(image)
            try:
                reader = ImageReader(
                    image,
                    self._run_id,
                    above,
                    is_child=bool(image.parent.pid),
                    long_enough=self._long_enough,
                )
            except DamagedError as error:
                self.errors.append(error)
                self._places.setdefault(image.writer, {})  # its children stop waiting
            else:
                self._places[image.writer] = {0: above, **reader.grow()}
                self.wakes.add(image.writer, reader, self._places[image.writer])
                self._keep(reader)
            ready.extend(self._waiting.pop(image.writer, ()))

    def _above(self, image: Image) -> Branch:
        """Return the branch that a process's root belongs to.

        If the parent is known and the node is not, the child goes where its parent is: at the parent's node 0.
        """
        parent, node = image.parent, image.header.parent_node
        if parent in self._places:
            return self._places[parent].get(node, self._root)
        return self._root.at(self._known.path(parent, node))

    def _keep(self, reader: ImageReader) -> None:
        self.files += 1
        _collect(self._loops, ((loop.path, loop) for loop in reader.loops))
        for loop in reader.loops:
            worst = self._loops[loop.path].worst
            if len(worst) == WORST_TICKS_KEPT:
                self._long_enough[loop.path] = worst[-1].duration_ns
        _collect(self._gauges, ((gauge.name, gauge) for gauge in reader.gauges))
        _collect(self._writers, ((writer.id, writer) for writer in reader.writers))
        self._facts.append(reader.facts)
        self._timeline_calls += reader.timeline_calls
        for loss, count in reader.losses.items():
            self._losses[loss] = self._losses.get(loss, 0) + count


def _collect(table: dict[str, Part], parts: Iterable[tuple[str, Part]]) -> None:
    for key, part in parts:
        table[key] = table[key] + part if key in table else part


UNKNOWN_WAKERS = "wakes_by_unknown_processes"


class Loose(NamedTuple):
    """Waits of a node that a process ended whose file is missing, so far or for good.

    Attributes:
        path: Path of the node that waited.
    """

    path: str
    writer: str
    edge: Edge


class Longest(NamedTuple):
    """The critical path of the run's first process; of several first processes, the one that ended last.

    Attributes:
        shares: Nanoseconds by node, whose location may still be unknown.
    """

    writer: str = ""
    shares: Mapping[NodeAddress, int] = {}

    def or_longer(self, other: Longest) -> Longest:
        """Return the longer of two: among several first processes, as in repeats, the one that ended last."""
        return max(self, other, key=lambda path: (sum(path.shares.values()), path.writer))


class _Spot(NamedTuple):
    """A node's branch in the tree of the run, and its writer."""

    branch: Branch
    writer: str


class WakesTally:
    """Edges and critical paths, kept until the files that they name are known.

    Attributes:
        loose: Waits ended by processes without a file; after `file`.
    """

    def __init__(self, root: Branch, known: NodeLocations) -> None:
        self.loose: list[Loose] = []
        self.longest = Longest()
        self._root = root
        self._known = known
        self._spots: dict[ProcessKey, dict[int, _Spot]] = {}
        self._edges: list[tuple[_Spot, Edge]] = []

    def add(self, process: ProcessKey, reader: ImageReader, branches: Mapping[int, Branch]) -> None:
        """Add the edges and the critical path of one file."""
        spots = {ref: _Spot(branches[ref], writer) for ref, writer in reader.writer_ids.items()}
        self._spots[process] = spots
        self._edges.extend((spots[edge.node], edge) for edge in reader.edges)
        if reader.critical:
            main = next((writer.id for writer in reader.writers if writer.is_main), "")
            self.longest = self.longest.or_longer(Longest(main, reader.critical))

    def take(self, loose: Iterable[Loose], longest: Longest) -> None:
        """Add what was left over when files were folded."""
        self._edges.extend((_Spot(self._root.at(path), writer), edge) for path, writer, edge in loose)
        self.longest = self.longest.or_longer(longest)

    def file(self, *, is_whole: bool) -> None:
        """Add every edge to the node that waited; all stay loose if these are not all files of the run."""
        for waiting, edge in self._edges:
            by = self._spot(edge.by) if is_whole else None
            if by is None:
                self.loose.append(Loose(waiting.branch.path, waiting.writer, edge))
                continue
            waker = Waker(edge.channel, waiting.writer, by.writer, by.branch.path)
            waiting.branch.add_wakes(waker, Wakes(edge.waits, edge.waited_ns, edge.handover_ns))
        self._edges.clear()

    def losses(self) -> dict[str, int]:
        """Return the number of waits ended by processes without a file."""
        count = sum(loose.edge.waits for loose in self.loose)
        return {UNKNOWN_WAKERS: count} if count else {}

    def critical(self) -> dict[CriticalPlace, int]:
        """Return the critical path of the run; time in unknown nodes counts as that of the thread at its end."""
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
