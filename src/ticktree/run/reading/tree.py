"""The tree of a run: the locations of its processes' nodes, and how they are joined under one root."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from ticktree.profile import Histogram, Node, Share, Waker, Wakes
from ticktree.profile import path as paths
from ticktree.profile.measures import HOST, Clock, key_of, named_by
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

    def __init__(self, known: Mapping[ProcessKey, Mapping[int, NodeLocation]] | None = None) -> None:
        self._known = dict(known or {})

    def __contains__(self, process: object) -> bool:
        return process in self._known

    def __getitem__(self, process: ProcessKey) -> Mapping[int, NodeLocation]:
        return self._known[process]

    def path(self, process: ProcessKey, node: int) -> str:
        """Return a node's path; the root's if the node or its process is unknown."""
        spot = self._known.get(process, {}).get(node)
        return spot.path if spot else paths.ROOT

    def spot(self, process: ProcessKey, node: int) -> NodeLocation | None:
        """Return a node's location; None if unknown."""
        return self._known.get(process, {}).get(node) if node else None

    def add(self, image: Image) -> None:
        """Add the nodes of one file; below the root if the parent process's are unknown."""
        above = NodeLocation(self.path(image.parent, image.header.parent_node), 0)
        locations = {0: above}  # for children whose parent node is unknown
        for ref, node in image.nodes():
            if node.parent not in locations:
                raise image.damaged("a node has no parent")
            parent = locations[node.parent]
            if node.flags & NodeFlag.ROOT:
                locations[ref] = NodeLocation(parent.path, node.tree)
            else:
                key = key_of(image.text(node.name), clock_of(node.flags))
                locations[ref] = NodeLocation(paths.child(parent.path, key), parent.tree)
        self._known[image.writer] = locations


def parents_first(images: Mapping[Path, Image]) -> Iterator[tuple[Path, Image]]:
    """Yield the images with their files, parents before their children; those in a circle are left out."""
    waiting = dict(images)
    while waiting:
        to_come = {image.writer for image in waiting.values()}
        ready = {path: image for path, image in waiting.items() if image.parent not in to_come}
        if not ready:
            return
        yield from ready.items()
        waiting = {path: image for path, image in waiting.items() if path not in ready}


# The number of parts of one branch before they are merged: a run may have thousands of processes.
_MERGED_AT = 64


class Branch:
    """A node of the run's tree, and the sum of its records.

    Args:
        above: The parent; None for the root.
        run_id: The run's id in the profile; only for the root, all others inherit it.

    Attributes:
        children: By name, and clock if it is not the host's.
        histograms: Histograms of the whole tree.
        slot: Index of the histogram of its calls after warm-up; the next index has those of the warm-up.
    """

    __slots__ = (
        "_shares",
        "_taken",
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
        self, name: str, path: str, above: Branch | None = None, clock: Clock = HOST, run_id: str = ""
    ) -> None:
        self.name = name
        self.path = path
        self.children: dict[str, Branch] = {}
        self.clock = clock
        self.run_id: str = above.run_id if above else run_id
        self.parts: list[NodePart | Node] = []
        self._shares: dict[str, list[int]] = {}
        self._wakers: dict[Waker, Wakes] = {}
        self._taken: Iterator[int] = above._taken if above else count(0, 2)
        self.slot = next(self._taken)
        self.histograms: HistogramSums = above.histograms if above else HistogramSums()

    def child(self, name: str, clock: Clock = HOST) -> Branch:
        """Return the child with this name and clock, made if necessary."""
        key = key_of(name, clock)
        if key not in self.children:
            self.children[key] = Branch(name, paths.child(self.path, key), self, clock)
        return self.children[key]

    def at(self, path: str) -> Branch:
        """Return the branch at a path below this one, made if necessary."""
        branch = self
        for key in paths.split(path):
            branch = branch.child(*named_by(key))
        return branch

    def add(self, part: NodePart) -> None:
        """Add one record, without histograms."""
        self.parts.append(part)
        if len(self.parts) >= _MERGED_AT:
            self.parts = [Node(**self._merged({}))]

    def add_share(self, writer: str, count: int, total_ns: int, self_ns: int) -> None:
        """Add to one writer's share."""
        share = self._shares.setdefault(writer, [0, 0, 0])
        for at, amount in enumerate((count, total_ns, self_ns)):
            share[at] += amount

    def add_wakes(self, waker: Waker, wakes: Wakes) -> None:
        """Add waits that one waker ended."""
        self._wakers[waker] = self._wakers[waker] + wakes if waker in self._wakers else wakes

    def to_node(self) -> Node:
        """Return this branch and all below it as a node."""
        finished: dict[str, Node] = {}
        for branch in reversed(list(self._walk())):
            children = {key: finished.pop(child.path) for key, child in branch.children.items()}
            finished[branch.path] = branch._total(children)
        return finished[self.path]

    def _total(self, children: Mapping[str, Node]) -> Node:
        shares = {writer: Share(*amounts) for writer, amounts in self._shares.items()}
        fields = self._merged(children, by_writer=shares, wakers=self._wakers)
        for slot, phase in enumerate(("steady", "warmup"), self.slot):
            if fields.get(phase) is not None:
                fields[phase] = replace(fields[phase], histogram=Histogram(self.histograms.buckets(slot)))
        node = Node(**fields)
        return replace(node, per_run={self.run_id: (node.count, node.stats.sum_ns)}) if node.count else node

    def _merged(self, children: Mapping[str, Node], **given: Any) -> dict[str, Any]:
        """Return the fields of a node with these children, without those that the branch sums separately."""
        own = {"name": self.name, "clock": self.clock, "children": children}
        apart: dict[str, Any] = {"by_writer": {}, "wakers": {}, "per_run": {}}
        given = {**own, **apart, **given}
        return merged_fields(Node, self.parts, **given) if self.parts else given

    def _walk(self) -> Iterator[Branch]:
        waiting = [self]
        while waiting:
            branch = waiting.pop()
            yield branch
            waiting.extend(branch.children.values())
