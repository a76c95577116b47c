"""Loops as the objects JSON knows."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ticktree.profile import metadata as meta
from ticktree.profile.causes import Causes
from ticktree.profile.encode.stats import pairs, stats_object, summary_fields
from ticktree.profile.lateness import Jitter, Lateness
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
        result["lateness"] = _lateness(loop.lateness)
    if loop.jitter is not None:
        result["jitter"] = _jitter(loop.jitter)
    if loop.first_ticks is not None:
        result["first_ticks"] = _first(loop.first_ticks)
    if loop.waited_ns is not None:
        result["waited_ns"] = loop.waited_ns
    if loop.causes is not None:
        result["causes"] = _causes(loop.causes)
    if loop.missed_causes is not None:
        result["missed_causes"] = _causes(loop.missed_causes)
    if loop.missed_ns is not None:
        result["missed_ns"] = loop.missed_ns
        result["missed_breakdown"] = dict(sorted(loop.missed_breakdown.items()))
    return result


def _lateness(late: Lateness) -> Object:
    told = {"count": late.count, "sum_ns": late.sum_ns, "max_ns": late.max_ns, "mean_ns": late.mean_ns}
    return {**told, **_histogram(late)}


def _jitter(jitter: Jitter) -> Object:
    told = {"count": jitter.count, "sum_ns": jitter.sum_ns, "mean_ns": jitter.mean_ns}
    return {**told, **_histogram(jitter)}


def _histogram(known: Lateness | Jitter) -> Object:
    """Return the histogram and percentiles; nothing where single ticks are not known."""
    if not known.histogram.count:
        return {}
    quantiles = {"p50_ns": known.quantile_ns(0.5), "p99_ns": known.quantile_ns(0.99)}
    return {**quantiles, "histogram": pairs(known.histogram.buckets)}


def _causes(causes: Causes) -> Object:
    return asdict(causes)


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
