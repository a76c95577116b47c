"""Chrome traces: files of events, as torch.profiler, Ray, viztracer and ticktree itself write them, read as profiles.

What stands in which module, in the order in which a file goes through them:

    events      which of the file's events are read, and those as columns: which lane called what, from when to when
    placing     which call was made inside which, and which node of the tree each is of
    devices     what a GPU did, and which section launched it
    growing     nodes and loops out of calls: self times, histograms, windows, shares, ticks
    origin      what the file says of itself: when it began, what wrote it, what is missing, its threads and gauges

Here they come together: events to calls, calls to nodes, nodes to accounts; or the calls one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ticktree.importers.chrome.devices import Launches, device_rows
from ticktree.importers.chrome.events import Chosen, Column, Flags, TraceLane, calls_of, chosen, nanoseconds
from ticktree.importers.chrome.growing import Groups, Rows, grown, loop_of, loop_places, ticks_around
from ticktree.importers.chrome.origin import Origin, gauges_of, lanes_of, writers_of
from ticktree.importers.chrome.placing import NOWHERE, Nested, NumberedTree, nested, placed
from ticktree.profile import Loop, Profile, ProfileError
from ticktree.profile.codec import collector_paused
from ticktree.profile.metadata import Value
from ticktree.profile.table import sums_of
from ticktree.profile.timeline import BEFORE_THE_TIMELINE, CalledNode, Timeline, in_order

_LONGEST_NS = 1 << 60  # all calls together: thirty-six years, and sums of it stay within 64 bits
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
        profile = _trace(value, categories, run_id).profile()
    profile.check()
    return profile


def timeline_of(value: Any, categories: Collection[str] = ()) -> Timeline:
    """Return the calls that a Chrome trace holds, one by one; for the arguments see `profile_of`.

    Raises:
        ProfileError: It says what cannot be.
    """
    with collector_paused():
        return _trace(value, categories, "").timeline()


def _trace(value: Any, categories: Collection[str], run_id: str) -> _Trace:
    about = value if isinstance(value, dict) else {}
    return _Trace(chosen(about.get("traceEvents", []) if about else value, categories), Origin(about), run_id)


class _Trace:
    """A trace whose calls all have their places."""

    def __init__(self, events: Chosen, origin: Origin, run_id: str) -> None:
        self._events, self._origin, self._run_id = events, origin, run_id
        calls = calls_of(events.calls)
        inside = nested(calls)
        overlaps = int(np.count_nonzero(inside.is_concurrent))
        self._places, self._lanes, explicit_paths = (
            NumberedTree(),
            calls.lanes,
            _explicit_paths(origin, events),
        )
        place = placed(inside, calls.names, explicit_paths, self._places, is_own=origin.is_own)
        inside.stand_apart(_detached(inside, place, explicit_paths, self._places))
        is_somewhere = place != NOWHERE
        self._calls, self._place = inside.only(is_somewhere), place[is_somewhere]
        found = {"calls_too_deep": len(place) - len(self._place), "places_of_overlapping_calls": overlaps}
        self._losses = {**calls.losses, **{what: count for what, count in found.items() if count}}
        main_lanes = _main_lanes(self._calls, self._lanes)
        launched_ns, is_time = nanoseconds(event.get("ts") for event in events.work)
        self._began_ns = origin.began_ns(np.concatenate((self._calls.start_ns, launched_ns[is_time])))
        self._wall_ns = origin.wall_ns(self._began_ns)
        self._host = _rows(self._calls, self._place, next(iter(main_lanes.values()), 0), self._began_ns)
        launches = Launches(events.launches, self._calls, self._place, self._lanes, main_lanes)
        self._rows = self._host + device_rows(
            events.work, launches, self._places, self._began_ns, self._lanes
        )
        if self._rows.duration_ns.sum(dtype=np.float64) > _LONGEST_NS:
            raise ProfileError("a Chrome trace whose calls sum to more than can be measured")
        self._writers = writers_of(self._lanes, events.labels, self._rows, main_lanes.values(), run_id)
        self._paths = self._places.paths()
        marked = [place for place, path in enumerate(self._paths) if path in origin.loops]
        self._ticks = loop_places(self._places, self._host, marked)

    def profile(self) -> Profile:
        """Return the profile of its calls."""
        ids = [writer.id for writer in self._writers]
        waits = {place for place, path in enumerate(self._paths) if path in self._origin.waits}
        root = grown(self._places, self._rows, self._run_id, ids, waits)
        around = ticks_around(self._place, self._calls.above, self._calls.depth, self._ticks)
        called, inside = Groups(self._host.place), Groups(around)
        loops: dict[str, Loop] = {}
        for tick in self._ticks:
            path = self._paths[tick]
            loops[path] = loop_of(
                tick, root.at(path), self._host, called, inside, self._paths, ids, self._wall_ns
            )
        zero_ns = None if self._wall_ns is None else self._wall_ns - self._began_ns
        facts = _facts(self._events, self._origin, self._run_id)
        return Profile(
            root=root,
            loops=loops,
            gauges=gauges_of(self._events.counters, self._began_ns, zero_ns),
            metadata={key: frozenset(values) for key, values in facts.items()},
            losses=sums_of([self._losses, self._origin.losses]),
            writers={writer.id: writer for writer in self._writers},
        )

    def timeline(self) -> Timeline:
        """Return its calls one by one, but for those that had not ended."""
        rows = self._rows[~self._rows.is_open]
        spots = tuple(
            CalledNode(path, wait=path in self._origin.waits, tick=place in self._ticks)
            for place, path in enumerate(self._paths)
        )
        order = in_order(rows.start_ns, rows.place, spots)
        return Timeline(
            lanes=lanes_of(self._lanes, self._writers),
            spots=spots,
            start_ns=rows.start_ns[order],
            duration_ns=rows.duration_ns[order],
            spot=rows.place[order],
            lane=rows.lane[order],
            overwritten=self._origin.losses.get(BEFORE_THE_TIMELINE, 0),
            clocks=frozenset(str(value) for key, value in self._origin.facts() if key == "clock"),
            began_wall_ns=self._wall_ns,
        )


def _detached(calls: Nested, place: Column, explicit_paths: Collection[int], places: NumberedTree) -> Flags:
    """Return which calls the file says were made in another than the one they lie in."""
    is_explicit = np.isin(calls.source, np.fromiter(explicit_paths, np.int64, len(explicit_paths)))
    over = np.array(places.above, np.int64)[place]
    apart: Flags = is_explicit & (calls.above >= 0) & (over != place[calls.above])
    return apart


def _explicit_paths(origin: Origin, events: Chosen) -> dict[int, tuple[str, ...]]:
    try:
        return origin.explicit_paths(events.calls)
    except ValueError as error:
        raise ProfileError(f"a Chrome trace of ticktree's with a damaged event: {error}") from None


def _main_lanes(calls: Nested, lanes: Sequence[TraceLane]) -> dict[Any, int]:
    """Return for each process the lane with the most time in calls, the one with the most of all first."""
    top = (calls.above < 0) & ~calls.is_concurrent
    total = np.zeros(len(lanes), np.int64)
    np.add.at(total, calls.lane[top], calls.duration_ns[top])
    main_lanes: dict[Any, int] = {}
    for lane in np.argsort(-total, kind="stable").tolist():
        main_lanes.setdefault(lanes[lane].pid, lane)
    return main_lanes


def _rows(calls: Nested, place: Column, main: int, began_ns: int) -> Rows:
    """Return what the calls add to their nodes.

    What is called in a call takes of its self time. The calls at the top of the main lane are the run's length; other
    lanes, and what overlaps, are concurrent.
    """
    duration = calls.duration_ns
    concurrent = calls.is_concurrent | (calls.above < 0) & (calls.lane != main)
    covering = np.flatnonzero((calls.above >= 0) & ~concurrent)
    own = duration.copy()
    np.subtract.at(own, calls.above[covering], duration[covering])
    return Rows(
        place=place,
        lane=calls.lane,
        start_ns=calls.start_ns - began_ns,
        duration_ns=duration,
        self_ns=own,
        concurrent_ns=np.where(concurrent, duration, 0),
        is_open=calls.is_open,
    )


def _facts(events: Chosen, origin: Origin, run_id: str) -> dict[str, set[Value]]:
    facts: dict[str, set[Value]] = {"name": {run_id}, "read_from": {"Chrome trace"}}
    for key, value in origin.facts():
        facts.setdefault(key, set()).add(value)
    if events.unread:
        facts["not_read"] = set(events.unread)
    return facts
