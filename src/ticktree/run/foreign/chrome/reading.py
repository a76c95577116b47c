"""Reading a Chrome trace as a profile: events to calls, calls to nodes, nodes to accounts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ticktree.profile import Loop, Profile, ProfileError
from ticktree.profile.merging import sums
from ticktree.profile.metadata import Value
from ticktree.profile.pausing import collector_paused
from ticktree.run.foreign.chrome.choosing import Chosen, chosen
from ticktree.run.foreign.chrome.counters import gauges_of
from ticktree.run.foreign.chrome.devices import Launches, device_rows
from ticktree.run.foreign.chrome.events import Column, Lane, calls_of
from ticktree.run.foreign.chrome.growing import Rows, grown
from ticktree.run.foreign.chrome.nesting import Nested, nested
from ticktree.run.foreign.chrome.origin import Origin
from ticktree.run.foreign.chrome.places import NOWHERE, Places, placed
from ticktree.run.foreign.chrome.ticks import loop_of, loop_places, ticks_around
from ticktree.run.foreign.chrome.writers import writers_of

_LOOK_AT = 100  # events, to tell a trace from another list


def is_trace(value: Any) -> bool:
    """Tell whether `value`, read from JSON, is a Chrome trace: a list of events, or an object that has one."""
    if isinstance(value, dict):
        return isinstance(value.get("traceEvents"), list)
    return isinstance(value, list) and any(isinstance(one, dict) and "ph" in one for one in value[:_LOOK_AT])


def profile_of(value: Any, run_id: str, categories: Collection[str] = ()) -> Profile:
    """Return the profile that a Chrome trace holds.

    Args:
        value: The file, as JSON has it.
        run_id: What the profile calls the run.
        categories: Those whose events to read; none for what the file's writer would want.

    Raises:
        ProfileError: It says what cannot be.
    """
    with collector_paused():
        about = value if isinstance(value, dict) else {}
        events = chosen(about.get("traceEvents", []) if about else value, categories)
        profile = _profile(events, Origin(about), run_id)
    profile.check()
    return profile


def _profile(events: Chosen, origin: Origin, run_id: str) -> Profile:
    calls = calls_of(events.calls)
    inside = nested(calls)
    overlaps = int(np.count_nonzero(inside.is_beside))
    places, lanes, tops = Places(), calls.lanes, _tops(origin, events)
    inside.stand_apart(np.isin(inside.source, np.fromiter(tops, np.int64, len(tops))))
    place = placed(inside, calls.names, tops, places, is_own=origin.is_own)
    too_deep = int(np.count_nonzero(place == NOWHERE))
    inside, place = inside.only(place != NOWHERE), place[place != NOWHERE]
    chief = _chief_lanes(inside, lanes)
    began_ns = origin.began_ns(inside.start_ns)
    wall_ns = origin.wall_ns(began_ns)
    host = _rows(inside, place, next(iter(chief.values()), 0), began_ns)
    launches = Launches(events.launches, inside, place, lanes, chief)
    work = device_rows(events.work, launches, places, began_ns, lanes)
    rows = host + work
    writers = writers_of(lanes, events.labels, rows, chief.values(), run_id)
    ids = [writer.id for writer in writers]
    paths = places.paths()
    waits = {place for place, path in enumerate(paths) if path in origin.waits}
    root = grown(places, rows, run_id, ids, waits)
    loops: dict[str, Loop] = {}
    ticks = loop_places(places, host, [place for place, path in enumerate(paths) if path in origin.loops])
    around = ticks_around(place, inside.above, inside.depth, ticks)
    for tick in ticks:
        loops[paths[tick]] = loop_of(tick, root.at(paths[tick]), host, around, paths, ids, wall_ns)
    found = {"calls_too_deep": too_deep, "places_of_overlapping_calls": overlaps}
    losses = {**calls.losses, **{what: count for what, count in found.items() if count}}
    return Profile(
        root=root,
        loops=loops,
        gauges=gauges_of(events.counters, None if wall_ns is None else wall_ns - began_ns),
        metadata={key: frozenset(values) for key, values in _facts(events, origin, run_id).items()},
        losses=sums(losses, origin.losses),
        writers={writer.id: writer for writer in writers},
    )


def _tops(origin: Origin, events: Chosen) -> dict[int, tuple[str, ...]]:
    try:
        return origin.tops(events.calls)
    except ValueError as error:
        raise ProfileError(f"a Chrome trace of ticktree's with a damaged event: {error}") from None


def _chief_lanes(calls: Nested, lanes: Sequence[Lane]) -> dict[Any, int]:
    """Return for each process the lane with the most time in calls, the one with the most of all first."""
    top = (calls.above < 0) & ~calls.is_beside
    total = np.zeros(len(lanes), np.int64)
    np.add.at(total, calls.lane[top], calls.duration_ns[top])
    chief: dict[Any, int] = {}
    for lane in np.argsort(-total, kind="stable").tolist():
        chief.setdefault(lanes[lane].pid, lane)
    return chief


def _rows(calls: Nested, place: Column, main: int, began_ns: int) -> Rows:
    """Return what the calls add to their nodes.

    What is called in a call takes of its own time. The calls at the top of the main lane are the run's length; other
    lanes, and what overlaps, ran beside.
    """
    duration = calls.duration_ns
    beside = calls.is_beside | (calls.above < 0) & (calls.lane != main)
    covering = np.flatnonzero((calls.above >= 0) & ~beside)
    own = duration.copy()
    np.subtract.at(own, calls.above[covering], duration[covering])
    return Rows(
        place=place,
        lane=calls.lane,
        start_ns=calls.start_ns - began_ns,
        duration_ns=duration,
        own_ns=own,
        concurrent_ns=np.where(beside, duration, 0),
        is_open=calls.is_open,
    )


def _facts(events: Chosen, origin: Origin, run_id: str) -> dict[str, set[Value]]:
    facts: dict[str, set[Value]] = {"name": {run_id}, "read_from": {"Chrome trace"}}
    for key, value in origin.facts():
        facts.setdefault(key, set()).add(value)
    if events.unread:
        facts["not_read"] = set(events.unread)
    return facts
