"""A dataset: every table of a run as Parquet, its single calls partitioned by process.

    nodes.parquet, loops.parquet, ...               the tables of `--to csv` and `--to parquet`
    calls/process=PID-STARTED/part-0.parquet        the calls of one process, where the run has a timeline

What is read or written at a time is one process, however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, get_args
from urllib.parse import quote

import numpy as np

from ticktree.outputs import parquet
from ticktree.outputs.options import TableName, ViewOptions
from ticktree.outputs.writing.literal import encodable
from ticktree.profile import Profile
from ticktree.profile.timeline import Column, Lane, Timeline

TABLES: tuple[TableName, ...] = get_args(TableName)
CALLS = "calls"
# What each call has, and of which kind; `process` is in the name of the directory.
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
    """Yield each file of a run's dataset: its name below the dataset's directory, and what is in it.

    Args:
        profile: of the run.
        parts: its timeline, of one or more processes at a time, each looked at once.

    Raises:
        TicktreeError: pyarrow is not installed.
    """
    for name in TABLES:
        yield f"{name}.parquet", parquet.render(profile, ViewOptions(table=name))
    written: dict[str, int] = {}
    for part in parts:
        for process in dict.fromkeys(lane.process for lane in part.lanes):
            calls = np.flatnonzero(_is_of(part, process)[part.lane])
            if len(calls):
                number = written[process] = written.get(process, -1) + 1
                folder = f"{CALLS}/process={quote(process, safe='')}"
                yield f"{folder}/part-{number}.parquet", _calls(part, calls)


def _is_of(part: Timeline, process: str) -> Any:
    return np.array([lane.process == process for lane in part.lanes], bool)


def _calls(part: Timeline, calls: Column) -> bytes:
    pyarrow, _ = parquet.libraries()
    spots, lanes = part.spot[calls], part.lane[calls]

    def texts(at: Column, values: Sequence[str]) -> Any:
        distinct = list(dict.fromkeys(map(encodable, values)))
        places = {value: number for number, value in enumerate(distinct)}
        indices = np.array([places[encodable(value)] for value in values], np.int32)[at]
        return pyarrow.DictionaryArray.from_arrays(
            pyarrow.array(indices), pyarrow.array(distinct, pyarrow.string())
        )

    def numbers(value: Callable[[Lane], int]) -> Any:
        return pyarrow.array(np.array([value(lane) for lane in part.lanes], np.int64)[lanes])

    def flags(name: str) -> Any:
        return pyarrow.array(np.array([getattr(spot, name) for spot in part.spots], bool)[spots])

    table = pyarrow.table(
        {
            "start_ns": pyarrow.array(part.start_ns[calls]),
            "duration_ns": pyarrow.array(part.duration_ns[calls]),
            "path": texts(spots, [spot.path for spot in part.spots]),
            "name": texts(spots, [spot.name for spot in part.spots]),
            "clock": texts(spots, [spot.clock for spot in part.spots]),
            **{name: flags(name) for name in ("wait", "tick", "recorded")},
            "thread_id": numbers(lambda lane: lane.thread_id),
            "thread_name": texts(lanes, [lane.thread_name for lane in part.lanes]),
            "task": numbers(lambda lane: lane.number),
        }
    )
    assert table.column_names == list(CALL_COLUMNS)
    times = ("start_ns", "duration_ns")
    # Moments grow, so that little is left of their differences.
    return parquet.file_of(
        table,
        row_group_size=_ROWS_A_GROUP,
        use_dictionary=[name for name in CALL_COLUMNS if name not in times],
        column_encoding=dict.fromkeys(times, "DELTA_BINARY_PACKED"),
    )
