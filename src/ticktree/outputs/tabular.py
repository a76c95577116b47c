"""Tables of a profile: one row per node, loop, gauge, loss or fact, as CSV, as Parquet, and together as a dataset.

An unknown value is None: an empty cell, or null. A dataset also has single calls, partitioned by process:

    nodes.parquet, loops.parquet, ...               the tables of `--to csv` and `--to parquet`
    calls/process=PID-STARTED/part-0.parquet        the calls of one process, where the run has a timeline

One process is read or written at a time, whatever their number.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from types import ModuleType
from typing import Any, Literal, TypeAlias, get_args
from urllib.parse import quote

import numpy as np

from ticktree.outputs.options import TableName, ViewOptions
from ticktree.outputs.registry import wanted
from ticktree.outputs.writing.visible import encodable, literal, visible
from ticktree.profile import Node, Profile
from ticktree.profile import path as paths
from ticktree.profile.metadata import ordered
from ticktree.profile.timeline import Column, Lane, Timeline
from ticktree.profile.writer import by_process

Kind: TypeAlias = Literal["text", "integer", "real", "flag"]
Cell: TypeAlias = str | int | float | bool | None
Row: TypeAlias = Mapping[str, Cell]


@dataclass(frozen=True, slots=True)
class Tabular:
    """A table."""

    columns: Mapping[str, Kind]
    rows: tuple[Row, ...]


def tabular(profile: Profile, name: TableName) -> Tabular:
    """Return the table called `name`."""
    columns, rows = _TABLES[name]
    return Tabular(columns, tuple(rows(profile)))


_STATS = ("mean_ns", "min_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns")
_PHASE = ("count", "sum_ns", *_STATS)
_MEMORY = ("samples", "change_bytes", "peak_bytes", "growth_bytes")

_NODES: dict[str, Kind] = {
    **dict.fromkeys(("path", "name", "clock", "parent"), "text"),
    **dict.fromkeys(("depth", "count", "total_ns", "self_ns", "concurrent_ns", "recorder_ns"), "integer"),
    **dict.fromkeys(_STATS, "integer"),
    **{f"{phase}_{key}": "integer" for phase in ("steady", "warmup") for key in _PHASE},
    **dict.fromkeys(("parallel", "wait"), "flag"),
    "call_site_file": "text",
    "call_site_line": "integer",
    "call_site_function": "text",
    **{f"work_{key}": "integer" for key in ("bytes", "flops", "items")},
    **{f"cpu_{key}": "integer" for key in ("samples", "cpu_ns", "wall_ns")},
    **{f"{where}_{key}": "integer" for where in ("memory", "device_memory") for key in _MEMORY},
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
            **_fields(node.steady, "steady_", _PHASE),
            **_fields(node.warmup, "warmup_", _PHASE),
            **_fields(node, "", ("parallel", "wait")),
            "device": None if node.device is None else f"unsupported: {node.device}",
            **_measures(node),
        }


def _measures(node: Node) -> dict[str, Cell]:
    work = _fields(node.work, "work_", ("bytes", "flops", "items"))
    return {
        **_fields(node.call_site, "call_site_", ("file", "line", "function")),
        **{key: amount or None for key, amount in work.items()},  # 0 is the default, and means unknown
        **_fields(node.cpu, "cpu_", ("samples", "cpu_ns", "wall_ns")),
        **_fields(node.memory, "memory_", _MEMORY),
        **_fields(node.device_memory, "device_memory_", _MEMORY),
        **_fields(node.open, "open_", ("count", "age_ns")),
    }


def _fields(part: object, prefix: str, names: tuple[str, ...]) -> dict[str, Cell]:
    """Return attributes of `part` as cells; without `part`, unknown ones."""
    return {f"{prefix}{name}": None if part is None else getattr(part, name) for name in names}


def _loops(profile: Profile) -> Iterator[Row]:
    for path in sorted(profile.loops):
        loop = profile.loops[path]
        yield {
            **_fields(loop, "", ("path", "ticks", "warmup_ticks", "incomplete", "budget_ns", "achieved_hz")),
            "hz": next(iter(loop.hz)) if len(loop.hz) == 1 else None,
            **_fields(loop, "", ("busy_ns", "waited_ns")),
            # Without a target rate, missed ticks are unknown, not 0.
            **_fields(loop if loop.hz or loop.missed else None, "", ("missed", "longest_miss_run")),
            **_fields(loop.stats, "", _STATS),
            **_fields(loop.lateness, "lateness_", ("count", "mean_ns", "max_ns")),
            **_fields(loop.jitter, "jitter_", ("count", "mean_ns")),
        }


def _gauges(profile: Profile) -> Iterator[Row]:
    yield from (_fields(profile.gauges[name], "", tuple(_GAUGES)) for name in sorted(profile.gauges))


def _processes(profile: Profile) -> Iterator[Row]:
    for main, threads in by_process(profile.writers[key] for key in sorted(profile.writers)):
        names = {"process": main.process, "name": main.process_name or None, "role": main.role or None}
        where = {"run": main.run, "host": main.host or None, "parent": main.parent, "threads": len(threads)}
        yield {**names, **where, **_fields(main, "", ("members", "started_ns", "last_ns"))}


def _threads(profile: Profile) -> Iterator[Row]:
    for key in sorted(profile.writers):
        writer = profile.writers[key]
        names = {"thread": key, "process": writer.process, "name": writer.thread_name or None}
        yield {**names, "role": writer.role or None, **_fields(writer, "", ("parent", "is_main"))}


def _shares(profile: Profile) -> Iterator[Row]:
    for path, _, node in profile.root.walk():
        for key in sorted(node.by_writer):
            share = node.by_writer[key]
            of = {"path": path, "thread": key, "process": profile.writers[key].process}
            yield {**of, **_fields(share, "", ("count", "total_ns", "self_ns"))}


def _losses(profile: Profile) -> Iterator[Row]:
    for what, count in sorted(profile.losses.items()):
        yield {"what": what, "count": count}


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


# Backslashes in these are doubled already, so paths stay unique when invisible characters are escaped; the root's
# path stays empty.
_PATHS = frozenset({"path", "parent"})


def render_csv(profile: Profile, options: ViewOptions) -> bytes:
    """Return the table as UTF-8 with the columns' names first, and an empty cell for an unknown value."""
    table = tabular(profile, options.table)
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    for row in table.rows:
        writer.writerow(shown(column, row[column]) for column in table.columns)
    return text.getvalue().encode()


