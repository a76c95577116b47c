"""Devices: what a GPU did, filed under the section that launched it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ticktree.importers.chrome.events import (
    DEVICE_WORK,
    Column,
    Event,
    TraceLane,
    lane_of,
    nanoseconds,
    text_of,
)
from ticktree.importers.chrome.growing import Rows
from ticktree.importers.chrome.placing import Nested, NumberedTree
from ticktree.profile.measures import DEVICE


class Launches:
    """Finds the section in which work for a device was launched: its launch has the same `correlation`.

    What a helper thread launches, such as a backward pass, is done for what the main lane of its process is in.
    """

    def __init__(
        self,
        events: Sequence[Event],
        calls: Nested,
        place: Column,
        lanes: Sequence[TraceLane],
        main: Mapping[Any, int],
    ) -> None:
        self._calls = calls
        self._place = place
        self._lanes = {lane: at for at, lane in enumerate(lanes)}
        self._main = main
        times, are_known = nanoseconds(event.get("ts") for event in events)
        self._launches = {
            _correlation(event): (lane_of(event), at)
            for event, at, is_known in zip(events, times.tolist(), are_known.tolist(), strict=True)
            if is_known
        }
        self._bounds = np.searchsorted(calls.lane, np.arange(len(lanes) + 1))

    def place_of(self, work: Event) -> int:
        """Return the place of the innermost section that was open when the work was launched; else the root."""
        lane, at = self._launches.get(_correlation(work), (None, 0))
        if lane is None:
            return 0
        inside = self._innermost(self._lanes.get(lane), at)
        if inside < 0:
            inside = self._innermost(self._main.get(lane.pid), at)
        return int(self._place[inside]) if inside >= 0 else 0

    def _innermost(self, lane: int | None, at: int) -> int:
        if lane is None:
            return -1
        first, last = self._bounds[lane], self._bounds[lane + 1]
        call = int(first + np.searchsorted(self._calls.start_ns[first:last], at, "right") - 1)
        if call < first:
            return -1
        while call >= 0 and self._calls.end_ns[call] < at:
            call = int(self._calls.above[call])
        return call


def device_rows(
    work: Sequence[Event], launches: Launches, places: NumberedTree, began_ns: int, lanes: list[TraceLane]
) -> Rows:
    """Return what devices did, by their own clocks and concurrent to everything else; adds their places and lanes."""
    start, is_start = nanoseconds(event.get("ts") for event in work)
    duration, is_duration = nanoseconds(event.get("dur") for event in work)
    known = np.flatnonzero(is_start & is_duration & (duration >= 0)).tolist()
    found = []
    lane = []
    numbers = {known: at for at, known in enumerate(lanes)}
    for at in known:
        name = f"{DEVICE_WORK[work[at]['cat']]} on GPU {_device(work[at])}"
        found.append(places.below(launches.place_of(work[at]), name, DEVICE))
        lane.append(numbers.setdefault(lane_of(work[at]), len(numbers)))
    lanes.extend([*numbers][len(lanes) :])
    duration = duration[known]
    rows = Rows(
        place=np.array(found, np.int64),
        lane=np.array(lane, np.int64),
        start_ns=start[known] - began_ns,
        duration_ns=duration,
        self_ns=duration,
        concurrent_ns=duration,
        is_open=np.zeros(len(known), bool),
    )
    return rows[rows.place >= 0]


def _device(event: Event) -> str:
    args = event.get("args")
    return text_of(args.get("device", event.get("pid")) if isinstance(args, dict) else event.get("pid"))


def _correlation(event: Event) -> Any:
    args = event.get("args")
    found = args.get("correlation") if isinstance(args, dict) else None
    return found if isinstance(found, (int, str)) else None
