"""Join the memory files of a run one by one, so that few are in memory at the same time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeVar

from ticktree.profile import CriticalNode, Gauge, Loop, Profile, Thread, Waker, Wakes
from ticktree.profile import metadata as meta
from ticktree.profile.codec import pause_gc
from ticktree.profile.loop import MAX_WORST_TICKS
from ticktree.profile.metadata import Metadata
from ticktree.profile.table import Mergeable, sums_of
from ticktree.run.memory import ProcessKey
from ticktree.run.reading.image import DamagedError, Image
from ticktree.run.reading.records import ImageReader
from ticktree.run.reading.signals import Edge, NodeAddress
from ticktree.run.reading.tree import Branch, NodeLocations

Part = TypeVar("Part", bound=Mergeable)


class Joiner:
    """Builds one tree of several processes, each a child of the node that was open when it was started.

    Attributes:
        errors: The errors of files that were left out.
        wakes: Wake edges and the critical path; only the whole run can place them.
    """

    def __init__(self, run_id: str, locations: NodeLocations | None = None) -> None:
        self.files = 0
        self.errors: list[DamagedError] = []
        self._run_id = run_id
        self._locations = locations or NodeLocations()
        self._root = Branch("root", "", run_id=run_id)
        self._branches: dict[ProcessKey, dict[int, Branch]] = {}
        self._pending: dict[ProcessKey, list[Image]] = {}
        self.wakes = WakesTally(self._root, self._locations)
        self._loops: dict[str, Loop] = {}
        self._min_tick_ns: dict[str, int] = {}
        self._gauges: dict[str, Gauge] = {}
        self._threads: dict[str, Thread] = {}
        self._facts: list[Metadata] = []
        self._losses: dict[str, int] = {}
        self._timeline_calls = 0

    def add(self, image: Image) -> None:
        """Add one process's file; a child's file waits until its parent's has been added."""
        if image.parent.pid and image.parent not in self._branches and image.parent not in self._locations:
            self._pending.setdefault(image.parent, []).append(image)
        else:
            self._add_ready(image)

    def join(self, images: Iterable[Image], *, is_complete: bool = True) -> Profile:
        """Add files, and return the profile; see `profile`."""
        with pause_gc():
            for image in images:
                self.add(image)
            return self.profile(is_complete=is_complete)

    def profile(self, *, is_complete: bool = True) -> Profile:
        """Return the profile of all files; those that were left out are a loss.

        If these are not all files of the run, records that may name other processes stay in `wakes`.
        """
        waiting = {image.writer for images in self._pending.values() for image in images}
        for parent in [parent for parent in self._pending if parent not in waiting]:
            self._add_children(parent)
        while self._pending:  # files that name each other as parents
            self._add_children(next(iter(self._pending)))
        self.wakes.place_edges(is_complete=is_complete)
        losses = sums_of([self._losses, self.wakes.losses() if is_complete else {}])
        if self.errors:
            losses["memory_files_damaged"] = len(self.errors)
        return Profile(
            root=self._root.to_node(),
            loops=dict(self._loops),
            gauges=dict(self._gauges),
            metadata=meta.merge_metadata(*self._facts),
            losses=losses,
            threads=dict(self._threads),
            critical=self.wakes.critical() if is_complete else {},
            timeline_calls=self._timeline_calls,
        )

    def path_of(self, process: ProcessKey, node: int) -> str:
        """Return the path of a node of a process; if it is unknown, that of the process's parent node."""
        branches = self._branches.get(process)
        if branches is None:
            return self._locations.path(process, node)
        return branches[node if node in branches else 0].path if branches else ""

    def _add_children(self, parent: ProcessKey) -> None:
        for image in self._pending.pop(parent, ()):
            self._add_ready(image)

    def _add_ready(self, image: Image) -> None:
        """Add a file to the tree, and then the files that waited for it."""
        ready = [image]
        while ready:
            image = ready.pop()
            parent, is_child = self._parent_branch(image), bool(image.parent.pid)
            try:
                reader = ImageReader(image, self._run_id, parent, self._min_tick_ns)
            except DamagedError as error:
                self.errors.append(error)
                self._branches.setdefault(image.writer, {})  # its children stop waiting
            else:
                self._branches[image.writer] = {0: parent, **reader.add_to(parent, is_child=is_child)}
                self.wakes.add(image.writer, reader, self._branches[image.writer])
                self._add_totals(reader)
            ready.extend(self._pending.pop(image.writer, ()))

    def _parent_branch(self, image: Image) -> Branch:
        """Return the branch that a process's root belongs to.

        If the parent is known and the node is not, it belongs to the branch of the parent's root: the parent's node 0.
        """
        parent, node = image.parent, image.header.parent_node
        if parent in self._branches:
            return self._branches[parent].get(node, self._root)
        return self._root.at(self._locations.path(parent, node))

    def _add_totals(self, reader: ImageReader) -> None:
        self.files += 1
        _collect(self._loops, ((loop.path, loop) for loop in reader.loops))
        for loop in reader.loops:
            worst = self._loops[loop.path].worst
            if len(worst) == MAX_WORST_TICKS:
                self._min_tick_ns[loop.path] = worst[-1].duration_ns
        _collect(self._gauges, ((gauge.name, gauge) for gauge in reader.gauges))
        _collect(self._threads, ((thread.id, thread) for thread in reader.threads))
        self._facts.append(reader.facts)
        self._timeline_calls += reader.timeline_calls
        self._losses = sums_of([self._losses, reader.losses])


