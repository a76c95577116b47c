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
from typing import Any, Literal, NamedTuple, TypeAlias, get_args
from urllib.parse import quote

import numpy as np

from ticktree.outputs.options import TableName, ViewOptions
from ticktree.outputs.registry import import_library
from ticktree.outputs.writing.visible import encodable, literal, visible
from ticktree.profile import Profile
from ticktree.profile import path as paths
from ticktree.profile.metadata import ordered
from ticktree.profile.thread import by_process
from ticktree.profile.timeline import Column, Timeline

Kind: TypeAlias = Literal["text", "integer", "real", "flag"]
Cell: TypeAlias = str | int | float | bool | None
Row: TypeAlias = Mapping[str, Cell]


@dataclass(frozen=True, slots=True)
class DataTable:
    """A table."""

    columns: Mapping[str, Kind]
    rows: tuple[Row, ...]


def data_table(profile: Profile, name: TableName) -> DataTable:
    """Return the table called `name`."""
    groups, items = _TABLES[name]
    columns = {f"{group.prefix}{name}": group.kind for group in groups for name in group.names}
    return DataTable(columns, tuple(_row(groups, *item) for item in items(profile)))


class _Columns(NamedTuple):
    """Columns of one kind: attributes of a row's item, or of its `part`, which may be None."""

    kind: Kind
    names: tuple[str, ...]
    part: str = ""
    prefix: str = ""


def _row(groups: Sequence[_Columns], item: object, overrides: Row) -> Row:
    """Return the cells of an item: those that are given, and its attributes."""
    row: dict[str, Cell] = {}
    for _, names, part, prefix in groups:
        holder = getattr(item, part) if part else item
        for name in names:
            key = f"{prefix}{name}"
            row[key] = (
                overrides[key] if key in overrides else None if holder is None else getattr(holder, name)
            )
    return row


_STATS = ("mean_ns", "min_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns")
_PHASE = ("count", "sum_ns", *_STATS)
_WORK = ("bytes", "flops", "items")
_MEMORY = ("samples", "change_bytes", "peak_bytes", "growth_bytes")

_NODES = (
    _Columns("text", ("path", "name", "clock", "parent")),
    _Columns("integer", ("depth", "count", "total_ns", "self_ns", "concurrent_ns", "recorder_ns")),
    _Columns("integer", _STATS, "stats"),
    _Columns("integer", _PHASE, "steady", "steady_"),
    _Columns("integer", _PHASE, "warmup", "warmup_"),
    _Columns("flag", ("parallel", "wait")),
    _Columns("text", ("file",), "call_site", "call_site_"),
    _Columns("integer", ("line",), "call_site", "call_site_"),
    _Columns("text", ("function",), "call_site", "call_site_"),
    _Columns("integer", _WORK, "work", "work_"),
    _Columns("integer", ("samples", "cpu_ns", "wall_ns"), "cpu", "cpu_"),
    _Columns("integer", _MEMORY, "memory", "memory_"),
    _Columns("integer", _MEMORY, "device_memory", "device_memory_"),
    _Columns("text", ("device",)),
    _Columns("integer", ("count", "age_ns"), "open", "open_"),
)
_LOOPS = (
    _Columns("text", ("path",)),
    _Columns("integer", ("ticks", "warmup_ticks", "incomplete")),
    _Columns("real", ("hz",)),
    _Columns("integer", ("budget_ns",)),
    _Columns("real", ("achieved_hz",)),
    _Columns("integer", ("missed", "longest_miss_run", "busy_ns", "waited_ns")),
    _Columns("integer", _STATS, "stats"),
    _Columns("integer", ("count", "mean_ns", "max_ns"), "lateness", "lateness_"),
    _Columns("integer", ("count", "mean_ns"), "jitter", "jitter_"),
)
_GAUGES = (
    _Columns("text", ("name",)),
    _Columns("real", ("last", "min", "p50", "p99", "max")),
    _Columns("integer", ("count", "zeros", "last_wall_ns")),
)
_PROCESSES = (
    _Columns("text", ("process", "name", "role", "run", "host", "parent")),
    _Columns("integer", ("threads", "members", "started_ns", "last_ns")),
)
_THREADS = (
    _Columns("text", ("thread", "process", "name", "role", "parent")),
    _Columns("flag", ("is_main",)),
)
_SHARES = (
    _Columns("text", ("path", "thread", "process")),
    _Columns("integer", ("count", "total_ns", "self_ns")),
)

# What a row is about, and the cells that are not its attributes.
_Items: TypeAlias = Iterator[tuple[object, Row]]


def _nodes(profile: Profile) -> _Items:
    for path, depth, node in profile.root.walk():
        device = None if node.device is None else f"unsupported: {node.device}"
        parent = paths.join(paths.split(path)[:-1]) if depth else None
        # No work is the default, and means that it is unknown.
        work = {f"work_{name}": getattr(node.work, name, None) or None for name in _WORK}
        yield node, {"path": path, "parent": parent, "depth": depth, "device": device, **work}


def _loops(profile: Profile) -> _Items:
    for _, loop in sorted(profile.loops.items()):
        hz = next(iter(loop.hz)) if len(loop.hz) == 1 else None
        # Without a target rate, missed ticks are unknown, not 0.
        unknown = () if loop.hz or loop.missed else ("missed", "longest_miss_run")
        yield loop, {"hz": hz, **dict.fromkeys(unknown)}


def _processes(profile: Profile) -> _Items:
    for main, threads in by_process(profile.threads[key] for key in sorted(profile.threads)):
        names = {"name": main.process_name or None, "role": main.role or None, "host": main.host or None}
        yield main, {**names, "threads": len(threads)}


