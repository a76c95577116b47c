"""Columns: the timeline of one process on disk, as a compressed numpy archive that any program with numpy opens.

    start_ns     nanoseconds from one call's start to the next's; the first since the run began
    duration_ns  of each call
    spot, lane   what was called, and where: indices into `about`
    about        JSON in UTF-8: format, spots, lanes, overwritten, clocks, began_wall_ns

History of the format
    ticktree-timeline/1  the first.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ticktree.files.guarded import MOST_OF_DATA, FileError, json_in, opened, understood
from ticktree.profile.timeline import CalledNode, Lane, Timeline

FORMAT = "ticktree-timeline/1"
_COLUMNS = ("start_ns", "duration_ns", "spot", "lane")
# Of one column: eight bytes for each of more events than a ring can hold.
_MOST_BYTES = 1 << 26
# Of zlib: the next levels save a tenth, for twice the time or more.
_LEVEL = 1


def columns_of(timeline: Timeline, room: int) -> tuple[bytes, bool]:
    """The bytes of a timeline's file; where they are more than `room`, of one that says only how many calls it had.

    Returns:
        The bytes, and whether there was room for its calls.
    """
    data = _packed(timeline)
    if len(data) <= room:
        return data, True
    none = np.empty(0, np.int64)
    lost = timeline.overwritten + len(timeline)
    return _packed(
        replace(timeline, start_ns=none, duration_ns=none, spot=none, lane=none, overwritten=lost)
    ), False


def read_columns(path: Path) -> Timeline:
    """Reads the file of a timeline.

    Raises:
        FileError: It is nothing that could have been written, or cannot be read.
    """
    with opened(path, MOST_OF_DATA) as file, understood(path):
        timeline = _unpacked(_arrays(file))
        problem = next(timeline.problems(), None)
    if problem is not None:
        raise FileError(path, f"it is damaged: {problem}")
    return timeline


def _packed(timeline: Timeline) -> bytes:
    about = {
        "format": FORMAT,
        "spots": [list(spot) for spot in timeline.spots],
        "lanes": [list(lane) for lane in timeline.lanes],
        "overwritten": timeline.overwritten,
        "clocks": sorted(timeline.clocks),
        "began_wall_ns": timeline.began_wall_ns,
    }
    arrays = {
        "about": np.frombuffer(json.dumps(about).encode(), np.uint8),
        "start_ns": _narrow(np.diff(timeline.start_ns, prepend=0)),
        "duration_ns": _narrow(timeline.duration_ns),
        "spot": _narrow(timeline.spot),
        "lane": _narrow(timeline.lane),
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return file.getvalue()


def _narrow(column: NDArray[np.int64]) -> NDArray[Any]:
    """The column in no more bytes than its largest value needs; none is negative."""
    return column.astype(np.min_scalar_type(int(column.max(initial=0))))


def _arrays(file: Any) -> Mapping[str, NDArray[Any]]:
    found = {}
    with zipfile.ZipFile(file) as archive:
        for name in ("about", *_COLUMNS):
            if archive.getinfo(f"{name}.npy").file_size > _MOST_BYTES:
                raise ValueError(f"{name} is larger than any that we write")
            with archive.open(f"{name}.npy") as member:
                found[name] = np.lib.format.read_array(member, allow_pickle=False)
            if found[name].ndim != 1 or found[name].dtype.kind != "u":
                raise ValueError(f"{name} is no column of whole numbers")
    return found


def _unpacked(arrays: Mapping[str, NDArray[Any]]) -> Timeline:
    about: dict[str, Any] = json_in(arrays["about"].tobytes())
    if about["format"] != FORMAT:
        raise ValueError(f"its format is not {FORMAT}")
    start, duration, spot, lane = (arrays[name].astype(np.int64) for name in _COLUMNS)
    wall = about["began_wall_ns"]
    return Timeline(
        tuple(_lane(*fields) for fields in about["lanes"]),
        tuple(_spot(*fields) for fields in about["spots"]),
        np.cumsum(start),
        duration,
        spot,
        lane,
        overwritten=int(about["overwritten"]),
        clocks=frozenset(map(str, about["clocks"])),
        began_wall_ns=None if wall is None else int(wall),
    )


def _lane(
    process: Any, pid: Any, name: Any, role: Any, thread_id: Any, thread_name: Any, number: Any
) -> Lane:
    return Lane(str(process), int(pid), str(name), str(role), int(thread_id), str(thread_name), int(number))


def _spot(path: Any, wait: Any, tick: Any, recorded: Any) -> CalledNode:
    return CalledNode(str(path), bool(wait), bool(tick), bool(recorded))