def _collect(table: dict[str, Part], parts: Iterable[tuple[str, Part]]) -> None:
    for key, part in parts:
        table[key] = table[key] + part if key in table else part


class UnresolvedWaits(NamedTuple):
    """Waits of a node that a process ended whose file is missing, so far or permanently.

    Attributes:
        path: Path of the node that waited.
    """

    path: str
    thread: str
    edge: Edge


class LongestPath(NamedTuple):
    """The critical path of the run's first process; of several first processes, the one that ended last.

    Attributes:
        shares: Nanoseconds by node, whose location may still be unknown.
    """

    thread: str = ""
    shares: Mapping[NodeAddress, int] = {}

    def longer_of(self, other: LongestPath) -> LongestPath:
        """Return the longer of two: among several first processes, as in repeats, the one that ended last."""
        return max(self, other, key=lambda path: (sum(path.shares.values()), path.thread))


class _ThreadNode(NamedTuple):
    """A node's branch in the tree of the run, and its thread."""

    branch: Branch
    thread: str


class WakesTally:
    """Edges and critical paths, kept until the files that they name are known.

    Attributes:
        unresolved: Waits ended by processes without a file; after `place_edges`.
    """

    def __init__(self, root: Branch, locations: NodeLocations) -> None:
        self.unresolved: list[UnresolvedWaits] = []
        self.longest = LongestPath()
        self._root = root
        self._locations = locations
        self._nodes: dict[ProcessKey, dict[int, _ThreadNode]] = {}
        self._edges: list[tuple[_ThreadNode, Edge]] = []

    def add(self, process: ProcessKey, reader: ImageReader, branches: Mapping[int, Branch]) -> None:
        """Add the edges and the critical path of one file."""
        nodes = {ref: _ThreadNode(branches[ref], thread) for ref, thread in reader.thread_ids.items()}
        self._nodes[process] = nodes
        self._edges.extend((nodes[edge.node], edge) for edge in reader.edges)
        if reader.critical:
            main = next((thread.id for thread in reader.threads if thread.is_main), "")
            self.longest = self.longest.longer_of(LongestPath(main, reader.critical))

    def add_unresolved(self, unresolved: Iterable[UnresolvedWaits], longest: LongestPath) -> None:
        """Add the unresolved waits and the longest path of folded files."""
        for path, thread, edge in unresolved:
            self._edges.append((_ThreadNode(self._root.at(path), thread), edge))
        self.longest = self.longest.longer_of(longest)

    def place_edges(self, *, is_complete: bool) -> None:
        """Add every edge to the node that waited; all stay unresolved if these are not all files of the run."""
        for waiter, edge in self._edges:
            signaller = self._find(edge.waker) if is_complete else None
            if signaller is None:
                self.unresolved.append(UnresolvedWaits(waiter.branch.path, waiter.thread, edge))
                continue
            waker = Waker(edge.channel, waiter.thread, signaller.thread, signaller.branch.path)
            waiter.branch.add_wakes(waker, Wakes(edge.waits, edge.waited_ns, edge.latency_ns))
        self._edges.clear()

    def losses(self) -> dict[str, int]:
        """Return the number of waits ended by processes without a file."""
        count = sum(waits.edge.waits for waits in self.unresolved)
        return {"wakes_by_unknown_processes": count} if count else {}

    def critical(self) -> dict[CriticalNode, int]:
        """Return the critical path of the run; time in unknown nodes counts as that of the thread at its end."""
        path: dict[CriticalNode, int] = {}
        for address, ns in self.longest.shares.items():
            node = self._find(address)
            thread, node_path = (node.thread, node.branch.path) if node else (self.longest.thread, "")
            key = CriticalNode(thread, node_path)
            path[key] = path.get(key, 0) + ns
        return {key: ns for key, ns in path.items() if ns > 0}

    def _find(self, address: NodeAddress) -> _ThreadNode | None:
        if address.process in self._nodes:
            return self._nodes[address.process].get(address.node)
        location = self._locations.location(address.process, address.node)
        if location is None:
            return None
        return _ThreadNode(self._root.at(location.path), f"{address.process}/{location.tree}")
