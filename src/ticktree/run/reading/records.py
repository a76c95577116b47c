"""Read one memory file's records as parts of a profile."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ticktree.files.guarded import MissingFileError, open_file
from ticktree.profile import Gauge, Loop, Profile, ProfileError, Thread
from ticktree.profile import path as paths
from ticktree.profile.measures import key_of
from ticktree.profile.metadata import Metadata
from ticktree.profile.timeline import BEFORE_THE_TIMELINE
from ticktree.recorder import copy_settled
from ticktree.run.reading import layout
from ticktree.run.reading.accounts import Clock, leave_virtually, thread_id, threads_of
from ticktree.run.reading.image import MAX_BYTES, DamagedError, Image
from ticktree.run.reading.loops import LoopsReader, gauges_of
from ticktree.run.reading.parts import NodePart, PartsReader
from ticktree.run.reading.signals import Edge, NodeAddress, critical_path, edges_of
from ticktree.run.reading.tree import Branch

EVENT = np.dtype(layout.Event)
_RING_BYTES = ctypes.sizeof(layout.Ring)
_HEADER_BYTES = ctypes.sizeof(layout.Header)
# The most events of a process: a million per second for nine years.
_MAX_EVENTS = 1 << 48


@dataclass(frozen=True, eq=False)
class Events:
    """The content of a timeline's ring at one moment."""

    rows: NDArray[np.void]
    overwritten: int


def events_of_file(path: Path) -> Events | None:
    """Copy the events of a file that its process may be writing; None if it keeps none.

    Call it before you copy the rest of the file: then the copy contains the records that events refer to.
    """
    try:
        with open_file(path, MAX_BYTES) as file:
            # Most files have no timeline, by their first bytes.
            head = file.read(_HEADER_BYTES)
            if len(head) < _HEADER_BYTES or not _ring_offset(head):
                return None
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as memory:
                return events_in(memory, str(path))
    except MissingFileError:
        return None  # folded meanwhile: folding keeps the events


def events_in(memory: bytes | bytearray | mmap.mmap, origin: str = "memory file") -> Events | None:
    """Copy the events of a file's bytes, which may be changing; None if it keeps none."""
    offset = _ring_offset(memory[:_HEADER_BYTES]) if len(memory) >= _HEADER_BYTES else 0
    if not offset:
        return None
    if offset + _RING_BYTES > len(memory):
        raise DamagedError(origin, "it is damaged: its timeline lies outside it")
    ring_before = _copy_ring(memory, offset)
    begin, capacity = offset + _RING_BYTES, ring_before.capacity
    if not 0 < capacity <= (len(memory) - begin) // EVENT.itemsize:
        raise DamagedError(origin, "it is damaged: its timeline lies outside it")
    end = begin + capacity * EVENT.itemsize
    data = bytearray(end - begin)
    with memoryview(memory) as view, view[begin:end] as events:
        copy_settled(events, data, 0, [(0, end - begin)], 1)
    ring_after = _copy_ring(memory, offset)
    if not (ring_before.forgotten <= ring_before.done <= ring_after.begun < _MAX_EVENTS):
        raise DamagedError(origin, "it is damaged: its timeline's numbers cannot be")
    # Events begun meanwhile may have partly overwritten the oldest ones.
    first = max(ring_before.forgotten, ring_after.begun - capacity, 0)
    last = max(ring_before.done, first)  # all may have been overwritten during the copy
    slots = np.arange(first, last, dtype=np.int64) % capacity
    rows = np.frombuffer(data, EVENT)[slots]
    return Events(rows, max(0, first - ring_before.forgotten))


def counts_in(image: Image) -> tuple[int, int]:
    """Return how many calls an image's timeline recorded, and how many of them were overwritten; 0 without one."""
    offset = image.header.ring * layout.LINE
    if not 0 < offset <= len(image.data) - _RING_BYTES:
        return 0, 0
    ring = layout.Ring.from_buffer_copy(image.data, offset)
    # The numbers were copied one after the other, and the ring may have been reset in between.
    calls = max(0, ring.done - ring.forgotten) if ring.done < _MAX_EVENTS else 0
    return calls, max(0, calls - ring.capacity)


def _copy_ring(memory: bytes | bytearray | mmap.mmap, offset: int) -> layout.Record:
    """Return a copy of the ring's numbers at this moment: `copy_settled` has the memory barriers for it."""
    head = bytearray(_RING_BYTES)
    with memoryview(memory) as view, view[offset : offset + _RING_BYTES] as ring:
        copy_settled(ring, head, 0, [(0, _RING_BYTES)], 1)
    return layout.Ring.from_buffer_copy(head)


def _ring_offset(head: bytes | bytearray) -> int:
    header = layout.Header.from_buffer_copy(head)
    is_known = header.magic == layout.MAGIC and header.format == layout.FORMAT
    return int(header.ring) * layout.LINE if is_known else 0


