"""The timeline of a run: from its memory files, and from the saved timelines of deleted ones.

    ticktree-runs/RUN/timeline/PID-STARTED.npz

One file of columns per process. It is written before the memory file is deleted, and counts only once that is deleted:
a process killed in between leaves both, and no call is read twice. A file is a compressed numpy archive that
any program can open with numpy:

    start_ns     nanoseconds from one call's start to the next's; the first since the run began
    duration_ns  duration of each call
    node, lane   node and thread of each call: indices into `about`
    about        JSON in UTF-8: format, nodes, lanes, overwritten, clocks, began_wall_ns

History of the format
    ticktree-timeline/1  the first.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

from ticktree.files.guarded import MAX_DATA_BYTES, FileError, decoding, open_file, parse_json
from ticktree.profile.timeline import BEFORE_THE_TIMELINE, CalledNode, Lane, Timeline, call_order
from ticktree.run.folded import read_records
from ticktree.run.reading import layout
from ticktree.run.reading.accounts import Clock
from ticktree.run.reading.image import DamagedError, Image
from ticktree.run.reading.layout import NodeFlag
from ticktree.run.reading.records import Events, events_in, events_of_file
from ticktree.run.reading.tree import NodeLocations, parents_first

if TYPE_CHECKING:
    from ticktree.run.directory import RunFiles

FORMAT = "ticktree-timeline/1"
_COLUMNS = ("start_ns", "duration_ns", "node", "lane")
# The largest column: eight bytes for each of more events than a ring can hold.
_MAX_COLUMN_BYTES = 1 << 26
# The level of zlib: the next ones save a tenth, for twice the time or more.
_LEVEL = 1


def pack_columns(timeline: Timeline, max_bytes: int) -> tuple[bytes, bool]:
    """Return the file of a timeline; if it is larger than `max_bytes`, a file with only the number of its calls."""
    data = _pack(timeline)
    if len(data) <= max_bytes:
        return data, True
    empty, calls = np.empty(0, np.int64), timeline.overwritten + len(timeline)
    count_only = replace(
        timeline, start_ns=empty, duration_ns=empty, node=empty, lane=empty, overwritten=calls
    )
    return _pack(count_only), False


def read_columns(path: Path) -> Timeline:
    """Return the timeline in a file.

    Raises:
        FileError: The file is not valid, or cannot be read.
    """
    with open_file(path, MAX_DATA_BYTES) as file, decoding(path):
        timeline = _unpack(_arrays(file))
        problem = next(timeline.problems(), None)
    if problem is not None:
        raise FileError(path, f"it is damaged: {problem}")
    return timeline


def _pack(timeline: Timeline) -> bytes:
    about = {
        "format": FORMAT,
        "nodes": [list(node) for node in timeline.nodes],
        "lanes": [list(lane) for lane in timeline.lanes],
        "overwritten": timeline.overwritten,
        "clocks": sorted(timeline.clocks),
        "began_wall_ns": timeline.began_wall_ns,
    }
    arrays = {
        "about": np.frombuffer(json.dumps(about).encode(), np.uint8),
        "start_ns": _narrow(np.diff(timeline.start_ns, prepend=0)),
        "duration_ns": _narrow(timeline.duration_ns),
        "node": _narrow(timeline.node),
        "lane": _narrow(timeline.lane),
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return file.getvalue()


def _narrow(column: NDArray[np.int64]) -> NDArray[Any]:
    """Return a column of non-negative values in the smallest sufficient type."""
    return column.astype(np.min_scalar_type(int(column.max(initial=0))))


def _arrays(file: Any) -> Mapping[str, NDArray[Any]]:
    arrays = {}
    with zipfile.ZipFile(file) as archive:
        for name in ("about", *_COLUMNS):
            if archive.getinfo(f"{name}.npy").file_size > _MAX_COLUMN_BYTES:
                raise ValueError(f"{name} is larger than any that we write")
            with archive.open(f"{name}.npy") as member:
                array = arrays[name] = np.lib.format.read_array(member, allow_pickle=False)
            if array.ndim != 1 or array.dtype.kind != "u":
                raise ValueError(f"{name} is not a column of whole numbers")
    return arrays


def _unpack(arrays: Mapping[str, NDArray[Any]]) -> Timeline:
    about: dict[str, Any] = parse_json(arrays["about"].tobytes())
    if about["format"] != FORMAT:
        raise ValueError(f"its format is not {FORMAT}")
    start, duration, node, lane = (arrays[name].astype(np.int64) for name in _COLUMNS)
    began_wall_ns = about["began_wall_ns"]
    return Timeline(
        tuple(_convert(Lane, values) for values in about["lanes"]),
        tuple(_convert(CalledNode, values) for values in about["nodes"]),
        np.cumsum(start),
        duration,
        node,
        lane,
        overwritten=int(about["overwritten"]),
        clocks=frozenset(map(str, about["clocks"])),
        began_wall_ns=None if began_wall_ns is None else int(began_wall_ns),
    )


def _convert(kind: type[Any], values: list[Any]) -> Any:
    """Return a named tuple whose values have the types of its fields."""
    return kind(*(make(value) for make, value in zip(get_type_hints(kind).values(), values, strict=True)))


TIMELINE = "timeline"
# The most bytes that the files of one run may take; of further processes only the number of calls is kept.
MAX_BYTES = 1 << 30


def timeline_parts(run: RunFiles) -> Iterator[Timeline]:
    """Yield the timeline of each process, read on demand: together they may be larger than memory.

    Raises:
        DamagedError: A file is not valid.
    """
    live = {} if run.is_finished() else _in_memory(run)
    yield from live.values()
    yield from (read_columns(path) for path in _saved_files(run) if path.stem not in live)


def keep_timeline(run: RunFiles, only: set[Path] | None = None) -> dict[str, int]:
    """Write the timelines of memory files that are about to be deleted to disk, of `only` these or of all.

    Returns:
        The calls for which there was no space, as a profile's losses.

    Raises:
        OSError: They cannot be written.
    """
    names, lost_calls = None if only is None else {path.stem for path in only}, 0
    for name, part in _in_memory(run, names).items():
        free_bytes = MAX_BYTES - sum(path.stat().st_size for path in _saved_files(run) if path.stem != name)
        data, is_complete = pack_columns(part, free_bytes)
        run.write(f"{name}.npz", data, folder=TIMELINE, durable=True)
        if not is_complete:
            lost_calls += len(part)
    return {BEFORE_THE_TIMELINE: lost_calls} if lost_calls else {}


def timeline_of_image(data: bytes) -> Timeline | None:
    """Return the timeline in the bytes of one memory file; None if it has none."""
    image, events, locations = Image(data), events_in(data), NodeLocations()
    locations.add(image)
    return None if events is None else _timeline(image, events, locations)


def _saved_files(run: RunFiles) -> list[Path]:
    return sorted((run.path / TIMELINE).glob("*.npz"))


def _in_memory(run: RunFiles, names: set[str] | None = None) -> dict[str, Timeline]:
    """Return the timelines in memory files by the files' names, without damaged ones, which the reader counts."""
    events: dict[Path, Events] = {}
    for path in run.memory_files():
        if names is None or path.stem in names:
            with suppress(DamagedError):
                if (ring := events_of_file(path)) is not None:
                    events[path] = ring
    if not events:
        return {}
    # Images are read after events, so that they contain the nodes and lanes of the events.
    records = read_records(run)
    locations = NodeLocations(records.folded.locations)
    timelines = {}
    for path, image in parents_first(records.images):
        with suppress(DamagedError):
            locations.add(image)
            if path in events:
                timelines[path.stem] = _timeline(image, events[path], locations)
    return timelines


