"""Devices: the work of GPUs, as children of the section that launched it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ticktree.importers.chrome.aggregation import Rows
from ticktree.importers.chrome.events import (
    DEVICE_WORK,
    Column,
    Event,
    TraceLane,
    lane_of,
    nanoseconds,
    text_of,
)
from ticktree.importers.chrome.nesting import CallTree, NumberedTree
from ticktree.profile.measures import DEVICE


class Launches:
    """Finds the section that launched work for a device: the launch has the same `correlation`.

    Launches of helper threads, such as a backward pass's, belong to the open section of their process's main lane.
    """

    def __init__(
        self,
        events: Sequence[Event],
        calls: CallTree,
        node_id: Column,
        lanes: Sequence[TraceLane],
        main_lanes: Mapping[Any, int],
    ) -> None:
        self._calls = calls
        self._node_ids = node_id
        self._lanes = {lane: number for number, lane in enumerate(lanes)}
        self._main_lanes = main_lanes
        times, are_known = nanoseconds(event.get("ts") for event in events)
        self._launches = {
            _correlation(event): (lane_of(event), at_ns)
            for event, at_ns, is_known in zip(events, times.tolist(), are_known.tolist(), strict=True)
            if is_known
        }
        self._bounds = np.searchsorted(calls.lane, np.arange(len(lanes) + 1))

    def node_of(self, work: Event) -> int:
        """Return the node of the innermost section that was open when the work was launched; else the root."""
        lane, at_ns = self._launches.get(_correlation(work), (None, 0))
        if lane is None:
            return 0
        call = self._innermost(self._lanes.get(lane), at_ns)
        if call < 0:
            call = self._innermost(self._main_lanes.get(lane.pid), at_ns)
        return int(self._node_ids[call]) if call >= 0 else 0

    def _innermost(self, lane: int | None, at_ns: int) -> int:
        if lane is None:
            return -1
        first, last = self._bounds[lane], self._bounds[lane + 1]
        call = int(first + np.searchsorted(self._calls.start_ns[first:last], at_ns, "right") - 1)
        if call < first:
            return -1
        while call >= 0 and self._calls.end_ns[call] < at_ns:
            call = int(self._calls.parent[call])
        return call


def device_rows(
    work: Sequence[Event], launches: Launches, tree: NumberedTree, began_ns: int, lanes: list[TraceLane]
) -> Rows:
    """Return the rows of devices, which have a clock of their own and are concurrent; add their nodes and lanes."""
    start, is_start = nanoseconds(event.get("ts") for event in work)
    duration, is_duration = nanoseconds(event.get("dur") for event in work)
    rows_with_times = np.flatnonzero(is_start & is_duration & (duration >= 0)).tolist()
    node_ids = []
    lanes_of_work = []
    numbers = {lane: number for number, lane in enumerate(lanes)}
    for row in rows_with_times:
        name = f"{DEVICE_WORK[work[row]['cat']]} on GPU {_device(work[row])}"
        node_ids.append(tree.child(launches.node_of(work[row]), name, DEVICE))
        lanes_of_work.append(numbers.setdefault(lane_of(work[row]), len(numbers)))
    lanes.extend([*numbers][len(lanes) :])
    duration = duration[rows_with_times]
    rows = Rows(
        node_id=np.array(node_ids, np.int64),
        lane=np.array(lanes_of_work, np.int64),
        start_ns=start[rows_with_times] - began_ns,
        duration_ns=duration,
        self_ns=duration,
        concurrent_ns=duration,
        is_open=np.zeros(len(rows_with_times), bool),
    )
    return rows[rows.node_id >= 0]


def _device(event: Event) -> str:
    args = event.get("args")
    return text_of(args.get("device", event.get("pid")) if isinstance(args, dict) else event.get("pid"))


def _correlation(event: Event) -> Any:
    args = event.get("args")
    correlation = args.get("correlation") if isinstance(args, dict) else None
    return correlation if isinstance(correlation, (int, str)) else None
