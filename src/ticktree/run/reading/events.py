"""The events of one memory file's timeline, as they lie there: completed calls, in ticks, in the order they ended."""

from __future__ import annotations

import ctypes
import mmap
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ticktree.files.guarded import MissingFileError, opened
from ticktree.recorder import copy_settled
from ticktree.run.reading import layout
from ticktree.run.reading.image import MOST_BYTES, DamagedError, Image

EVENT = np.dtype(layout.Event)
_RING_BYTES = ctypes.sizeof(layout.Ring)
_HEADER_BYTES = ctypes.sizeof(layout.Header)
# Of events in a process's life: a million a second for nine years.
_MOST = 1 << 48


@dataclass(frozen=True, eq=False)
class Events:
    """What a ring held at one moment.

    Attributes:
        rows: The events, oldest first: start, end, node, lane.
        overwritten: How many there had been before them.
    """

    rows: NDArray[np.void]
    overwritten: int


def events_of_file(path: Path) -> Events | None:
    """Copies the events of a file that its process may be writing; None where it keeps none.

    To be called before the rest of the file is copied: what events refer to is then there.

    Raises:
        DamagedError: The file says what cannot be.
    """
    try:
        with opened(path, MOST_BYTES) as file:
            # Most files have no timeline: they are told by their first bytes.
            head = file.read(_HEADER_BYTES)
            if len(head) < _HEADER_BYTES or not _ring_of(head):
                return None
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as memory:
                return events_in(memory, str(path))
    except MissingFileError:
        return None  # folded meanwhile, which keeps them


def events_in(memory: bytes | bytearray | mmap.mmap, origin: str = "memory file") -> Events | None:
    """The same of a file's bytes, which may be changing."""
    at = _ring_of(memory[:_HEADER_BYTES]) if len(memory) >= _HEADER_BYTES else 0
    if not at:
        return None
    if at + _RING_BYTES > len(memory):
        raise DamagedError(origin, "it is damaged: its timeline lies outside it")
    before = _ring(memory, at)
    begin, capacity = at + _RING_BYTES, before.capacity
    if not 0 < capacity <= (len(memory) - begin) // EVENT.itemsize:
        raise DamagedError(origin, "it is damaged: its timeline lies outside it")
    end = begin + capacity * EVENT.itemsize
    data = bytearray(end - begin)
    with memoryview(memory) as whole, whole[begin:end] as part:
        copy_settled(part, data, 0, [(0, end - begin)], 1)
    after = _ring(memory, at)
    if not (before.forgotten <= before.done <= after.begun < _MOST):
        raise DamagedError(origin, "it is damaged: its timeline's numbers cannot be")
    # What was begun meanwhile may lie, in part, over the oldest of those that were done before.
    first = max(before.forgotten, after.begun - capacity, 0)
    last = max(before.done, first)  # while they were copied, all may have been written over
    slots = np.arange(first, last, dtype=np.int64) % capacity
    rows = np.frombuffer(data, EVENT)[slots]
    return Events(rows, max(0, first - before.forgotten))


def counts_in(image: Image) -> tuple[int, int]:
    """How many calls an image's timeline recorded, and how many of them were overwritten; 0 where it has none."""
    at = image.header.ring * layout.LINE
    if not 0 < at <= len(image.data) - _RING_BYTES:
        return 0, 0
    ring = layout.Ring.from_buffer_copy(image.data, at)
    # Its numbers were copied one after the other, and it may have been reset in between.
    calls = max(0, ring.done - ring.forgotten) if ring.done < _MOST else 0
    return calls, max(0, calls - ring.capacity)


def _ring(memory: bytes | bytearray | mmap.mmap, at: int) -> layout.Record:
    """A copy of the ring's numbers, no later and no earlier than now: `copy_settled` has the barriers for it."""
    head = bytearray(_RING_BYTES)
    with memoryview(memory) as whole, whole[at : at + _RING_BYTES] as part:
        copy_settled(part, head, 0, [(0, _RING_BYTES)], 1)
    return layout.Ring.from_buffer_copy(head)


def _ring_of(head: bytes | bytearray) -> int:
    header = layout.Header.from_buffer_copy(head)
    known = header.magic == layout.MAGIC and header.format == layout.FORMAT
    return int(header.ring) * layout.LINE if known else 0
