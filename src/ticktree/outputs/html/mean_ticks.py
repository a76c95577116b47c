"""The mean ticks that the page draws as boxes: how long each section is on the loop's path, in columns of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ticktree.analysis.loops import LoopView
from ticktree.analysis.survey import Survey
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.view import currency
from ticktree.outputs.view.sections import self_times


def mean_ticks(seen: Survey, place_of: Mapping[int, int], options: ViewOptions) -> list[dict[str, Any]]:
    """Return the mean tick of each loop in the model's order; of a run without loops the run.

    Args:
        seen: the profile.
        place_of: the place of each node in the JSON's tree, by its id.
        options: how much the table by name shows.
    """
    return [_mean_tick(view, place_of, options) for view in seen.loops]


def _mean_tick(view: LoopView, place_of: Mapping[int, int], options: ViewOptions) -> dict[str, Any]:
    by_name = self_times(view, options)
    what = f"A {currency.noun(view)} of {currency.called(view)}" if view.loop else currency.called(view)
    return {
        "path": view.path,
        "name": currency.called(view),
        "title": what,
        "tick_ns": round(view.tick_ns),
        "places": [place_of[id(section.node)] for section in view.sections],
        # The loop itself takes the whole tick, also what ticktree cost in it.
        "total_ns": [
            round(section.total_ns if at else view.tick_ns) for at, section in enumerate(view.sections)
        ],
        "self_ns": [round(section.self_ns) for section in view.sections],
        "by_name": None if by_name is None else by_name.to_dict(),
    }
