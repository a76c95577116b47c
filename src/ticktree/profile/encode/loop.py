"""Loops as the objects JSON knows."""

from __future__ import annotations

from typing import Any

from ticktree.profile import metadata as meta
from ticktree.profile.encode.stats import stats_object, summary_fields
from ticktree.profile.loop import Loop
from ticktree.profile.ticks import FirstTicks, WorstTick

Object = dict[str, Any]


def loop_object(loop: Loop) -> Object:
    """Return `loop`."""
    result: Object = {
        "name": loop.name,
        "path": loop.path,
        "ticks": loop.ticks,
        "incomplete": loop.incomplete,
        "hz": meta.one_or_list(map(float, loop.hz)),
        "budget_ns": loop.budget_ns,
        "achieved_hz": loop.achieved_hz,
        "missed": loop.missed if loop.hz or loop.missed else None,
        "longest_miss_run": loop.longest_miss_run if loop.hz or loop.missed else None,
        "warmup_ticks": loop.warmup_ticks,
        **summary_fields(loop.stats),
        "busy_ns": loop.busy_ns,
        "steady": stats_object(loop.stats),
        "worst": [_worst(tick) for tick in loop.worst],
    }
    if loop.lateness is not None:
        late = loop.lateness
        result["lateness"] = {
            "count": late.count,
            "sum_ns": late.sum_ns,
            "max_ns": late.max_ns,
            "mean_ns": late.mean_ns,
        }
    if loop.jitter is not None:
        jitter = loop.jitter
        result["jitter"] = {"count": jitter.count, "sum_ns": jitter.sum_ns, "mean_ns": jitter.mean_ns}
    if loop.first_ticks is not None:
        result["first_ticks"] = _first(loop.first_ticks)
    return result


def _first(first: FirstTicks) -> Object:
    return {
        "started_wall_ns": first.started_wall_ns,
        "writer": first.writer,
        "durations_ns": list(first.durations_ns),
    }


def _worst(tick: WorstTick) -> Object:
    return {
        "duration_ns": tick.duration_ns,
        "writer": tick.writer,
        "tick": tick.tick,
        "started_ns": tick.started_ns,
        "breakdown": dict(sorted(tick.breakdown.items())),
        "causes": dict(sorted(tick.causes.items())),
    }
