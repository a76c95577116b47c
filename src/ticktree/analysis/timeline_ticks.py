"""Ticks on the tracks of a timeline: their numbers and their lateness, by the recorder's rule for misses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ticktree.analysis.loops import outermost
from ticktree.profile import Loop, Profile
from ticktree.profile import path as paths
from ticktree.profile.timeline import Column, Lane, Timeline


@dataclass(frozen=True, eq=False)
class TimelineTicks:
    """The ticks of one loop on one track.

    Attributes:
        track: the index of the track.
        node: the loop, as an index into the timeline's nodes.
        calls: the ticks, as indices of the timeline's calls, in the order of the track.
        first: the number of the first tick in its thread's loop, from 0, as in `WorstTick`; None if unknown.
        late_ns: the lateness of each tick; 0 if it was not missed.
    """

    track: int
    node: int
    calls: Column
    first: int | None
    late_ns: Column


def ticks_of(
    profile: Profile, timeline: Timeline, tracks: Sequence[tuple[Lane, Column]]
) -> Iterator[TimelineTicks]:
    """Yield the ticks on tracks of a timeline, loop by loop, by the recorder's rule for misses.

    Args:
        profile: the profile of the same run.
        timeline: a timeline without equal nodes.
        tracks: the lane of each track, and its calls in the order of their start, as indices of the timeline's calls.
    """
    for index, (path, is_tick) in enumerate((node.path, node.tick) for node in timeline.nodes):
        if is_tick and path in profile.loops:
            node = profile.root.find(path)
            thread_count = sum(share.count > 0 for share in node.by_thread.values()) if node else 0
            yield from _ticks(timeline, tracks, index, profile.loops[path], thread_count)


def _ticks(
    timeline: Timeline, tracks: Sequence[tuple[Lane, Column]], node: int, loop: Loop, thread_count: int
) -> Iterator[TimelineTicks]:
    """Yield the ticks of one loop, thread by thread: each numbers them in the order of their end."""
    threads: dict[tuple[Any, ...], dict[int, Column]] = {}
    for track, (lane, calls) in enumerate(tracks):
        ticks = calls[timeline.node[calls] == node]
        if len(ticks):
            # Threads beyond the maximum number of lanes have no thread number.
            threads.setdefault((lane.process, lane.thread_id or lane), {})[track] = ticks
    for by_track in threads.values():
        thread_tracks, ticks_by_track = list(by_track), list(by_track.values())
        calls = np.concatenate(ticks_by_track)
        order = np.lexsort((calls, timeline.end_ns[calls]))
        late = np.concatenate([_lateness(timeline, loop, ticks) for ticks in ticks_by_track])[order]
        track_of_call, calls = (
            np.repeat(thread_tracks, [len(ticks) for ticks in ticks_by_track])[order],
            calls[order],
        )
        first = _number_of_first(timeline, loop, calls)
        if first is None and not timeline.overwritten and len(threads) in (1, thread_count):
            first = 0
        elif first is None and len(threads) == 1:
            first = max(0, loop.ticks - len(calls))  # the timeline keeps the last ticks
        # With several threads, only the sum of their warm-ups is known: no thread had more than that.
        late[: max(0, loop.warmup_ticks - (first or 0))] = 0
        for track in thread_tracks:
            selection = np.flatnonzero(track_of_call == track)
            selection = selection[np.argsort(calls[selection])]
            # The numbers of tasks that take turns are not consecutive.
            number = first if len(thread_tracks) == 1 else None
            yield TimelineTicks(track, node, calls[selection], number, late[selection])


def _number_of_first(timeline: Timeline, loop: Loop, ticks: Column) -> int | None:
    """Return the number of the first of these ticks, derived from the number of a worst tick among them."""
    process = timeline.lanes[timeline.lane[ticks[0]]].process
    starts = timeline.start_ns[ticks]
    for worst in loop.worst:
        if not (worst.duration_ns and worst.thread.startswith(f"{process}/")):
            continue
        # The two starts are rounded separately; a tick of no duration may begin with the next one.
        index = int(np.flatnonzero(np.abs(starts - worst.started_ns) <= 1).max(initial=-1))
        if worst.tick >= index >= 0:
            return worst.tick - index
    return None


def _lateness(timeline: Timeline, loop: Loop, ticks: Column) -> Column:
    """Return by how much each tick's busy time exceeds the budget; 0 if unknown."""
    zeros = np.zeros(len(ticks), np.int64)
    if loop.budget_ns is None:
        return zeros
    busy = timeline.duration_ns[ticks] - _waited(timeline, loop.path, ticks)
    late: Column = np.maximum(busy - loop.budget_ns, zeros)
    if timeline.overwritten:
        # Events are overwritten in the order of their ends: earlier ticks may lack some of their waits.
        process = timeline.lanes[timeline.lane[ticks[0]]].process
        is_same_process = np.array([lane.process == process for lane in timeline.lanes])[timeline.lane]
        late[timeline.start_ns[ticks] < timeline.end_ns[is_same_process].min()] = 0
    return late


def _waited(timeline: Timeline, path: str, ticks: Column) -> Column:
    """Return the time in each tick in which any wait below it was open."""
    wait_paths = {node.path for node in timeline.nodes if node.wait and not node.recorded}
    outer = {wait for wait in outermost(wait_paths) if paths.is_descendant(wait, path)}
    is_wait = np.array([node.path in outer for node in timeline.nodes])
    calls = np.concatenate([timeline.of_lane(lane) for lane in _lanes_of_waits(timeline, path, ticks[0])])
    waits = np.sort(calls[is_wait[timeline.node[calls]]])
    start, end = timeline.start_ns[ticks], timeline.end_ns[ticks]
    # A wait that outlives its tick counts until the tick's end.
    tick = np.searchsorted(start, timeline.start_ns[waits], "right") - 1
    is_inside = (tick >= 0) & (timeline.start_ns[waits] < end[tick])
    waits, tick = waits[is_inside], tick[is_inside]
    ends = np.minimum(timeline.end_ns[waits], end[tick])
    # If waits nest or overlap, only the time after the end of the earlier waits counts.
    covered = np.maximum.accumulate(np.concatenate(([0], ends)))[:-1]
    waited = np.zeros(len(ticks), np.int64)
    np.add.at(waited, tick, np.maximum(ends - np.maximum(timeline.start_ns[waits], covered), 0))
    return waited


def _lanes_of_waits(timeline: Timeline, path: str, tick: int) -> list[int]:
    """Return the lane of a tick, and the lanes of those tasks of its thread that have no ticks of the same loop."""
    tick_lane = int(timeline.lane[tick])
    thread = (timeline.lanes[tick_lane].process, timeline.lanes[tick_lane].thread_id)
    is_loop = np.array([node.path == path for node in timeline.nodes])
    with_ticks = set(np.unique(timeline.lane[is_loop[timeline.node]]).tolist())
    tasks = [
        lane_index
        for lane_index, lane in enumerate(timeline.lanes)
        if lane.thread_id and (lane.process, lane.thread_id) == thread and lane_index not in with_ticks
    ]
    return [tick_lane, *tasks]