class ImageReader:
    """Reads one image, and checks all of it before any of it reaches a tree.

    Args:
        parent: The branch that the process's root belongs to.
        min_tick_ns: The shortest duration of a tick among the worst, by the loop's path.

    Attributes:
        loops, gauges, threads, facts, losses, timeline_calls: The content of the file besides its nodes.
        edges: The wake edges that ended its nodes' waits.
        critical: For a process that no other started, the critical path to its last moment.
        thread_ids: The thread of each node, by the node's reference.
    """

    def __init__(
        self,
        image: Image,
        run_id: str,
        parent: Branch,
        min_tick_ns: Mapping[str, int],
    ) -> None:
        self._image = image
        clock = Clock(image.header)
        self._nodes = PartsReader(image, clock, leave_virtually(image))
        self._parts = self._nodes.parts
        self._paths = self._node_paths(parent.path)
        self.loops: Sequence[Loop] = LoopsReader(image, clock, self._nodes, self._paths, min_tick_ns).loops()
        self.gauges: Sequence[Gauge] = gauges_of(image)
        located = zip(self._parts, self._paths, strict=True)
        parents = {part.tree: path for part, path in located if part.is_root}
        self.threads: Sequence[Thread] = threads_of(image, clock, run_id, parents)
        self.facts = _facts(image.header, clock)
        self.timeline_calls, overwritten = counts_in(image)
        self.losses = _losses(image.header, self._nodes.torn_nodes, overwritten)
        # An edge may be younger than the copy of the chain of nodes.
        self.edges: Sequence[Edge] = [edge for edge in edges_of(image) if edge.node in self._nodes.index]
        self.critical: Mapping[NodeAddress, int] = {} if image.parent.pid else critical_path(image)
        ids = {part.tree: thread_id(image, part.tree) for part in self._parts if part.is_root}
        self.thread_ids = {ref: ids[self._parts[index].tree] for ref, index in self._nodes.index.items()}
        self._check(parent.name)

    def add_to(self, parent: Branch, *, is_child: bool) -> dict[int, Branch]:
        """Add this file's nodes below a branch, and return the branch of each node, by the node's reference.

        If this process is a child, `parent` is a node of another process. The root's self time is then not counted,
        and all time of the sections under it is concurrent to their parent node.
        """
        branches: list[Branch] = []
        for part in self._parts:
            branch = branches[part.parent] if part.parent >= 0 else parent
            branch = branch if part.is_root else branch.child(part.name, part.clock)
            branches.append(branch)
            if not (is_child and part.is_root):
                if is_child and self._parts[part.parent].is_root:
                    part.concurrent_ns = part.total_ns
                branch.add(part)
        self._add_histograms(parent, branches, is_child=is_child)
        self._add_shares(branches, is_child=is_child)
        return dict(zip(self._nodes.index, branches, strict=True))

    def _add_histograms(self, parent: Branch, branches: Sequence[Branch], *, is_child: bool) -> None:
        slots: list[int] = []
        for part, branch in zip(self._parts, branches, strict=True):
            counts = not (is_child and part.is_root)
            slots.append(branch.slot if counts and part.steady_calls.completed else -1)
            has_warmup = part.has_merged_phases or (part.is_phased and part.warmup_calls.completed)
            slots.append(branch.slot + (not part.has_merged_phases) if counts and has_warmup else -1)
        self._nodes.histograms.add_to(parent.histograms, np.array(slots, np.int64))

    def _add_shares(self, branches: Sequence[Branch], *, is_child: bool) -> None:
        """Add each thread's share to its branches."""
        for part, branch, thread in zip(self._parts, branches, self.thread_ids.values(), strict=True):
            if part.is_root and (is_child or not (part.count or part.total_ns or part.self_ns)):
                continue
            branch.add_share(thread, part.count, part.total_ns, part.self_ns)
            if part.is_root and part.total_ns:
                self._add_to_ancestors(part, thread, branches)

    def _add_to_ancestors(self, root: NodePart, thread: str, branches: Sequence[Branch]) -> None:
        """Add the time that a thread covered of its tree's parent node to its shares further up, too."""
        index = root.parent
        while index >= 0 and self._parts[index].is_root:  # a tree's root represents the node above it
            index = self._parts[index].parent
        index = self._parts[index].parent if index >= 0 else index
        while index >= 0:
            part = self._parts[index]
            if not part.is_root or part.parent < 0:
                branches[index].add_share(thread, 0, root.total_ns, 0)
            index = part.parent

    def _node_paths(self, parent: str) -> list[str]:
        paths_below: list[str] = []
        for part in self._parts:
            path = paths_below[part.parent] if part.parent >= 0 else parent
            paths_below.append(path if part.is_root else paths.child(path, key_of(part.name, part.clock)))
        return paths_below

    def _check(self, root_name: str) -> None:
        """Raise if the file contains invalid values behind valid references: they must not reach the other files."""
        items: list[Loop | Gauge | Thread] = [*self.loops, *self.gauges, *self.threads]
        problems = (problem for item in items for problem in item.problems())
        problem = next(problems, None)
        if problem is None and all(map(NodePart.is_valid, self._parts)):
            return
        # The full check is slow, but the file is known to be damaged.
        root = Branch(root_name, "")
        self.add_to(root, is_child=False)
        try:
            if problem is not None:
                raise ProfileError(problem)
            Profile(root.to_node()).check()
        except ProfileError as error:
            raise self._image.damage_error(str(error)) from None


def _losses(header: layout.Record, torn_nodes: int, overwritten: int) -> dict[str, int]:
    losses = {name: header.losses[at] for at, name in enumerate(layout.LOSSES) if header.losses[at]}
    if torn_nodes:
        losses["nodes_caught_in_a_write"] = torn_nodes
    if overwritten:
        losses[BEFORE_THE_TIMELINE] = overwritten
    return losses


def _facts(header: layout.Record, clock: Clock) -> Metadata:
    facts: dict[str, frozenset[str | int | float | bool]] = {
        "clock": frozenset({layout.CLOCKS[header.clock_kind]}),
        "times_enabled": frozenset({header.times_enabled}),
    }
    if header.inner_cost or header.outer_cost:
        cost = clock.ns(header.inner_cost + header.outer_cost) / 256
        facts["section_cost_ns"] = frozenset({round(cost, 1)})
    if header.flags & layout.HeaderFlag.WAITED:
        facts["waited_for_devices"] = frozenset({True})
    return facts