def _threads(profile: Profile) -> _Items:
    for key, thread in sorted(profile.threads.items()):
        yield thread, {"thread": key, "name": thread.thread_name or None, "role": thread.role or None}


def _shares(profile: Profile) -> _Items:
    for path, _, node in profile.root.walk():
        for key, share in sorted(node.by_thread.items()):
            yield share, {"path": path, "thread": key, "process": profile.threads[key].process}


def _losses(profile: Profile) -> _Items:
    for kind, count in sorted(profile.losses.items()):
        yield None, {"what": kind, "count": count}


def _facts(profile: Profile) -> _Items:
    for key, values in sorted(profile.metadata.items()):
        for value in ordered(values):
            yield None, {"key": key, "value": str(value)}


_TABLES: dict[TableName, tuple[tuple[_Columns, ...], Callable[[Profile], _Items]]] = {
    "nodes": (_NODES, _nodes),
    "loops": (_LOOPS, _loops),
    "gauges": (_GAUGES, lambda profile: ((gauge, {}) for _, gauge in sorted(profile.gauges.items()))),
    "processes": (_PROCESSES, _processes),
    "threads": (_THREADS, _threads),
    "shares": (_SHARES, _shares),
    "losses": ((_Columns("text", ("what",)), _Columns("integer", ("count",))), _losses),
    "metadata": ((_Columns("text", ("key", "value")),), _facts),
}


# Backslashes in these are doubled already, so paths stay unique when invisible characters are escaped; the root's
# path stays empty.
_PATHS = frozenset({"path", "parent"})


def render_csv(profile: Profile, options: ViewOptions) -> bytes:
    """Return the table as UTF-8 with the columns' names first, and an empty cell for an unknown value."""
    table = data_table(profile, options.table)
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    for row in table.rows:
        writer.writerow(cell_text(column, row[column]) for column in table.columns)
    return text.getvalue().encode()


def cell_text(column: str, cell: Cell) -> Cell:
    """Return a cell for a file, with invisible characters of a text escaped."""
    # One line per row: many programs that read CSV split it at line ends before they look at quotes.
    if not isinstance(cell, str):
        return cell
    return visible(cell) if column in _PATHS else literal(cell)


def render_parquet(profile: Profile, options: ViewOptions) -> bytes:
    """Return the table as a Parquet file, with null for an unknown value."""
    pyarrow, _ = import_pyarrow()
    table = data_table(profile, options.table)
    arrays = {
        name: _array(pyarrow, kind, [row[name] for row in table.rows]) for name, kind in table.columns.items()
    }
    facts = {
        key: [str(value) for value in ordered(values)] for key, values in sorted(profile.metadata.items())
    }
    losses = dict(sorted(profile.losses.items()))
    notes = {"ticktree.not_recorded": json.dumps(losses), "ticktree.metadata": json.dumps(facts)}
    return _file_of(pyarrow.table(arrays).replace_schema_metadata(notes))


def import_pyarrow() -> tuple[ModuleType, ModuleType]:
    """Return pyarrow and pyarrow.parquet.

    Raises:
        TicktreeError: pyarrow is not installed.
    """
    return tuple(
        import_library(name, by="parquet", extra="parquet") for name in ("pyarrow", "pyarrow.parquet")
    )  # type: ignore[return-value]


def _file_of(table: Any, **options: Any) -> bytes:
    pyarrow, parquet = import_pyarrow()
    stream = pyarrow.BufferOutputStream()
    parquet.write_table(table, stream, compression="zstd", **options)
    content: bytes = stream.getvalue().to_pybytes()
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
_ROWS_PER_GROUP = 1 << 18


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
    part_numbers: dict[str, int] = {}
    for part in parts:
        for process in dict.fromkeys(lane.process for lane in part.lanes):
            is_of_process = np.array([lane.process == process for lane in part.lanes], bool)
            calls = np.flatnonzero(is_of_process[part.lane])
            if len(calls):
                number = part_numbers[process] = part_numbers.get(process, -1) + 1
                folder = f"{CALLS}/process={quote(process, safe='')}"
                yield f"{folder}/part-{number}.parquet", _calls(part, calls)


def _calls(part: Timeline, calls: Column) -> bytes:
    pyarrow, _ = import_pyarrow()
    lane_fields = {"thread_id": "thread_id", "thread_name": "thread_name", "task": "number"}
    times = ("start_ns", "duration_ns")

    def column(name: str, kind: str) -> Any:
        if name in times:
            return pyarrow.array(getattr(part, name)[calls])
        items, rows = (part.lanes, part.lane) if name in lane_fields else (part.nodes, part.node)
        values = [getattr(item, lane_fields.get(name, name)) for item in items]
        if kind != "VARCHAR":
            return pyarrow.array(np.array(values, bool if kind == "BOOLEAN" else np.int64)[rows[calls]])
        texts = list(map(encodable, values))
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        indices = np.array([numbers[text] for text in texts], np.int32)[rows[calls]]
        distinct = pyarrow.array(list(numbers), pyarrow.string())
        return pyarrow.DictionaryArray.from_arrays(pyarrow.array(indices), distinct)

    # Times increase, so their differences are small and compress well.
    return _file_of(
        pyarrow.table({name: column(name, kind) for name, kind in CALL_COLUMNS.items()}),
        row_group_size=_ROWS_PER_GROUP,
        use_dictionary=[name for name in CALL_COLUMNS if name not in times],
        column_encoding=dict.fromkeys(times, "DELTA_BINARY_PACKED"),
    )
