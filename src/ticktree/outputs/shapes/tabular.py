"""Tables of a profile: a row a node, loop, gauge, loss or fact, for what reads rows. What is not known is None."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ticktree.outputs.options import TableName
from ticktree.profile import Gauge, Loop, Memory, Node, Profile, Stats, Writer
from ticktree.profile import path as paths
from ticktree.profile.metadata import ordered

Kind: TypeAlias = Literal["text", "integer", "real", "flag"]
Cell: TypeAlias = str | int | float | bool | None
Row: TypeAlias = Mapping[str, Cell]


@dataclass(frozen=True, slots=True)
class Tabular:
    """A table.

    Attributes:
        columns: what stands in each, by name: the same for every profile, whatever it has.
        rows: each with a value of every column.
    """

    columns: Mapping[str, Kind]
    rows: tuple[Row, ...]


def tabular(profile: Profile, name: TableName) -> Tabular:
    """Return the table called `name`."""
    columns, rows = _TABLES[name]
    return Tabular(columns, tuple(rows(profile)))


_STATS = ("mean_ns", "min_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns")
_MEMORY = ("samples", "change_bytes", "peak_bytes", "growth_bytes")

_NODES: dict[str, Kind] = {
    **dict.fromkeys(("path", "name", "clock", "parent"), "text"),
    **dict.fromkeys(("depth", "count", "total_ns", "self_ns", "concurrent_ns", "recorder_ns"), "integer"),
    **dict.fromkeys(_STATS, "integer"),
    **{f"steady_{key}": "integer" for key in ("count", "sum_ns", *_STATS)},
    **{f"warmup_{key}": "integer" for key in ("count", "sum_ns", *_STATS)},
    **dict.fromkeys(("parallel", "wait"), "flag"),
    "call_site_file": "text",
    "call_site_line": "integer",
    "call_site_function": "text",
    **{f"work_{key}": "integer" for key in ("bytes", "flops", "items")},
    **{f"cpu_{key}": "integer" for key in ("samples", "cpu_ns", "wall_ns")},
    **{f"memory_{key}": "integer" for key in _MEMORY},
    **{f"device_memory_{key}": "integer" for key in _MEMORY},
    "device": "text",
    **dict.fromkeys(("open_count", "open_age_ns"), "integer"),
}

_LOOPS: dict[str, Kind] = {
    "path": "text",
    **dict.fromkeys(("ticks", "warmup_ticks", "incomplete"), "integer"),
    "hz": "real",
    "budget_ns": "integer",
    "achieved_hz": "real",
    **dict.fromkeys(("missed", "longest_miss_run", "busy_ns", "waited_ns", *_STATS), "integer"),
    **{f"lateness_{key}": "integer" for key in ("count", "mean_ns", "max_ns")},
    **{f"jitter_{key}": "integer" for key in ("count", "mean_ns")},
}

_GAUGES: dict[str, Kind] = {
    "name": "text",
    **dict.fromkeys(("last", "min", "p50", "p99", "max"), "real"),
    **dict.fromkeys(("count", "zeros", "last_wall_ns"), "integer"),
}

_PROCESSES: dict[str, Kind] = {
    **dict.fromkeys(("process", "name", "role", "run", "host", "parent"), "text"),
    **dict.fromkeys(("threads", "members", "started_ns", "last_ns"), "integer"),
}

_THREADS: dict[str, Kind] = {
    **dict.fromkeys(("thread", "process", "name", "role", "parent"), "text"),
    "is_main": "flag",
}

_SHARES: dict[str, Kind] = {
    **dict.fromkeys(("path", "thread", "process"), "text"),
    **dict.fromkeys(("count", "total_ns", "self_ns"), "integer"),
}


def _nodes(profile: Profile) -> Iterator[Row]:
    for path, depth, node in profile.root.walk():
        yield {
            "path": path,
            "name": node.name,
            "clock": node.clock,
            "parent": paths.join(paths.split(path)[:-1]) if depth else None,
            "depth": depth,
            **_fields(node, "", ("count", "total_ns", "self_ns", "concurrent_ns", "recorder_ns")),
            **_fields(node.stats, "", _STATS),
            **_phase(node.steady, "steady_"),
            **_phase(node.warmup, "warmup_"),
            **_fields(node, "", ("parallel", "wait")),
            "device": None if node.device is None else f"unsupported: {node.device}",
            **_measures(node),
        }


def _measures(node: Node) -> dict[str, Cell]:
    work = _fields(node.work, "work_", ("bytes", "flops", "items"))
    return {
        **_fields(node.call_site, "call_site_", ("file", "line", "function")),
        **{key: amount or None for key, amount in work.items()},  # 0 is what was never said
        **_fields(node.cpu, "cpu_", ("samples", "cpu_ns", "wall_ns")),
        **_sizes(node.memory, "memory_"),
        **_sizes(node.device_memory, "device_memory_"),
        **_fields(node.open, "open_", ("count", "age_ns")),
    }


def _phase(stats: Stats | None, prefix: str) -> dict[str, Cell]:
    return _fields(stats, prefix, ("count", "sum_ns", *_STATS))


def _sizes(memory: Memory | None, prefix: str) -> dict[str, Cell]:
    return _fields(memory, prefix, _MEMORY)


def _fields(part: object, prefix: str, names: tuple[str, ...]) -> dict[str, Cell]:
    """Return attributes of `part` as cells; without it, none of them is known."""
    return {f"{prefix}{name}": None if part is None else getattr(part, name) for name in names}


def _loops(profile: Profile) -> Iterator[Row]:
    for path in sorted(profile.loops):
        loop = profile.loops[path]
        yield {
            **_fields(loop, "", ("path", "ticks", "warmup_ticks", "incomplete", "budget_ns", "achieved_hz")),
            "hz": next(iter(loop.hz)) if len(loop.hz) == 1 else None,
            **_fields(loop, "", ("busy_ns", "waited_ns")),
            **_fields(_with_rate(loop), "", ("missed", "longest_miss_run")),
            **_fields(loop.stats, "", _STATS),
            **_fields(loop.lateness, "lateness_", ("count", "mean_ns", "max_ns")),
            **_fields(loop.jitter, "jitter_", ("count", "mean_ns")),
        }


def _with_rate(loop: Loop) -> Loop | None:
    # Without a rate there is nothing to miss: that is no 0.
    return loop if loop.hz or loop.missed else None


def _gauges(profile: Profile) -> Iterator[Row]:
    for name in sorted(profile.gauges):
        gauge: Gauge = profile.gauges[name]
        yield _fields(gauge, "", tuple(_GAUGES))


def _processes(profile: Profile) -> Iterator[Row]:
    found: dict[tuple[str, str], list[Writer]] = {}
    for key in sorted(profile.writers):
        writer = profile.writers[key]
        found.setdefault((writer.run, writer.process), []).append(writer)
    for (run, process), threads in found.items():
        chief = min(threads, key=lambda writer: (not writer.is_main, writer.id))
        yield {
            "process": process,
            "name": chief.process_name or None,
            "role": chief.role or None,
            "run": run,
            "host": chief.host or None,
            "parent": chief.parent,
            "threads": len(threads),
            **_fields(chief, "", ("members", "started_ns", "last_ns")),
        }


def _threads(profile: Profile) -> Iterator[Row]:
    for key in sorted(profile.writers):
        writer = profile.writers[key]
        yield {
            "thread": key,
            "process": writer.process,
            "name": writer.thread_name or None,
            "role": writer.role or None,
            **_fields(writer, "", ("parent", "is_main")),
        }


def _shares(profile: Profile) -> Iterator[Row]:
    for path, _, node in profile.root.walk():
        for key in sorted(node.by_writer):
            share = node.by_writer[key]
            of = {"path": path, "thread": key, "process": profile.writers[key].process}
            yield {**of, **_fields(share, "", ("count", "total_ns", "self_ns"))}


def _losses(profile: Profile) -> Iterator[Row]:
    for what in sorted(profile.losses):
        yield {"what": what, "count": profile.losses[what]}


def _facts(profile: Profile) -> Iterator[Row]:
    for key in sorted(profile.metadata):
        yield from ({"key": key, "value": str(value)} for value in ordered(profile.metadata[key]))


_TABLES: dict[TableName, tuple[Mapping[str, Kind], Callable[[Profile], Iterator[Any]]]] = {
    "nodes": (_NODES, _nodes),
    "loops": (_LOOPS, _loops),
    "gauges": (_GAUGES, _gauges),
    "processes": (_PROCESSES, _processes),
    "threads": (_THREADS, _threads),
    "shares": (_SHARES, _shares),
    "losses": ({"what": "text", "count": "integer"}, _losses),
    "metadata": ({"key": "text", "value": "text"}, _facts),
}
