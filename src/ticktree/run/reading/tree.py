"""The tree of a run: the locations of its processes' nodes, and how they are joined under one root."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from ticktree.profile import Histogram, Node, Share, Waker, Wakes
from ticktree.profile import path as paths
from ticktree.profile.measures import HOST, Clock, key_of, split_key
from ticktree.profile.table import merged_fields
from ticktree.run.memory import ProcessKey
from ticktree.run.reading.image import Image
from ticktree.run.reading.layout import NodeFlag, clock_of
from ticktree.run.reading.parts import NodePart
from ticktree.run.reading.table import HistogramSums


class NodeLocation(NamedTuple):
    """The location of a node in the run.

    Attributes:
        tree: The reference of its tree, which identifies the thread that writes it.
    """

    path: str
    tree: int


class NodeLocations:
    """The locations of nodes, by process and reference.

    A node's location never changes: it may be read from a live process's file, and is still right after the
    process has ended.
    """

    def __init__(self, locations: Mapping[ProcessKey, Mapping[int, NodeLocation]] | None = None) -> None:
        self._locations = dict(locations or {})

    def __contains__(self, process: object) -> bool:
        return process in self._locations

    def __getitem__(self, process: ProcessKey) -> Mapping[int, NodeLocation]:
        return self._locations[process]

    def path(self, process: ProcessKey, node: int) -> str:
        """Return a node's path; the root's if the node or its process is unknown."""
        location = self._locations.get(process, {}).get(node)
        return location.path if location else paths.ROOT

    def location(self, process: ProcessKey, node: int) -> NodeLocation | None:
        """Return a node's location; None if unknown."""
        return self._locations.get(process, {}).get(node) if node else None

    def add(self, image: Image) -> None:
        """Add the nodes of one file; below the root if the parent process's nodes are unknown."""
        # At 0, for children whose parent node is unknown.
        locations = {0: NodeLocation(self.path(image.parent, image.header.parent_node), 0)}
        for ref, node in image.nodes():
            if node.parent not in locations:
                raise image.damage_error("a node has no parent")
            parent = locations[node.parent]
            if node.flags & NodeFlag.ROOT:
                locations[ref] = NodeLocation(parent.path, node.tree)
            else:
                key = key_of(image.text(node.name), clock_of(node.flags))
                locations[ref] = NodeLocation(paths.child(parent.path, key), parent.tree)
        self._locations[image.writer] = locations


def parents_first(images: Mapping[Path, Image]) -> Iterator[tuple[Path, Image]]:
    """Yield the images with their files, parents before their children; leave out processes in a circle."""
    pending = dict(images)
    while pending:
        waiting = {image.writer for image in pending.values()}
        ready = {path: image for path, image in pending.items() if image.parent not in waiting}
        if not ready:
            return
        yield from ready.items()
        pending = {path: image for path, image in pending.items() if path not in ready}


# The number of parts of one branch before they are merged: a run may have thousands of processes.
_MAX_PARTS = 64


class Branch:
    """A node of the run's tree, and the sum of its records.

    Args:
        parent: The parent; None for the root.
        run_id: The run's id in the profile; only for the root, all others inherit it.

    Attributes:
        children: By name, and clock if it is not the host's.
        histograms: Histograms of the whole tree.
        slot: Index of the histogram of its calls after warm-up; the next index has those of the warm-up.
    """

    __slots__ = (
        "_shares",
        "_slots",
        "_wakers",
        "children",
        "clock",
        "histograms",
        "name",
        "parts",
        "path",
        "run_id",
        "slot",
    )

    def __init__(
        self, name: str, path: str, parent: Branch | None = None, clock: Clock = HOST, run_id: str = ""
    ) -> None:
        self.name = name
        self.path = path
        self.children: dict[str, Branch] = {}
        self.clock = clock
        self.run_id: str = parent.run_id if parent else run_id
        self.parts: list[NodePart | Node] = []
        self._shares: dict[str, list[int]] = {}
        self._wakers: dict[Waker, Wakes] = {}
        self._slots: Iterator[int] = parent._slots if parent else count(0, 2)
        self.slot = next(self._slots)
        self.histograms: HistogramSums = parent.histograms if parent else HistogramSums()

    def child(self, name: str, clock: Clock = HOST) -> Branch:
        """Return the child with this name and clock; create it if necessary."""
        key = key_of(name, clock)
        if key not in self.children:
            self.children[key] = Branch(name, paths.child(self.path, key), self, clock)
        return self.children[key]

    def at(self, path: str) -> Branch:
        """Return the branch at a path below this branch; create it if necessary."""
        branch = self
        for key in paths.split(path):
            branch = branch.child(*split_key(key))
        return branch

    def add(self, part: NodePart) -> None:
        """Add one record, without histograms."""
        self.parts.append(part)
        if len(self.parts) >= _MAX_PARTS:
            self.parts = [Node(**self._merge_parts({}))]

    def add_share(self, thread: str, count: int, total_ns: int, self_ns: int) -> None:
        """Add to one thread's share."""
        share = self._shares.setdefault(thread, [0, 0, 0])
        for index, amount in enumerate((count, total_ns, self_ns)):
            share[index] += amount

    def add_wakes(self, waker: Waker, wakes: Wakes) -> None:
        """Add waits that one waker ended."""
        self._wakers[waker] = self._wakers[waker] + wakes if waker in self._wakers else wakes

    def to_node(self) -> Node:
        """Return this branch and all below it as a node."""
        branches = [self]
        for branch in branches:  # the list grows: parents before their children
            branches.extend(branch.children.values())
        nodes: dict[str, Node] = {}
        for branch in reversed(branches):
            children = {key: nodes.pop(child.path) for key, child in branch.children.items()}
            nodes[branch.path] = branch._total(children)
        return nodes[self.path]

    def _total(self, children: Mapping[str, Node]) -> Node:
        shares = {thread: Share(*amounts) for thread, amounts in self._shares.items()}
        fields = self._merge_parts(children, by_thread=shares, wakers=self._wakers)
        for slot, phase in enumerate(("steady", "warmup"), self.slot):
            if fields.get(phase) is not None:
                fields[phase] = replace(fields[phase], histogram=Histogram(self.histograms.buckets(slot)))
        node = Node(**fields)
        return replace(node, per_run={self.run_id: (node.count, node.stats.sum_ns)}) if node.count else node

    def _merge_parts(self, children: Mapping[str, Node], **fields: Any) -> dict[str, Any]:
        """Return the fields of a node with these children, without those that the branch sums separately."""
        separate: dict[str, Any] = {"by_thread": {}, "wakers": {}, "per_run": {}}
        fields = {"name": self.name, "clock": self.clock, "children": children, **separate, **fields}
        return merged_fields(Node, self.parts, **fields) if self.parts else fields
