"""Tracks: the calls of a timeline's lanes, so that those on one track follow each other or nest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ticktree.profile.timeline import Column, Lane, Timeline


@dataclass(frozen=True, eq=False)
class Track:
    """Calls that nest.

    Attributes:
        lane: The lane of the calls.
        note: The difference to the lane's first track; "" for that track.
        calls: Indices of the timeline's calls, in order of start.
        order: The call that begins or ends at each of the 2n moments: k for the begin of `calls[k]`, n + k for its
            end.
    """

    lane: Lane
    note: str
    calls: Column
    order: Column

    @property
    def name(self) -> str:
        """The name of the track among those of its process."""
        return f"{self.lane.name}, {self.note}" if self.note else self.lane.name


def tracks_of(timeline: Timeline) -> Iterator[Track]:
    """Yield every track with calls, lane by lane.

    Durations that a program measured elsewhere may overlap anything, and so may sections that a suspended generator
    holds open: they get further tracks next to their lane's first one.
    """
    recorded = np.array([node.recorded for node in timeline.nodes], bool)
    for i, lane in enumerate(timeline.lanes):
        calls = timeline.of_lane(i)
        elsewhere = recorded[timeline.node[calls]] if len(calls) else np.empty(0, bool)
        yield from _nested(timeline, lane, "", calls[~elsewhere])
        yield from _nested(timeline, lane, "measured elsewhere", calls[elsewhere])


def _nested(timeline: Timeline, lane: Lane, note: str, calls: Column) -> Iterator[Track]:
    if not len(calls):
        return
    order = nesting_order(timeline.start_ns[calls], timeline.end_ns[calls])
    if order is not None:
        yield Track(lane, note, calls, order)
        return
    layers = _layers(timeline.start_ns[calls].tolist(), timeline.end_ns[calls].tolist())
    for layer in range(max(layers) + 1):
        layer_calls = calls[np.array(layers) == layer]
        order = nesting_order(timeline.start_ns[layer_calls], timeline.end_ns[layer_calls])
        assert order is not None, "a layer nests by construction"
        suffix = f"overlapping {layer}" if layer else ""
        yield Track(lane, ", ".join(filter(None, (note, suffix))), layer_calls, order)


def nesting_order(start: Column, end: Column) -> Column | None:
    """Return the order in which nested calls begin and end, as in `Track.order`; None if they do not nest.

    Args:
        start: The begin of each call; sorted.
        end: The end of each call.
    """
    count = len(start)
    indices = np.arange(count)
    # The last call that begins before this one has ended is nested in it, with all between.
    last = np.maximum(indices, np.searchsorted(start, end, "left") - 1)
    # Ends come after the begin of that call; of several ends there, the call that began last ends first.
    ends = np.lexsort((-indices, last))
    order = np.empty(2 * count, np.int64)
    begin_at = indices + np.searchsorted(last[ends], indices, "left")
    order[begin_at] = indices
    end_at = np.ones(2 * count, bool)
    end_at[begin_at] = False
    order[end_at] = ends + count
    times = np.concatenate((start, end))[order]
    return order if bool(np.all(np.diff(times) >= 0)) and _ends_match(order, count) else None


def _ends_match(order: Column, count: int) -> bool:
    """Return whether every end is that of the innermost open call."""
    is_begin = order < count
    depth = np.cumsum(np.where(is_begin, 1, -1)) + ~is_begin
    by_depth = np.argsort(depth, kind="stable")
    calls = (order % count)[by_depth]
    return bool(np.array_equal(calls[0::2], calls[1::2]))


def _layers(starts: list[int], ends: list[int]) -> list[int]:
    """Return for each call the first layer in which it nests, filled in order of start."""
    open_ends: list[list[int]] = []
    layers = []
    for start, end in zip(starts, ends, strict=True):
        layer = next((i for i, stack in enumerate(open_ends) if _fits(stack, start, end)), len(open_ends))
        if layer == len(open_ends):
            open_ends.append([])
        open_ends[layer].append(end)
        layers.append(layer)
    return layers


def _fits(open_ends: list[int], start: int, end: int) -> bool:
    """Return whether a call nests in those of a layer; drop from the layer the calls that ended before its start."""
    while open_ends and open_ends[-1] <= start:
        open_ends.pop()
    return not open_ends or end <= open_ends[-1]