def shown(column: str, cell: Cell) -> Cell:
    """Return a cell for a file, with invisible characters of a text escaped."""
    # One line per row: many programs that read CSV split it at line ends before they look at quotes.
    if not isinstance(cell, str):
        return cell
    return visible(cell) if column in _PATHS else literal(cell)


def render_parquet(profile: Profile, options: ViewOptions) -> bytes:
    """Return the table as a Parquet file, with null for an unknown value.

    Raises:
        TicktreeError: pyarrow is not installed.
    """
    pyarrow, _ = libraries()
    table = tabular(profile, options.table)
    arrays = {
        name: _array(pyarrow, kind, [row[name] for row in table.rows]) for name, kind in table.columns.items()
    }
    facts = {
        key: [str(value) for value in ordered(values)] for key, values in sorted(profile.metadata.items())
    }
    losses = dict(sorted(profile.losses.items()))
    notes = {"ticktree.not_recorded": json.dumps(losses), "ticktree.metadata": json.dumps(facts)}
    return _file_of(pyarrow.table(arrays).replace_schema_metadata(notes))


def libraries() -> tuple[ModuleType, ModuleType]:
    """Return pyarrow and pyarrow.parquet.

    Raises:
        TicktreeError: pyarrow is not installed.
    """
    return tuple(wanted(name, by="parquet", extra="parquet") for name in ("pyarrow", "pyarrow.parquet"))  # type: ignore[return-value]


def _file_of(table: Any, **options: Any) -> bytes:
    pyarrow, parquet = libraries()
    written = pyarrow.BufferOutputStream()
    parquet.write_table(table, written, compression="zstd", **options)
    content: bytes = written.getvalue().to_pybytes()
    return content


