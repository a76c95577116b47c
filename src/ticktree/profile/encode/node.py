"""The tree as the objects JSON knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ticktree.profile import path as paths
from ticktree.profile.clock import HOST
from ticktree.profile.encode.stats import stats_object, windows_object
from ticktree.profile.encode.writer import shares_rows, wakers_list
from ticktree.profile.measures import CallSite, Memory, Work
from ticktree.profile.node import Node
from ticktree.profile.rates import rates
from ticktree.profile.windows import Windows

Object = dict[str, Any]


def tree_object(root: Node, places: Mapping[str, int]) -> Object:
    """Return the tree below `root`; `places` are what it names writers by."""
    result = _node(root, paths.ROOT, places)
    waiting = [(root, result)]
    for node, written in waiting:  # breadth first, and not by recursion: trees are deep
        for key in sorted(node.children):
            below = _node(node.children[key], paths.child(written["path"], key), places)
            written["children"].append(below)
            waiting.append((node.children[key], below))
    return result


def _node(node: Node, path: str, places: Mapping[str, int]) -> Object:
    result: Object = {
        "name": node.name,
        "path": path,
        **({} if node.clock == HOST else {"clock": node.clock}),
        "total_ns": node.total_ns,
        "self_ns": node.self_ns,
        "concurrent_ns": node.concurrent_ns,
        "recorder_ns": node.recorder_ns,
        **stats_object(node.stats),
        "parallel": node.parallel,
        "wait": node.wait,
        "call_site": _call_site(node.call_site) if node.call_site else None,
    }
    if node.warmup is not None:
        result["steady"] = stats_object(node.steady)
        result["warmup"] = stats_object(node.warmup)
    if node.windows != Windows():
        result["windows"] = windows_object(node.windows)
    if node.raised:
        result["raised"] = node.raised
    if node.call_sites:
        sites = sorted(node.call_sites.items())
        result["call_sites"] = [{**_call_site(site), "count": count} for site, count in sites]
    if node.per_run:
        result["per_run"] = {run: list(node.per_run[run]) for run in sorted(node.per_run)}
    if node.by_writer:
        result["by_writer"] = shares_rows(node.by_writer, places)
    if node.wakers:
        result["woken_by"] = wakers_list(node.wakers, places)
    result.update(_measures(node))
    result["children"] = []
    return result


def _measures(node: Node) -> Object:
    result: Object = {}
    if node.work is not None:
        result["work"] = _work(node.work, node.total_ns)
    if node.cpu is not None:
        cpu = node.cpu
        result["cpu"] = {"samples": cpu.samples, "cpu_ns": cpu.cpu_ns, "wall_ns": cpu.wall_ns}
    if node.memory is not None:
        result["memory"] = _memory(node.memory)
    if node.device_memory is not None:
        result["device_memory"] = _memory(node.device_memory)
    if node.device is not None or node.on_devices:
        result["device"] = _device(node)
    if node.open is not None:
        result["open"] = {"count": node.open.count, "age_ns": node.open.age_ns}
    return result


def _work(work: Work, total_ns: int) -> Object:
    amounts = {"bytes": work.bytes, "flops": work.flops, "items": work.items}
    result: Object = {kind: amount for kind, amount in amounts.items() if amount}
    result.update((name, rate) for name, rate in asdict(rates(work, total_ns)).items() if rate is not None)
    return result


def _device(node: Node) -> Object:
    """Return what is known of device time, beside the host's own: why there is none, or what its children hold."""
    result: Object = {} if node.device is None else {"unsupported": node.device}
    if node.on_devices:
        result["count"] = sum(child.count for child in node.on_devices)
        result["total_ns"] = sum(child.total_ns for child in node.on_devices)
    return result


def _memory(memory: Memory) -> Object:
    result: Object = {
        "samples": memory.samples,
        "change_bytes": memory.change_bytes,
        "peak_bytes": memory.peak_bytes,
        "exact": memory.is_exact,
    }
    if memory.growth_bytes is not None:
        result["growth_bytes"] = memory.growth_bytes
    if memory.devices:
        result["devices"] = sorted(memory.devices)
    return result


def _call_site(site: CallSite) -> Object:
    return {"file": site.file, "line": site.line, "function": site.function}
