"""The model as the objects JSON knows. Everything is in a fixed order, so equal profiles give equal text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ticktree.profile import metadata as meta
from ticktree.profile import path as paths
from ticktree.profile.gauge import Gauge
from ticktree.profile.loop import Loop
from ticktree.profile.measures import CallSite, Work
from ticktree.profile.node import Node
from ticktree.profile.profile import Profile
from ticktree.profile.stats import Stats
from ticktree.profile.ticks import FirstTicks, WorstTick
from ticktree.profile.windows import Windows

Object = dict[str, Any]


def dict_of(profile: Profile) -> Object:
    """Return `profile` as JSON objects, without its schema."""
    return {
        "metadata": {key: _one_or_list(profile.metadata[key]) for key in sorted(profile.metadata)},
        "losses": _sorted(profile.losses),
        "loops": [_loop(profile.loops[path]) for path in sorted(profile.loops)],
        "gauges": {name: _gauge(profile.gauges[name]) for name in sorted(profile.gauges)},
        "tree": _tree(profile.root),
    }


def _tree(root: Node) -> Object:
    result = _node(root, paths.ROOT)
    waiting = [(root, result)]
    for node, written in waiting:  # breadth first, and not by recursion: trees are deep
        for name in sorted(node.children):
            below = _node(node.children[name], paths.child(written["path"], name))
            written["children"].append(below)
            waiting.append((node.children[name], below))
    return result


def _node(node: Node, path: str) -> Object:
    result: Object = {
        "name": node.name,
        "path": path,
        "total_ns": node.total_ns,
        "unaccounted_ns": node.own_ns,
        "concurrent_ns": node.concurrent_ns,
        "recorder_ns": node.recorder_ns,
        **_stats(node.stats),
        "parallel": node.parallel,
        "wait": node.wait,
        "call_site": _call_site(node.call_site) if node.call_site else None,
    }
    if node.warmup is not None:
        result["steady"] = _stats(node.steady)
        result["warmup"] = _stats(node.warmup)
    if node.windows != Windows():
        result["windows"] = _windows(node.windows)
    if node.call_sites:
        sites = sorted(node.call_sites.items())
        result["call_sites"] = [{**_call_site(site), "count": count} for site, count in sites]
    if node.per_run:
        result["per_run"] = {run: list(node.per_run[run]) for run in sorted(node.per_run)}
    result.update(_measures(node))
    result["children"] = []
    return result


def _measures(node: Node) -> Object:
    result: Object = {}
    if node.work is not None:
        result["work"] = _work(node.work)
    if node.cpu is not None:
        cpu = node.cpu
        result["cpu"] = {"samples": cpu.samples, "cpu_ns": cpu.cpu_ns, "wall_ns": cpu.wall_ns}
    if node.memory is not None:
        memory = node.memory
        result["memory"] = {
            "samples": memory.samples,
            "change_bytes": memory.change_bytes,
            "peak_bytes": memory.peak_bytes,
        }
    if node.device is not None:
        result["device"] = node.device
    if node.open is not None:
        result["open"] = {"count": node.open.count, "age_ns": node.open.age_ns}
    return result


def _work(work: Work) -> Object:
    amounts = {"bytes": work.bytes, "flops": work.flops, "items": work.items}
    return {kind: amount for kind, amount in amounts.items() if amount}


def _call_site(site: CallSite) -> Object:
    return {"file": site.file, "line": site.line, "function": site.function}


def _stats(stats: Stats) -> Object:
    return {
        "count": stats.count,
        "sum_ns": stats.sum_ns,
        **_summary(stats),
        "histogram": _pairs(stats.histogram.buckets),
    }


def _summary(stats: Stats) -> Object:
    return {
        "min_ns": stats.min_ns,
        "max_ns": stats.max_ns,
        "mean_ns": stats.mean_ns,
        "p50_ns": stats.p50_ns,
        "p90_ns": stats.p90_ns,
        "p99_ns": stats.p99_ns,
    }


def _windows(windows: Windows) -> Object:
    return {
        "width_ns": windows.width_ns,
        "counts": _pairs(windows.counts),
        "totals_ns": _pairs(windows.totals),
    }


def _loop(loop: Loop) -> Object:
    result: Object = {
        "name": loop.name,
        "path": loop.path,
        "ticks": loop.ticks,
        "incomplete": loop.incomplete,
        "hz": _one_or_list(map(float, loop.hz)),
        "budget_ns": loop.budget_ns,
        "achieved_hz": loop.achieved_hz,
        "missed": loop.missed if loop.hz or loop.missed else None,
        "longest_miss_run": loop.longest_miss_run if loop.hz or loop.missed else None,
        "warmup_ticks": loop.warmup_ticks,
        **_summary(loop.stats),
        "busy_ns": loop.busy_ns,
        "steady": _stats(loop.stats),
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
        "breakdown": _sorted(tick.breakdown),
        "causes": _sorted(tick.causes),
    }


def _gauge(gauge: Gauge) -> Object:
    return {
        "last": float(gauge.last),
        "last_wall_ns": gauge.last_wall_ns,
        "writer": gauge.writer,
        "count": gauge.count,
        "min": float(gauge.min),
        "max": float(gauge.max),
        "p50": gauge.p50,
        "p99": gauge.p99,
        "zeros": gauge.zeros,
        "positive": _pairs(gauge.positive.buckets),
        "negative": _pairs(gauge.negative.buckets),
    }


def _pairs(table: Mapping[int, int]) -> list[tuple[int, int]]:
    return sorted(table.items())


def _sorted(table: Mapping[str, int]) -> dict[str, int]:
    return {key: table[key] for key in sorted(table)}


def _one_or_list(values: Iterable[meta.Value]) -> meta.Value | list[meta.Value] | None:
    """Return the only value as itself, several as a list, none as None."""
    every = meta.ordered(values)
    return every if len(every) > 1 else next(iter(every), None)
