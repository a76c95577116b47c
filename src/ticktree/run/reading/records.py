"""Read one memory file's records as parts of a profile."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ticktree.files.guarded import MissingFileError, opened
from ticktree.profile import Gauge, Loop, Profile, ProfileError, Writer
from ticktree.profile import path as paths
from ticktree.profile.measures import key_of
from ticktree.profile.metadata import Metadata
from ticktree.profile.timeline import BEFORE_THE_TIMELINE
from ticktree.recorder import copy_settled
from ticktree.run.reading import layout
from ticktree.run.reading.accounts import Clock, leave_virtually, writer_id, writers_of
from ticktree.run.reading.image import MOST_BYTES, DamagedError, Image
from ticktree.run.reading.loops import LoopsReader, gauges_of
from ticktree.run.reading.parts import NodePart, PartsReader
from ticktree.run.reading.signals import Edge, NodeAddress, critical_path, edges_of
from ticktree.run.reading.tree import Branch

EVENT = np.dtype(layout.Event)
_RING_BYTES = ctypes.sizeof(layout.Ring)
_HEADER_BYTES = ctypes.sizeof(layout.Header)
# The most events of a process: a million per second for nine years.
_MOST = 1 << 48


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
        with opened(path, MOST_BYTES) as file:
            # Most files have no timeline, by their first bytes.
            head = file.read(_HEADER_BYTES)
            if len(head) < _HEADER_BYTES or not _ring_of(head):
                return None
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as memory:
                return events_in(memory, str(path))
    except MissingFileError:
        return None  # folded meanwhile: folding keeps the events


def events_in(memory: bytes | bytearray | mmap.mmap, origin: str = "memory file") -> Events | None:
    """Copy the events of a file's bytes, which may be changing; None if it keeps none."""
    at = _ring_of(memory[:_HEADER_BYTES]) if len(memory) >= _HEADER_BYTES else 0
    if not at:
        return None
    if at + _RING_BYTES > len(memory):
        raise DamagedError(origin, "it is damaged: its timeline lies outside it")
    before = _ring(memory, at)
    begin, capacity = at + _RING_BYTES, before.capacity
    if not 0 < capacity <= (len(memory) - begin) // EVENT.itemsize:
        raise DamagedError(origin, "it is damaged: its timeline lies outside it")
    end = begin + capacity * EVENT.itemsize
    data = bytearray(end - begin)
    with memoryview(memory) as whole, whole[begin:end] as part:
        copy_settled(part, data, 0, [(0, end - begin)], 1)
    after = _ring(memory, at)
    if not (before.forgotten <= before.done <= after.begun < _MOST):
        raise DamagedError(origin, "it is damaged: its timeline's numbers cannot be")
    # Events begun meanwhile may have partly overwritten the oldest ones.
    first = max(before.forgotten, after.begun - capacity, 0)
    last = max(before.done, first)  # all may have been overwritten during the copy
    slots = np.arange(first, last, dtype=np.int64) % capacity
    rows = np.frombuffer(data, EVENT)[slots]
    return Events(rows, max(0, first - before.forgotten))


def counts_in(image: Image) -> tuple[int, int]:
    """Return how many calls an image's timeline recorded, and how many of them were overwritten; 0 without one."""
    at = image.header.ring * layout.LINE
    if not 0 < at <= len(image.data) - _RING_BYTES:
        return 0, 0
    ring = layout.Ring.from_buffer_copy(image.data, at)
    # The numbers were copied one after the other, and the ring may have been reset in between.
    calls = max(0, ring.done - ring.forgotten) if ring.done < _MOST else 0
    return calls, max(0, calls - ring.capacity)


def _ring(memory: bytes | bytearray | mmap.mmap, at: int) -> layout.Record:
    """Return a copy of the ring's numbers at this moment: `copy_settled` has the memory barriers for it."""
    head = bytearray(_RING_BYTES)
    with memoryview(memory) as whole, whole[at : at + _RING_BYTES] as part:
        copy_settled(part, head, 0, [(0, _RING_BYTES)], 1)
    return layout.Ring.from_buffer_copy(head)


def _ring_of(head: bytes | bytearray) -> int:
    header = layout.Header.from_buffer_copy(head)
    known = header.magic == layout.MAGIC and header.format == layout.FORMAT
    return int(header.ring) * layout.LINE if known else 0