def _array(pyarrow: Any, kind: Kind, cells: list[Cell]) -> Any:
    types = {
        "text": pyarrow.string(),
        "integer": pyarrow.int64(),
        "real": pyarrow.float64(),
        "flag": pyarrow.bool_(),
    }
    if kind == "text":
        cells = [encodable(cell) if isinstance(cell, str) else cell for cell in cells]
    is_long = any(isinstance(cell, int) and not -(1 << 63) <= cell < 1 << 63 for cell in cells)
    # Sums of large counts, such as floating-point operations, may exceed 64 bits.
    is_decimal = kind == "integer" and is_long
    return pyarrow.array(cells, type=pyarrow.decimal128(38) if is_decimal else types[kind])


TABLES: tuple[TableName, ...] = get_args(TableName)
CALLS = "calls"
# The columns of calls and their types; `process` is in the directory's name.
CALL_COLUMNS = {
    **dict.fromkeys(("start_ns", "duration_ns"), "BIGINT"),
    **dict.fromkeys(("path", "name", "clock"), "VARCHAR"),
    **dict.fromkeys(("wait", "tick", "recorded"), "BOOLEAN"),
    "thread_id": "BIGINT",
    "thread_name": "VARCHAR",
    "task": "BIGINT",
}
_ROWS_A_GROUP = 1 << 18


def files(profile: Profile, parts: Iterable[Timeline]) -> Iterator[tuple[str, bytes]]:
    """Yield each file of a run's dataset: its name in the dataset's directory, and its content.

    Args:
        profile: of the run.
        parts: its timeline, one or more processes at a time, iterated once.

    Raises:
        TicktreeError: pyarrow is not installed.
    """
    for name in TABLES:
        yield f"{name}.parquet", render_parquet(profile, ViewOptions(table=name))
    written: dict[str, int] = {}
    for part in parts:
        for process in dict.fromkeys(lane.process for lane in part.lanes):
            is_its = np.array([lane.process == process for lane in part.lanes], bool)
            calls = np.flatnonzero(is_its[part.lane])
            if len(calls):
                number = written[process] = written.get(process, -1) + 1
                folder = f"{CALLS}/process={quote(process, safe='')}"
                yield f"{folder}/part-{number}.parquet", _calls(part, calls)


def _calls(part: Timeline, calls: Column) -> bytes:
    pyarrow, _ = libraries()
    spots, lanes = part.spot[calls], part.lane[calls]

    def texts(at: Column, values: Sequence[str]) -> Any:
        distinct = list(dict.fromkeys(map(encodable, values)))
        places = {value: number for number, value in enumerate(distinct)}
        indices = np.array([places[encodable(value)] for value in values], np.int32)[at]
        named = pyarrow.array(distinct, pyarrow.string())
        return pyarrow.DictionaryArray.from_arrays(pyarrow.array(indices), named)

    def numbers(value: Callable[[Lane], int]) -> Any:
        return pyarrow.array(np.array([value(lane) for lane in part.lanes], np.int64)[lanes])

    def flags(name: str) -> Any:
        return pyarrow.array(np.array([getattr(spot, name) for spot in part.spots], bool)[spots])

    table = pyarrow.table(
        {
            "start_ns": pyarrow.array(part.start_ns[calls]),
            "duration_ns": pyarrow.array(part.duration_ns[calls]),
            **{
                name: texts(spots, [getattr(spot, name) for spot in part.spots])
                for name in ("path", "name", "clock")
            },
            **{name: flags(name) for name in ("wait", "tick", "recorded")},
            "thread_id": numbers(lambda lane: lane.thread_id),
            "thread_name": texts(lanes, [lane.thread_name for lane in part.lanes]),
            "task": numbers(lambda lane: lane.number),
        }
    )
    assert table.column_names == list(CALL_COLUMNS)
    times = ("start_ns", "duration_ns")
    # Times increase, so their differences are small and compress well.
    return _file_of(
        table,
        row_group_size=_ROWS_A_GROUP,
        use_dictionary=[name for name in CALL_COLUMNS if name not in times],
        column_encoding=dict.fromkeys(times, "DELTA_BINARY_PACKED"),
    )
