"""Import Chrome traces: files of events, as torch.profiler, Ray, viztracer and ticktree itself write them.

The modules, in the order in which they process a file:

    events       choose the events to read, and convert them to columns: lane, name, start and end of each call
    nesting      find each call's parent and its node in the tree
    devices      the work of GPUs, and which section launched it
    aggregation  nodes and loops from calls: self times, histograms, windows, shares, ticks
    origin       what else the file contains: start, program that wrote it, losses, threads and gauges

This module combines them into a profile or a timeline.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ticktree.importers.chrome.aggregation import Groups, Rows, build_tree, loop_nodes, loop_of, ticks_around
from ticktree.importers.chrome.devices import Launches, device_rows
from ticktree.importers.chrome.events import (
    Column,
    Flags,
    TraceEvents,
    TraceLane,
    calls_of,
    nanoseconds,
    select,
)
from ticktree.importers.chrome.nesting import NO_NODE, CallTree, NumberedTree, assign_nodes, nest
from ticktree.importers.chrome.origin import Origin, gauges_of, lanes_of, threads_of
from ticktree.profile import Loop, Profile, ProfileError
from ticktree.profile.codec import pause_gc
from ticktree.profile.metadata import Value
from ticktree.profile.table import sums_of
from ticktree.profile.timeline import BEFORE_THE_TIMELINE, CalledNode, Timeline, call_order

_LONGEST_NS = 1 << 60  # sum of all calls: thirty-six years, so that sums stay within 64 bits
_MAX_EVENTS = 100  # to tell a trace from another list


def is_trace(value: Any) -> bool:
    """Tell whether `value`, read from JSON, is a Chrome trace: a list of events, or an object that has one."""
    if isinstance(value, dict):
        return isinstance(value.get("traceEvents"), list)
    events = value[:_MAX_EVENTS] if isinstance(value, list) else ()
    return any(isinstance(event, dict) and "ph" in event for event in events)


def profile_of(value: Any, run_id: str, categories: Collection[str] = ()) -> Profile:
    """Return the profile in a Chrome trace.

    Args:
        value: The file's JSON.
        run_id: The run's id in the profile.
        categories: The categories of events to read; by default those that suit the file's writer.

    Raises:
        ProfileError: The trace is damaged or contradicts itself.
    """
    with pause_gc():
        profile = _open_trace(value, categories, run_id).profile()
    profile.check()
    return profile


def timeline_of(value: Any, categories: Collection[str] = ()) -> Timeline:
    """Return the single calls in a Chrome trace; for arguments and errors see `profile_of`."""
    with pause_gc():
        return _open_trace(value, categories, "").timeline()


def _open_trace(value: Any, categories: Collection[str], run_id: str) -> _Trace:
    trace = value if isinstance(value, dict) else {}
    return _Trace(select(trace.get("traceEvents", []) if trace else value, categories), Origin(trace), run_id)


class _Trace:
    """A trace after every call was assigned to a node."""

    def __init__(self, events: TraceEvents, origin: Origin, run_id: str) -> None:
        self._events, self._origin, self._run_id = events, origin, run_id
        calls = calls_of(events.calls)
        nested = nest(calls)
        overlaps = int(np.count_nonzero(nested.is_concurrent))
        self._tree, self._lanes = NumberedTree(), calls.lanes
        explicit_paths = _explicit_paths(origin, events)
        node_id = assign_nodes(nested, origin.node_names(calls.names), explicit_paths, self._tree)
        nested.detach(_find_detached(nested, node_id, explicit_paths, self._tree))
        has_node = node_id != NO_NODE
        self._calls, self._node_ids = nested.select(has_node), node_id[has_node]
        too_deep = len(node_id) - len(self._node_ids)
        counts = {**calls.losses, "calls_too_deep": too_deep, "places_of_overlapping_calls": overlaps}
        self._losses = {loss: count for loss, count in counts.items() if count}
        main_lanes = _main_lanes(self._calls, self._lanes)
        launched_ns, is_time = nanoseconds(event.get("ts") for event in events.work)
        self._began_ns = origin.began_ns(np.concatenate((self._calls.start_ns, launched_ns[is_time])))
        self._wall_ns = origin.wall_ns(self._began_ns)
        self._host = _rows(self._calls, self._node_ids, next(iter(main_lanes.values()), 0), self._began_ns)
        launches = Launches(events.launches, self._calls, self._node_ids, self._lanes, main_lanes)
        self._rows = self._host + device_rows(events.work, launches, self._tree, self._began_ns, self._lanes)
        if self._rows.duration_ns.sum(dtype=np.float64) > _LONGEST_NS:
            raise ProfileError("a Chrome trace whose calls sum to more than can be measured")
        self._threads = threads_of(self._lanes, events.labels, self._rows, main_lanes.values(), run_id)
        self._paths = self._tree.paths()
        marked_nodes = [node_id for node_id, path in enumerate(self._paths) if path in origin.loops]
        self._tick_nodes = loop_nodes(self._tree, self._host, marked_nodes)

    def profile(self) -> Profile:
        """Return the profile of the calls."""
        ids = [thread.id for thread in self._threads]
        waits = {node_id for node_id, path in enumerate(self._paths) if path in self._origin.waits}
        root = build_tree(self._tree, self._rows, self._run_id, ids, waits)
        innermost = ticks_around(self._node_ids, self._calls.parent, self._calls.depth, self._tick_nodes)
        rows_by_node, rows_by_tick = Groups(self._host.node_id), Groups(innermost)
        loops: dict[str, Loop] = {}
        for node_id in self._tick_nodes:
            path, ticks = self._paths[node_id], rows_by_node.of(node_id)
            node = root.at(path)
            loops[path] = loop_of(
                path, node, self._host, ticks, rows_by_tick, self._paths, ids, self._wall_ns
            )
        zero_ns = None if self._wall_ns is None else self._wall_ns - self._began_ns
        facts = _facts(self._events, self._origin, self._run_id)
        return Profile(
            root=root,
            loops=loops,
            gauges=gauges_of(self._events.counters, self._began_ns, zero_ns),
            metadata={key: frozenset(values) for key, values in facts.items()},
            losses=sums_of([self._losses, self._origin.losses]),
            threads={thread.id: thread for thread in self._threads},
        )

    def timeline(self) -> Timeline:
        """Return the single calls; those that had not ended are left out."""
        rows = self._rows[~self._rows.is_open]
        nodes = tuple(
            CalledNode(path, wait=path in self._origin.waits, tick=node_id in self._tick_nodes)
            for node_id, path in enumerate(self._paths)
        )
        order = call_order(rows.start_ns, rows.node_id, nodes)
        return Timeline(
            lanes=lanes_of(self._lanes, self._threads),
            nodes=nodes,
            start_ns=rows.start_ns[order],
            duration_ns=rows.duration_ns[order],
            node=rows.node_id[order],
            lane=rows.lane[order],
            overwritten=self._origin.losses.get(BEFORE_THE_TIMELINE, 0),
            clocks=frozenset(str(value) for key, value in self._origin.facts() if key == "clock"),
            began_wall_ns=self._wall_ns,
        )


def _find_detached(
    calls: CallTree, node_id: Column, explicit_paths: Collection[int], tree: NumberedTree
) -> Flags:
    """Return which calls have, according to the file, another parent than the call that encloses them in time."""
    is_explicit = np.isin(calls.source, np.fromiter(explicit_paths, np.int64, len(explicit_paths)))
    parents = np.array(tree.parent, np.int64)[node_id]
    is_detached: Flags = is_explicit & (calls.parent >= 0) & (parents != node_id[calls.parent])
    return is_detached


def _explicit_paths(origin: Origin, events: TraceEvents) -> dict[int, tuple[str, ...]]:
    try:
        return origin.explicit_paths(events.calls)
    except ValueError as error:
        raise ProfileError(f"a Chrome trace of ticktree's with a damaged event: {error}") from None


def _main_lanes(calls: CallTree, lanes: Sequence[TraceLane]) -> dict[Any, int]:
    """Return for each process the lane with the most time in calls, in descending order of that time."""
    is_top = (calls.parent < 0) & ~calls.is_concurrent
    total = np.zeros(len(lanes), np.int64)
    np.add.at(total, calls.lane[is_top], calls.duration_ns[is_top])
    main_lanes: dict[Any, int] = {}
    for lane in np.argsort(-total, kind="stable").tolist():
        main_lanes.setdefault(lanes[lane].pid, lane)
    return main_lanes


def _rows(calls: CallTree, node_id: Column, main_lane: int, began_ns: int) -> Rows:
    """Return the rows of the calls, with self times and concurrent times.

    A child reduces its parent's self time. The calls at the top of the main lane sum to the run's length; other lanes
    and overlapping calls are concurrent.
    """
    duration = calls.duration_ns
    is_concurrent = calls.is_concurrent | (calls.parent < 0) & (calls.lane != main_lane)
    covering_rows = np.flatnonzero((calls.parent >= 0) & ~is_concurrent)
    self_ns = duration.copy()
    np.subtract.at(self_ns, calls.parent[covering_rows], duration[covering_rows])
    return Rows(
        node_id=node_id,
        lane=calls.lane,
        start_ns=calls.start_ns - began_ns,
        duration_ns=duration,
        self_ns=self_ns,
        concurrent_ns=np.where(is_concurrent, duration, 0),
        is_open=calls.is_open,
    )


def _facts(events: TraceEvents, origin: Origin, run_id: str) -> dict[str, set[Value]]:
    facts: dict[str, set[Value]] = {"name": {run_id}, "read_from": {"Chrome trace"}}
    for key, value in origin.facts():
        facts.setdefault(key, set()).add(value)
    if events.unread:
        facts["not_read"] = set(events.unread)
    return facts
