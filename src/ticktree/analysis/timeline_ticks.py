"""Ticks on the tracks of a timeline: their numbers, and which of them were missed, by the recorder's rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ticktree.profile import Loop, Profile
from ticktree.profile import path as paths
from ticktree.profile.timeline import Column, Lane, Timeline


@dataclass(frozen=True, eq=False)
class TimelineTicks:
    """The ticks of one loop on one track.

    Attributes:
        track: the index of the track.
        spot: the loop, as an index into the timeline's spots.
        calls: the ticks, as indices of the timeline's calls, in the order of the track.
        first: the number of the first tick in its writer's loop, from 0, as in `WorstTick`; None if it is not known.
        late_ns: the lateness of each tick; 0 if it was not missed.
    """

    track: int
    spot: int
    calls: Column
    first: int | None
    late_ns: Column


def ticks_of(
    profile: Profile, timeline: Timeline, tracks: Sequence[tuple[Lane, Column]]
) -> Iterator[TimelineTicks]:
    """Yield the ticks on tracks of a timeline, loop by loop, by the recorder's rule for misses.

    Args:
        profile: of the same run.
        timeline: in which each node is one spot.
        tracks: the lane of each track, and its calls in the order they began, as indices of the timeline's calls.
    """
    for spot, each in enumerate(timeline.spots):
        if not each.tick or each.path not in profile.loops:
            continue
        loop = profile.loops[each.path]
        node = profile.root.find(each.path)
        writers = sum(share.count > 0 for share in node.by_writer.values()) if node else 0
        yield from _ticks(timeline, tracks, spot, loop, writers)


def _ticks(
    timeline: Timeline, tracks: Sequence[tuple[Lane, Column]], spot: int, loop: Loop, writers: int
) -> Iterator[TimelineTicks]:
    """Yield the ticks of one loop, thread by thread: a thread's writer numbers them in the order they ended."""
    found: dict[tuple[Any, ...], dict[int, Column]] = {}
    for at, (lane, calls) in enumerate(tracks):
        ticks = calls[timeline.spot[calls] == spot]
        if len(ticks):
            # Threads past the cap of lanes have no number.
            found.setdefault((lane.process, lane.thread_id or lane), {})[at] = ticks
    for by_track in found.values():
        places, each = list(by_track), list(by_track.values())
        calls = np.concatenate(each)
        order = np.lexsort((calls, timeline.end_ns[calls]))
        late = np.concatenate([_lateness(timeline, loop, ticks) for ticks in each])[order]
        on, calls = np.repeat(places, [len(ticks) for ticks in each])[order], calls[order]
        first = _number_of_first(timeline, loop, calls)
        if first is None and not timeline.overwritten and len(found) in (1, writers):
            first = 0
        elif first is None and len(found) == 1:
            first = max(0, loop.ticks - len(calls))  # the timeline keeps the last ones
        # Of several threads only the sum of their warm-ups is known: none may have had more.
        late[: max(0, loop.warmup_ticks - (first or 0))] = 0
        for at in places:
            mine = np.flatnonzero(on == at)
            mine = mine[np.argsort(calls[mine])]
            # The numbers of tasks that take turns are not consecutive.
            number = first if len(places) == 1 else None
            yield TimelineTicks(at, spot, calls[mine], number, late[mine])


def _number_of_first(timeline: Timeline, loop: Loop, ticks: Column) -> int | None:
    """Return the number of the first of these ticks by the number of a worst tick among them."""
    process = timeline.lanes[timeline.lane[ticks[0]]].process
    starts = timeline.start_ns[ticks]
    for worst in loop.worst:
        if not (worst.duration_ns and worst.writer.startswith(f"{process}/")):
            continue
        # The two starts are rounded separately; a tick of no duration may begin with the next one.
        at = int(np.flatnonzero(np.abs(starts - worst.started_ns) <= 1).max(initial=-1))
        if worst.tick >= at >= 0:
            return worst.tick - at
    return None


def _lateness(timeline: Timeline, loop: Loop, ticks: Column) -> Column:
    """Return by how much each tick was busy for longer than the budget; 0 if that is not known."""
    none = np.zeros(len(ticks), np.int64)
    if loop.budget_ns is None:
        return none
    busy = timeline.duration_ns[ticks] - _waited(timeline, loop.path, ticks)
    late: Column = np.maximum(busy - loop.budget_ns, none)
    if timeline.overwritten:
        # Events are overwritten in the order of their ends: earlier ticks may have lost some of their waits.
        process = timeline.lanes[timeline.lane[ticks[0]]].process
        kept = np.array([lane.process == process for lane in timeline.lanes])[timeline.lane]
        late[timeline.start_ns[ticks] < timeline.end_ns[kept].min()] = 0
    return late


def _waited(timeline: Timeline, path: str, ticks: Column) -> Column:
    """Return the time in each tick in which any wait below it was open."""
    waiting = {each.path for each in timeline.spots if each.wait and not each.recorded}
    outer = {
        wait
        for wait in waiting
        if paths.is_below(wait, path) and not any(paths.is_below(wait, other) for other in waiting)
    }
    is_wait = np.array([each.path in outer for each in timeline.spots])
    calls = np.concatenate([timeline.of_lane(lane) for lane in _lanes_of_waits(timeline, path, ticks[0])])
    waits = np.sort(calls[is_wait[timeline.spot[calls]]])
    start, end = timeline.start_ns[ticks], timeline.end_ns[ticks]
    # A wait that outlives its tick counts until the tick's end.
    tick = np.searchsorted(start, timeline.start_ns[waits], "right") - 1
    is_inside = (tick >= 0) & (timeline.start_ns[waits] < end[tick])
    waits, tick = waits[is_inside], tick[is_inside]
    ends = np.minimum(timeline.end_ns[waits], end[tick])
    # Of waits that nest or overlap each other, only what comes after the ones before counts.
    covered = np.maximum.accumulate(np.concatenate(([0], ends)))[:-1]
    waited = np.zeros(len(ticks), np.int64)
    np.add.at(waited, tick, np.maximum(ends - np.maximum(timeline.start_ns[waits], covered), 0))
    return waited


def _lanes_of_waits(timeline: Timeline, path: str, tick: int) -> list[int]:
    """Return the lane of a tick, and those of tasks of its thread that have no ticks of the same loop."""
    own = int(timeline.lane[tick])
    thread = (timeline.lanes[own].process, timeline.lanes[own].thread_id)
    is_loop = np.array([each.path == path for each in timeline.spots])
    with_ticks = set(np.unique(timeline.lane[is_loop[timeline.spot]]).tolist())
    tasks = [
        at
        for at, lane in enumerate(timeline.lanes)
        if lane.thread_id and (lane.process, lane.thread_id) == thread and at not in with_ticks
    ]
    return [own, *tasks]
