"""The timeline of a run: from its memory files, and from what was kept of those that are there no more.

    ticktree-runs/RUN/timeline/PID-STARTED.npz

One file of columns a process (columns.py). It is written before the memory file is deleted, and counts only once
that is gone: who is killed in between leaves both, and nothing is there twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ticktree.profile.timeline import BEFORE_THE_TIMELINE, CalledNode, Lane, Timeline, in_order, together
from ticktree.run.columns import columns_of, read_columns
from ticktree.run.gathering import gather
from ticktree.run.reading import layout
from ticktree.run.reading.clock import Clock
from ticktree.run.reading.events import Events, events_in, events_of_file
from ticktree.run.reading.image import DamagedError, Image
from ticktree.run.reading.layout import NodeFlag
from ticktree.run.reading.places import NodeLocations, parents_first

if TYPE_CHECKING:
    from ticktree.run.directory import RunFiles

TIMELINE = "timeline"
# What the files of one run may take together; of processes past it only the number of calls is kept.
MOST_BYTES = 1 << 30


def read_timeline(run: RunFiles) -> Timeline | None:
    """What a run's timeline holds at this moment; None where none was recorded.

    Raises:
        DamagedError: A file of it says what cannot be.
    """
    parts = list(timeline_parts(run))
    return together(parts) if parts else None


def timeline_parts(run: RunFiles) -> Iterator[Timeline]:
    """The same process by process, each read when it is asked for: together they may be larger than memory.

    Raises:
        DamagedError: A file of it says what cannot be.
    """
    live = {} if run.is_finished() else _in_memory(run)
    yield from live.values()
    yield from (read_columns(path) for path in _kept(run) if path.stem not in live)


def keep_timeline(run: RunFiles, only: set[Path] | None = None) -> dict[str, int]:
    """Writes the timelines of memory files to disk, which are about to be deleted.

    Args:
        run: The run.
        only: Of which files; None for all.

    Returns:
        The calls for which there was no room, as a profile's losses.

    Raises:
        OSError: They cannot be written.
    """
    names, lost = None if only is None else {path.stem for path in only}, 0
    for name, part in _in_memory(run, names).items():
        room = MOST_BYTES - sum(path.stat().st_size for path in _kept(run) if path.stem != name)
        data, fits = columns_of(part, room)
        run.write(f"{name}.npz", data, folder=TIMELINE, durable=True)
        if not fits:
            lost += len(part)
    return {BEFORE_THE_TIMELINE: lost} if lost else {}


def timeline_of_image(data: bytes) -> Timeline | None:
    """The timeline in the bytes of one memory file; None where it has none."""
    image, events, places = Image(data), events_in(data), NodeLocations()
    places.add(image)
    return None if events is None else _timeline(image, events, places)


def _kept(run: RunFiles) -> list[Path]:
    return sorted((run.path / TIMELINE).glob("*.npz"))


def _in_memory(run: RunFiles, names: set[str] | None = None) -> dict[str, Timeline]:
    """The timelines in memory files, by the names of these; damaged files are left out, and counted elsewhere."""
    events: dict[Path, Events] = {}
    for path in run.memory_files():
        if names is None or path.stem in names:
            with suppress(DamagedError):
                found = events_of_file(path)
                if found is not None:
                    events[path] = found
    if not events:
        return {}
    # Read after its events: the nodes and lanes that they name are in the image.
    gathered = gather(run)
    places = NodeLocations(gathered.folded.places)
    paths = {id(image): path for path, image in gathered.images.items()}
    found_parts = {}
    for image in parents_first(gathered.images.values()):
        path = paths[id(image)]
        with suppress(DamagedError):
            places.add(image)
            if path in events:
                found_parts[path.stem] = _timeline(image, events[path], places)
    return found_parts


def _timeline(image: Image, events: Events, places: NodeLocations) -> Timeline:
    clock = Clock(image.header)
    lanes, at_lane = _lanes(image)
    spots, at_spot = _spots(image, places)
    rows = events.rows
    # Beyond the records that there are: a damaged file. Those calls are counted among the lost.
    lane, spot = _looked_up(rows["lane"], at_lane), _looked_up(rows["node"], at_spot)
    good = (lane >= 0) & (spot >= 0) & (rows["start"] <= rows["end"])
    start = clock.moments_ns(rows["start"][good])
    # In ticks a call may end 2^63 after it began, which no subtraction survives: a damaged file's.
    duration = np.maximum(clock.moments_ns(rows["end"][good]) - start, 0)
    spot, lane = spot[good], lane[good]
    order = in_order(start, spot, spots)
    return Timeline(
        lanes,
        spots,
        start[order],
        duration[order],
        spot[order],
        lane[order],
        overwritten=events.overwritten + int(len(good) - np.count_nonzero(good)),
        clocks=frozenset({layout.CLOCKS[image.header.clock_kind]}),
        began_wall_ns=_began_wall_ns(image.header),
    )


def _looked_up(refs: np.ndarray[tuple[int], np.dtype[np.uint32]], table: dict[int, int]) -> np.ndarray:
    """For each reference its index in a table; -1 where it has none."""
    known = np.array(sorted(table), np.int64)
    places = np.array([table[ref] for ref in known.tolist()], np.int64)
    at = np.searchsorted(known, refs)
    at[at == len(known)] = 0
    return np.where(known[at] == refs, places[at], -1) if len(known) else np.full(len(refs), -1)


def _lanes(image: Image) -> tuple[tuple[Lane, ...], dict[int, int]]:
    header = image.header
    process = (
        str(image.writer),
        int(header.pid),
        image.text(header.process_name) if header.process_name else "",
        image.text(header.role) if header.role else "",
    )
    lanes, at = [Lane(*process, 0, "", 0)], {0: 0}
    for ref, record in image.lanes():
        at[ref] = len(lanes)
        name = record.thread_name.decode("utf-8", "replace")
        lanes.append(Lane(*process, int(record.thread_id), name, int(record.number)))
    return tuple(lanes), at


def _spots(image: Image, places: NodeLocations) -> tuple[tuple[CalledNode, ...], dict[int, int]]:
    spots: list[CalledNode] = []
    at: dict[int, int] = {}
    for ref, node in image.nodes():
        at[ref] = len(spots)
        flags = node.flags
        kinds = (bool(flags & flag) for flag in (NodeFlag.WAIT, NodeFlag.LOOP, NodeFlag.NS))
        spots.append(CalledNode(places.path(image.writer, ref), *kinds))
    return tuple(spots), at


def _began_wall_ns(header: layout.Record) -> int | None:
    first = header.first
    return int(first.wall_ns - (first.monotonic_ns - header.run_began_ns)) if first.wall_ns else None