class ImageReader:
    """Reads one image, and checks all of it before any of it reaches a tree.

    Args:
        above: The branch that the process's root belongs to.
        is_child: Whether that is a node of another process. The root's self time is then not counted, and all
            time of the sections under it is concurrent to their parent node.
        long_enough: The shortest duration of a tick among the worst, by the loop's path.

    Attributes:
        loops, gauges, writers, facts, losses, timeline_calls: The content of the file besides its nodes.
        edges: The wake edges that ended its nodes' waits.
        critical: For a process that no other started, the critical path to its last moment.
        writer_ids: The writer of each node, by the node's reference.
    """

    def __init__(
        self,
        image: Image,
        run_id: str,
        above: Branch,
        *,
        is_child: bool,
        long_enough: Mapping[str, int] | None = None,
    ) -> None:
        self._image = image
        self._run_id = run_id
        self._above = above
        self._is_child = is_child
        clock = Clock(image.header)
        self._nodes = PartsReader(image, clock, leave_virtually(image))
        self._parts = self._nodes.parts
        self._paths = self._paths_below(above.path)
        self.loops: Sequence[Loop] = LoopsReader(
            image, clock, self._nodes, self._paths, long_enough or {}
        ).loops()
        self.gauges: Sequence[Gauge] = gauges_of(image)
        located = zip(self._parts, self._paths, strict=True)
        parents = {part.tree: path for part, path in located if part.is_root}
        self.writers: Sequence[Writer] = writers_of(image, clock, run_id, parents)
        self.facts = _facts(image.header, clock)
        self.timeline_calls, overwritten = counts_in(image)
        self.losses = _losses(image.header, self._nodes.torn, overwritten)
        # An edge may be younger than the copy of the chain of nodes.
        self.edges: Sequence[Edge] = [edge for edge in edges_of(image) if edge.node in self._nodes.index]
        self.critical: Mapping[NodeAddress, int] = {} if is_child else critical_path(image)
        ids = {part.tree: writer_id(image, part.tree) for part in self._parts if part.is_root}
        self.writer_ids = {ref: ids[self._parts[at].tree] for ref, at in self._nodes.index.items()}
        self._check()

    def grow(self) -> dict[int, Branch]:
        """Add this file's nodes below the parent branch."""
        return self._grow(self._above, is_child=self._is_child)

    def _grow(self, above: Branch, *, is_child: bool) -> dict[int, Branch]:
        places: list[Branch] = []
        for part in self._parts:
            place = places[part.above] if part.above >= 0 else above
            place = place if part.is_root else place.child(part.name, part.clock)
            places.append(place)
            if not (is_child and part.is_root):
                if is_child and self._parts[part.above].is_root:
                    part.concurrent_ns = part.total_ns
                place.add(part)
        self._add_histograms(above, places, is_child=is_child)
        self._share_out(places, is_child=is_child)
        return dict(zip(self._nodes.index, places, strict=True))

    def _add_histograms(self, above: Branch, places: Sequence[Branch], *, is_child: bool) -> None:
        slots: list[int] = []
        for part, place in zip(self._parts, places, strict=True):
            counts = not (is_child and part.is_root)
            slots.append(place.slot if counts and part.steady_calls.completed else -1)
            has_warmup = part.is_joined or (part.is_phased and part.warm_calls.completed)
            slots.append(place.slot + (not part.is_joined) if counts and has_warmup else -1)
        self._nodes.histograms.add_to(above.histograms, np.array(slots, np.int64))

    def _share_out(self, places: Sequence[Branch], *, is_child: bool) -> None:
        """Add each writer's share to its branches."""
        for part, place, writer in zip(self._parts, places, self.writer_ids.values(), strict=True):
            if part.is_root and (is_child or not (part.count or part.total_ns or part.self_ns)):
                continue
            place.add_share(writer, part.count, part.total_ns, part.self_ns)
            if part.is_root and part.total_ns:
                self._pass_up(part, writer, places)

    def _pass_up(self, root: NodePart, writer: str, places: Sequence[Branch]) -> None:
        """Add the time that a thread covered of its tree's parent node to its shares further up, too."""
        at = root.above
        while at >= 0 and self._parts[at].is_root:  # each represents the node above it
            at = self._parts[at].above
        at = self._parts[at].above if at >= 0 else at
        while at >= 0:
            part = self._parts[at]
            if not part.is_root or part.above < 0:
                places[at].add_share(writer, 0, root.total_ns, 0)
            at = part.above

    def _paths_below(self, above: str) -> list[str]:
        below: list[str] = []
        for part in self._parts:
            path = below[part.above] if part.above >= 0 else above
            below.append(path if part.is_root else paths.child(path, key_of(part.name, part.clock)))
        return below

    def _check(self) -> None:
        """Raise if the file contains invalid values behind valid references: they must not reach the other files."""
        items: list[Loop | Gauge | Writer] = [*self.loops, *self.gauges, *self.writers]
        problems = (problem for item in items for problem in item.problems())
        problem = next(problems, None)
        if problem is None and all(map(NodePart.may_be, self._parts)):
            return
        # The full check is slow, but the file is known to be damaged.
        alone = Branch(self._above.name, "")
        self._grow(alone, is_child=False)
        try:
            if problem is not None:
                raise ProfileError(problem)
            Profile(alone.to_node()).check()
        except ProfileError as error:
            raise self._image.damaged(str(error)) from None


def _losses(header: layout.Record, torn: int, overwritten: int) -> dict[str, int]:
    losses = {name: header.losses[at] for at, name in enumerate(layout.LOSSES) if header.losses[at]}
    if torn:
        losses["nodes_caught_in_a_write"] = torn
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