def _timeline(image: Image, events: Events, locations: NodeLocations) -> Timeline:
    clock = Clock(image.header)
    lane_records, node_records = dict(image.lanes()), dict(image.nodes())
    nodes = _called_nodes(image, node_records, locations)
    rows = events.rows
    # Calls of a damaged file may refer to missing records. They count as lost.
    lane, node = _look_up(rows["lane"], [0, *lane_records]), _look_up(rows["node"], [*node_records])
    is_valid = (lane >= 0) & (node >= 0) & (rows["start"] <= rows["end"])
    start = clock.moments_ns(rows["start"][is_valid])
    # A call in a damaged file may end 2^63 ticks after it began, which overflows: the result is clipped at 0.
    duration = np.maximum(clock.moments_ns(rows["end"][is_valid]) - start, 0)
    node, lane = node[is_valid], lane[is_valid]
    order = call_order(start, node, nodes)
    return Timeline(
        _lanes(image, lane_records),
        nodes,
        start[order],
        duration[order],
        node[order],
        lane[order],
        overwritten=events.overwritten + int(len(is_valid) - np.count_nonzero(is_valid)),
        clocks=frozenset({layout.CLOCKS[image.header.clock_kind]}),
        began_wall_ns=_began_wall_ns(image.header),
    )


def _look_up(refs: NDArray[np.uint32], known_refs: list[int]) -> NDArray[np.int64]:
    """Return the index of each reference in `known_refs`, which are in ascending order; -1 if it is not there."""
    if not known_refs:
        return np.full(len(refs), -1)
    indices = np.minimum(np.searchsorted(known_refs, refs), len(known_refs) - 1)
    return np.where(np.array(known_refs)[indices] == refs, indices, -1)


def _lanes(image: Image, records: Mapping[int, layout.Record]) -> tuple[Lane, ...]:
    header = image.header
    process = (
        str(image.writer),
        int(header.pid),
        image.text(header.process_name) if header.process_name else "",
        image.text(header.role) if header.role else "",
    )
    lanes = [Lane(*process, 0, "", 0)]
    for record in records.values():
        name = record.thread_name.decode("utf-8", "replace")
        lanes.append(Lane(*process, int(record.thread_id), name, int(record.number)))
    return tuple(lanes)


def _called_nodes(
    image: Image, records: Mapping[int, layout.Record], locations: NodeLocations
) -> tuple[CalledNode, ...]:
    flags = (NodeFlag.WAIT, NodeFlag.LOOP, NodeFlag.NS)
    return tuple(
        CalledNode(locations.path(image.writer, ref), *(bool(node.flags & flag) for flag in flags))
        for ref, node in records.items()
    )


def _began_wall_ns(header: layout.Record) -> int | None:
    first = header.first
    return int(first.wall_ns - (first.monotonic_ns - header.run_began_ns)) if first.wall_ns else None
