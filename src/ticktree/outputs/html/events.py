"""The calls of a timeline as columns of bytes, which compress well and are read without a parser.

Calls are ordered by track, and within a track by start. Each call has the time since the start of the call before it
in its track (for the first, since the start of the run), its duration, and its spot. A column is written byte by byte:
first the lowest bytes of all its numbers, then the next, as many as its largest number needs. So the high bytes, which
are nearly all 0, cost nothing, and the front end combines them in simple loops.

A program that records durations measured elsewhere, such as the latencies of a thousand concurrent requests, has as
many tracks as there were requests at once, and a reader does not look at the fortieth. So the first tracks of a lane
are followed by one that shows how many more calls there were at each moment: 1, 2 or 3, 4 to 7, and so on.

A fourth column has the lateness of each tick, 0 for one that was not missed: loop by loop, and in a loop track by
track.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from ticktree.outputs.traces import Track, tracks_of
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Loop, Profile
from ticktree.profile import path as paths
from ticktree.profile.timeline import Column, Lane, Timeline, together

# Calls that overlap in this many tracks are still distinguishable.
TRACKS = 4


@dataclass(frozen=True, eq=False)
class Drawn:
    """A track of the page: periods that nest.

    Attributes:
        track: the track, or the first of those that it replaces.
        title: its name.
        start_ns: the start of each period.
        duration_ns: its duration.
        spot: its spot, as an index into the timeline's spots; from their number on, into those of `crowd_name`.
    """

    track: Track
    title: str
    start_ns: Column
    duration_ns: Column
    spot: Column


def drawn(timeline: Timeline) -> Iterator[Drawn]:
    """Yield the tracks of the page: for each lane, nested calls, durations measured elsewhere, and their overlaps."""
    for _, group in groupby(tracks_of(timeline), _of_one_kind):
        tracks = list(group)
        for track in tracks if len(tracks) <= TRACKS + 1 else tracks[:TRACKS]:
            at = track.calls
            yield Drawn(track, track.name, timeline.start_ns[at], timeline.duration_ns[at], timeline.spot[at])
        if len(tracks) > TRACKS + 1:
            yield _crowd(timeline, tracks[TRACKS:])


def _of_one_kind(track: Track) -> tuple[Lane, str]:
    return track.lane, track.note.partition("overlapping")[0].removesuffix(", ")


def crowd_name(level: int) -> str:
    """Return the name of a period in which 2**`level` or more calls overlap."""
    least, most = 1 << level, (2 << level) - 1
    return f"{least:,} more" if least == most else f"{least:,} to {most:,} more"


def _crowd(timeline: Timeline, tracks: list[Track]) -> Drawn:
    calls = np.concatenate([track.calls for track in tracks])
    moments, place = np.unique(
        np.concatenate((timeline.start_ns[calls], timeline.end_ns[calls])), return_inverse=True
    )
    change = np.zeros(len(moments), np.int64)
    np.add.at(change, place, np.repeat((1, -1), len(calls)))
    level = np.frexp(np.cumsum(change))[1] - 1  # -1 without calls
    begins = np.flatnonzero(np.diff(level, prepend=-1))
    starts, levels = moments[begins], level[begins]
    durations = np.diff(starts, append=moments[-1])
    is_any = levels >= 0
    title = f"{tracks[0].lane.name}, {len(calls):,} more that overlap"
    spots = levels[is_any].astype(np.int64) + len(timeline.spots)
    return Drawn(tracks[0], title, starts[is_any], durations[is_any], spots)


@dataclass(frozen=True, eq=False)
class TimelineTicks:
    """The ticks of one loop on one track.

    Attributes:
        track: the index of the track.
        spot: the loop, as an index into the timeline's spots.
        first: the number of the first tick in its writer's loop, from 0, as in `WorstTick`; None if it is not known.
        late_ns: the lateness of each tick, in the order of the track; 0 if it was not missed.
    """

    track: int
    spot: int
    first: int | None
    late_ns: Column


@dataclass(frozen=True, eq=False)
class _Thread:
    """The ticks of one loop on one thread, as its writer numbers them: in the order they ended.

    Attributes:
        tracks: the index of the track of each tick.
        calls: the ticks, as indices of the timeline's calls.
        first: the number of the first one; None if it is not known.
        late_ns: by how much each was missed; 0 if it was not, or may be warm-up.
    """

    tracks: Column
    calls: Column
    first: int | None
    late_ns: Column


def ticks_of(profile: Profile, timeline: Timeline, tracks: Sequence[Drawn]) -> Iterator[TimelineTicks]:
    """Yield the ticks on the tracks of the page, loop by loop, by the recorder's rule for misses.

    Args:
        profile: of the same run.
        timeline: in which each path is one spot.
        tracks: of the timeline.
    """
    for spot, each in enumerate(timeline.spots):
        if not each.tick or each.path not in profile.loops:
            continue
        loop = profile.loops[each.path]
        node = profile.root.find(each.path)
        writers = sum(share.count > 0 for share in node.by_writer.values()) if node else 0
        for thread in _threads(timeline, tracks, spot, loop, writers):
            on = np.unique(thread.tracks).tolist()
            for at in on:
                mine = np.flatnonzero(thread.tracks == at)
                mine = mine[np.argsort(thread.calls[mine])]
                # The numbers of tasks that take turns are not consecutive.
                yield TimelineTicks(at, spot, thread.first if len(on) == 1 else None, thread.late_ns[mine])


def _threads(
    timeline: Timeline, tracks: Sequence[Drawn], spot: int, loop: Loop, writers: int
) -> Iterator[_Thread]:
    found: dict[tuple[Any, ...], list[int]] = {}
    for at, track in enumerate(tracks):
        if np.any(track.spot == spot):
            lane = track.track.lane
            # Threads past the cap of lanes have no number.
            found.setdefault((lane.process, lane.thread_id or lane), []).append(at)
    for places in found.values():
        each = [tracks[at].track.calls[tracks[at].spot == spot] for at in places]
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
        yield _Thread(on, calls, first, late)


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
    is_wait = np.array(
        [
            each.path in waiting and paths.is_below(each.path, path) and not _is_inside(each.path, waiting)
            for each in timeline.spots
        ]
    )
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


def _is_inside(path: str, others: set[str]) -> bool:
    names = paths.split(path)
    return any(paths.join(names[:depth]) in others for depth in range(1, len(names)))


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


# The category of a spot that is not a call, but a number of calls.
CROWD = 2


def packed_timeline(timeline: Timeline, profile: Profile) -> tuple[dict[str, Any], bytes]:
    """Return the description of a timeline, and its calls.

    Args:
        timeline: with at least one call.
        profile: of the same run, with the budgets of its loops.
    """
    if len(set(timeline.spots)) < len(timeline.spots):
        timeline = together([timeline])  # each thread of a recorder has its own spot for a path
    tracks = [track for track in drawn(timeline) if len(track.spot)]
    start = np.concatenate([track.start_ns for track in tracks])
    gaps = np.diff(start, prepend=0)
    firsts = np.cumsum([0, *(len(track.spot) for track in tracks)])[:-1]
    gaps[firsts] = start[firsts]
    spot = np.concatenate([track.spot for track in tracks])
    columns = [gaps, np.concatenate([track.duration_ns for track in tracks]), spot]
    packed = [_planes(column) for column in columns]
    ticks = list(ticks_of(profile, timeline, tracks))
    late = np.concatenate([np.empty(0, np.int64), *(each.late_ns for each in ticks)])
    packed_late = _planes(late) if late.any() else b""
    spots = [[each.path, visible(each.label) or '""', int(each.recorded)] for each in timeline.spots]
    spots += [["", crowd_name(level), CROWD] for level in range(int(spot.max()) + 1 - len(spots))]
    facts = {
        "calls": len(timeline),
        "drawn": len(spot),
        "overwritten": timeline.overwritten,
        "from_ns": int(timeline.start_ns.min()),
        "to_ns": int(timeline.end_ns.max()),
        "tracks": [_track(track) for track in tracks],
        "spots": spots,
        "planes": [len(planes) // len(spot) for planes in packed],
        "ticks": [[each.track, each.spot, each.first, len(each.late_ns)] for each in ticks],
        "late_planes": len(packed_late) // max(1, len(late)),
    }
    return facts, b"".join((*packed, packed_late))


def _track(one: Drawn) -> dict[str, Any]:
    lane = one.track.lane
    return {
        "process": lane.process,
        "process_title": visible(f"{lane.process_title} {lane.pid}"),
        "title": visible(one.title),
        "calls": len(one.spot),
    }


def _planes(column: Column) -> bytes:
    """Return the lowest bytes of all numbers, then the next ones, up to the last ones that are not all 0."""
    largest = int(column.max())
    planes = max(1, (largest.bit_length() + 7) // 8)
    by_byte = column.astype("<i8").view(np.uint8).reshape(-1, 8)
    lowest: bytes = by_byte[:, :planes].T.tobytes()
    return lowest
