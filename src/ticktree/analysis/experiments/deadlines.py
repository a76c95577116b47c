"""The number of ticks that a loop with a target rate would miss if a section were faster, from recorded ticks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ticktree.analysis.loops import outermost
from ticktree.profile import path as paths
from ticktree.profile.timeline import Column, Timeline

Times: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PredictedMisses:
    """The number of missed ticks if a section is faster.

    Attributes:
        path: path of the section.
        speedup_percent: how much faster the section is.
        ticks: number of recorded ticks.
        missed: how many of them were busy past the budget.
        predicted_missed: how many would be with the faster section.
    """

    path: str
    speedup_percent: int
    ticks: int
    missed: int
    predicted_missed: int


def predicted_misses(
    timeline: Timeline,
    loop: str,
    budget_ns: int,
    sections: Sequence[str],
    speedups: Sequence[int],
    warmup_ticks: int = 0,
) -> list[PredictedMisses]:
    """Return, for each section and speed-up, how many of a loop's ticks would be busy past the budget.

    A tick's busy time is its duration less the waits in it. A section's time is that of its calls on the loop's
    thread, less the waits in them. Other threads, and what the loop waits for, are assumed unchanged.

    Args:
        timeline: the recorded calls.
        loop: path of the loop.
        budget_ns: time that a tick may take.
        sections: their paths.
        speedups: in percent.
        warmup_ticks: number of first ticks of each thread to leave out.
    """
    busy, spent = _busy_ns(timeline, loop, sections, warmup_ticks)
    missed = int(np.count_nonzero(busy > budget_ns))
    return [
        PredictedMisses(
            path=path,
            speedup_percent=percent,
            ticks=len(busy),
            missed=missed,
            predicted_missed=int(np.count_nonzero(busy - spent[index] * (percent / 100) > budget_ns)),
        )
        for index, path in enumerate(sections)
        for percent in speedups
    ]


def _busy_ns(
    timeline: Timeline, loop: str, sections: Sequence[str], warmup_ticks: int
) -> tuple[Times, list[Times]]:
    """Return the busy time of each tick of a loop, and for each section its time in each tick."""
    waits = outermost(
        {node.path for node in timeline.nodes if node.wait and paths.is_descendant(node.path, loop)}
    )
    is_tick = np.array([node.tick and node.path == loop for node in timeline.nodes], bool)
    busy: list[Times] = [np.empty(0)]
    spent: list[list[Times]] = [[np.empty(0)] for _ in sections]
    for lane in range(len(timeline.lanes)):
        calls = timeline.of_lane(lane)
        ticks = calls[is_tick[timeline.node[calls]]][warmup_ticks:]
        if not len(ticks):
            continue
        busy.append(timeline.duration_ns[ticks] - _time_in_ticks(timeline, calls, ticks, waits))
        for index, path in enumerate(sections):
            inside = {wait for wait in waits if wait == path or paths.is_descendant(wait, path)}
            section_ns = _time_in_ticks(timeline, calls, ticks, {path})
            spent[index].append(section_ns - _time_in_ticks(timeline, calls, ticks, inside))
    return np.concatenate(busy), [np.concatenate(parts) for parts in spent]


def _time_in_ticks(timeline: Timeline, calls: Column, ticks: Column, node_paths: Collection[str]) -> Times:
    """Return the time of the calls of some nodes in each tick of a lane."""
    is_chosen = np.array([node.path in node_paths and not node.recorded for node in timeline.nodes], bool)
    selected = calls[is_chosen[timeline.node[calls]]]
    index = np.searchsorted(timeline.start_ns[ticks], timeline.start_ns[selected], side="right") - 1
    is_inside = (index >= 0) & (timeline.end_ns[selected] <= timeline.end_ns[ticks][index])
    durations = timeline.duration_ns[selected][is_inside].astype(np.float64)
    return np.bincount(index[is_inside], durations, minlength=len(ticks)).astype(np.float64)
