"""Timeline: the start and end of every completed call, of a run that recorded them.

It is not part of a profile: profiles of several runs merge, and their totals stay meaningful; moments of different
runs are unrelated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ticktree.profile import path as paths
from ticktree.profile.measures import HOST, Clock, split_key
from ticktree.profile.profile import ROOT_NAME

Column: TypeAlias = NDArray[np.int64]

# The loss that counts calls which a timeline recorded and later overwrote.
BEFORE_THE_TIMELINE = "calls_before_the_timeline"


class Lane(NamedTuple):
    """Calls that follow each other or nest: of a thread, or of one of the contexts that interleave in it.

    Attributes:
        role: Of the process, as the program declared it; else "".
        thread_id: The kernel's thread id; 0 for all threads above the maximum number of lanes.
        number: 0 for the thread itself; 1, 2, ... for its tasks, as many as were open at once.
    """

    process: str
    pid: int
    process_name: str
    role: str
    thread_id: int
    thread_name: str
    number: int

    @property
    def name(self) -> str:
        """Its label among the lanes of its process."""
        thread = self.thread_name or (f"thread {self.thread_id}" if self.thread_id else "more threads")
        return f"{thread}, task {self.number}" if self.number else thread

    @property
    def process_title(self) -> str:
        """The label of its process."""
        return ", ".join(filter(None, (self.process_name or "python", self.role)))


class CalledNode(NamedTuple):
    """A node of the timeline's calls.

    Attributes:
        wait: Whether it waits, as the program declared it.
        tick: Whether its calls are ticks of a loop.
        recorded: Whether the program measured its durations itself: only an upper bound of their ends is known.
    """

    path: str
    wait: bool = False
    tick: bool = False
    recorded: bool = False

    @property
    def name(self) -> str:
        """Its name; the root's is that in the tree."""
        return split_key(paths.name_of(self.path))[0] if self.path else ROOT_NAME

    @property
    def clock(self) -> Clock:
        """The clock of its calls: in traces of other programs, also a device's."""
        return split_key(paths.name_of(self.path))[1] if self.path else HOST

    @property
    def label(self) -> str:
        """Its name and, unless it is the host's, its clock."""
        return self.name if self.clock == HOST else f"{self.name}@{self.clock}"


@dataclass(frozen=True, eq=False)
class Timeline:
    """The calls of one run, in the order they began; of those that began at the same time, outer ones first.

    Attributes:
        node: The node of each call, as an index of `nodes`.
        lane: The lane of each call, as an index of `lanes`.
        overwritten: Calls that were recorded before these and overwritten.
        clocks: The clocks that measured them.
        began_wall_ns: When the run began, since the epoch; None if unknown.
    """

    lanes: tuple[Lane, ...]
    nodes: tuple[CalledNode, ...]
    start_ns: Column = field(repr=False)
    duration_ns: Column = field(repr=False)
    node: Column = field(repr=False)
    lane: Column = field(repr=False)
    overwritten: int = 0
    clocks: frozenset[str] = frozenset()
    began_wall_ns: int | None = None

    def __len__(self) -> int:
        return len(self.start_ns)

    @cached_property
    def end_ns(self) -> Column:
        """When each call ended, since the run began."""
        return self.start_ns + self.duration_ns

    def of_lane(self, lane: int) -> Column:
        """Return the indices of the calls of one lane, in order."""
        order, bounds = self._by_lane
        return order[bounds[lane] : bounds[lane + 1]]

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        columns = (self.start_ns, self.duration_ns, self.node, self.lane)
        if len({len(column) for column in columns}) > 1:
            yield "its columns are not equally long"
        elif len(self):
            if self.start_ns.min() < 0 or self.duration_ns.min() < 0 or np.any(self.end_ns < 0):
                yield "a call begins before the run, or ends before it begins"
            if np.any(np.diff(self.start_ns) < 0):
                yield "its calls are not in the order they began"
            for column, table in ((self.node, self.nodes), (self.lane, self.lanes)):
                if column.min() < 0 or column.max() >= len(table):
                    yield "a call is of a lane or a node that is not there"
        if self.overwritten < 0:
            yield "fewer than no calls were lost"

    @cached_property
    def _by_lane(self) -> tuple[Column, Column]:
        order = np.argsort(self.lane, kind="stable")
        bounds = np.searchsorted(self.lane[order], np.arange(len(self.lanes) + 1))
        return order.astype(np.int64), bounds.astype(np.int64)


def merge_timelines(parts: Sequence[Timeline]) -> Timeline:
    """Return the merge of the timelines of several processes of one run."""
    lanes: dict[Lane, int] = {}
    nodes: dict[CalledNode, int] = {}
    at_lane = [_indices(part.lanes, lanes) for part in parts]
    at_node = [_indices(part.nodes, nodes) for part in parts]
    start = _concatenate([part.start_ns for part in parts])
    node = _concatenate([at[part.node] for at, part in zip(at_node, parts, strict=True)])
    order = call_order(start, node, tuple(nodes))
    walls = [part.began_wall_ns for part in parts if part.began_wall_ns is not None]
    return Timeline(
        tuple(lanes),
        tuple(nodes),
        start[order],
        _concatenate([part.duration_ns for part in parts])[order],
        node[order],
        _concatenate([at[part.lane] for at, part in zip(at_lane, parts, strict=True)])[order],
        overwritten=sum(part.overwritten for part in parts),
        clocks=frozenset().union(*(part.clocks for part in parts)),
        began_wall_ns=min(walls, default=None),
    )


def merge_equal_nodes(timeline: Timeline) -> Timeline:
    """Return the timeline without equal nodes: each thread of a recorder writes its own."""
    return merge_timelines([timeline]) if len(set(timeline.nodes)) < len(timeline.nodes) else timeline


def call_order(start_ns: Column, node: Column, nodes: Sequence[CalledNode]) -> Column:
    """Return a timeline's order of calls that are in the order they ended."""
    depths = np.array([len(paths.split(node.path)) for node in nodes], np.int64)
    if np.all(np.diff(start_ns) > 0):
        return np.arange(len(start_ns))
    # The last key is the primary one; calls that began at the same moment are sorted by depth.
    return np.lexsort((depths[node] if len(nodes) else node, start_ns))


def _indices(
    values: tuple[Lane, ...] | tuple[CalledNode, ...], indices: dict[Lane, int] | dict[CalledNode, int]
) -> Column:
    table: dict[Lane | CalledNode, int] = indices  # type: ignore[assignment]
    return np.array([table.setdefault(value, len(table)) for value in values], np.int64)


def _concatenate(columns: Sequence[Column]) -> Column:
    return np.concatenate(columns) if columns else np.empty(0, np.int64)
