"""A memory file's bytes, and the records in them.

A file may be in use, its process may have died in the middle of a write, and it may be truncated or overwritten with
anything: every reference is checked to be within the file before it is followed.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from collections.abc import Collection, Iterator
from functools import partialmethod
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ticktree.files.guarded import FileError, decoding, open_file
from ticktree.run.memory import ProcessKey
from ticktree.run.reading import layout
from ticktree.run.reading.layout import Record, copy_file, offset_of

# A process rarely makes new records after a while.
_MAX_COPIES = 20
MAX_BYTES = 1 << 31  # of a file; 32 times as many as a recorder reserves
_U32 = struct.Struct("<I")

DamagedError = FileError  # a memory file is not valid


class NoRecordsError(DamagedError):
    """A memory file without any record yet."""


class Image:
    """One process's memory file at one moment.

    Args:
        torn_refs: References of records that the process was writing while they were copied.

    Raises:
        DamagedError: The bytes are not those of a memory file, or have an unknown version.
    """

    def __init__(
        self, data: bytes | bytearray, origin: str = "memory file", torn_refs: Collection[int] = ()
    ) -> None:
        self.origin = origin
        self.torn_refs = torn_refs
        self.data = data
        if not any(memoryview(data)[: ctypes.sizeof(layout.Header)]):
            raise NoRecordsError(self.origin, "it has not been begun")
        if len(data) < ctypes.sizeof(layout.Header):
            raise self.damage_error("it is cut short")
        self.header = layout.Header.from_buffer_copy(data)
        if self.header.magic != layout.MAGIC:
            raise self._magic_error()
        if self.header.format != layout.FORMAT:
            reason = f"its format is {self.header.format}, not {layout.FORMAT}: another version of ticktree wrote it"
            raise DamagedError(self.origin, reason)
        if self.header.layout != layout.CHECKSUM:
            reason = "its records are not of this build: another build of ticktree wrote it"
            raise DamagedError(self.origin, reason)
        if self.header.used_bytes > len(data):
            raise self.damage_error("it is cut short")
        if self.header.clock_kind >= len(layout.CLOCKS) or not self.header.ns_per_tick:
            raise self.damage_error("its clock is unknown")

    @classmethod
    def of_file(cls, path: Path) -> Image:
        """Copy a file that its process may be writing."""
        with open_file(path, MAX_BYTES) as file, decoding(path):
            idle_data = _read_idle_file(file.fileno())
            if idle_data is not None:
                return cls(idle_data, str(path))
            for _ in range(_MAX_COPIES):
                size = os.fstat(file.fileno()).st_size
                if not size:
                    raise NoRecordsError(path, "it has not been begun")
                if size < ctypes.sizeof(layout.Header):
                    raise DamagedError(path, "it is cut short")
                with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as memory:
                    copy = copy_file(memory)
                if copy.is_complete:
                    break
            return cls(copy.data, str(path), copy.torn_refs)

    @property
    def writer(self) -> ProcessKey:
        """The process that writes the file."""
        header = self.header
        return ProcessKey(header.pid, header.process_start, header.incarnation or 1)

    @property
    def parent(self) -> ProcessKey:
        """The process that started the writer; its pid is 0 if there is none, or it is unknown."""
        header = self.header
        return ProcessKey(header.parent_pid, header.parent_start, header.parent_incarnation or 1)

    def advance_to(self, monotonic_ns: int) -> None:
        """Set the image's moment to a later one of CLOCK_MONOTONIC, at which its process was still alive."""
        last = self.header.last
        if self.header.clock_kind and monotonic_ns > last.monotonic_ns:
            ticks = ((monotonic_ns - last.monotonic_ns) << 32) // self.header.ns_per_tick
            self.header.last = layout.Anchor(last.ticks + ticks, monotonic_ns, last.wall_ns)

    def _magic_error(self) -> DamagedError:
        """Return the error for a file without the magic number, which a process writes last when it begins a file."""
        if self.header.magic == 0 and self.header.format == layout.FORMAT and not self.header.nodes:
            return NoRecordsError(self.origin, "it has only just been begun")
        return self.damage_error("it is not one")

    def damage_error(self, reason: str) -> DamagedError:
        """Return the error for a damaged file, with the reason."""
        return DamagedError(self.origin, f"it is damaged: {reason}")

    def record(self, ref: int, kind: type[Record]) -> Record:
        """Return the record of a kind that is stored at a reference."""
        return kind.from_buffer_copy(self.data, self._offset(ref, ctypes.sizeof(kind)))

    def missed_rows(self, ref: int) -> Iterator[Record]:
        """Yield the time of nodes in missed ticks, from the table at a reference and the following ones."""
        while ref:
            table = self.record(ref, layout.MissedRows)
            yield from (row for row in table.rows if row.node)
            if 0 < table.next <= ref:  # a table is allocated when the previous one is full
                raise self._circle_error()
            ref = table.next

    def refs(self, kind: type[Record]) -> list[int]:
        """Return the references of all records of a kind, oldest first: parents before their children."""
        refs = []
        size, next_at = ctypes.sizeof(kind), offset_of(kind, "next")
        ref = getattr(self.header, f"{kind.__name__}s")  # the newest
        while ref:
            offset = self._offset(ref, size)
            refs.append(ref)
            (following,) = _U32.unpack_from(self.data, offset + next_at)
            # Records are allocated in order and linked newest first: a chain only leads back.
            if following >= ref:
                raise self._circle_error()
            ref = following
        refs.reverse()
        return refs

    def _records_of(self, kind: type[Record]) -> list[tuple[int, Record]]:
        return [(ref, kind.from_buffer_copy(self.data, ref * layout.LINE)) for ref in self.refs(kind)]

    # Return every record of a kind with its reference, in the order of `refs`.
    nodes = partialmethod(_records_of, layout.Node)
    frames = partialmethod(_records_of, layout.Frame)  # those with serial 0 are free
    trees = partialmethod(_records_of, layout.Tree)
    loops = partialmethod(_records_of, layout.Loop)
    gauges = partialmethod(_records_of, layout.Gauge)
    edges = partialmethod(_records_of, layout.Edge)
    footprints = partialmethod(_records_of, layout.Footprint)
    lanes = partialmethod(_records_of, layout.Lane)

    def records(self, refs: ArrayLike, kind: np.dtype[np.void]) -> NDArray[np.void]:
        """Return a copy of the records at some references, as an array."""
        indices = np.asarray(refs, np.int64)
        if not len(indices):
            return np.empty(0, kind)
        for ref in (indices.min(), indices.max()):
            self._offset(int(ref), kind.itemsize)
        count = (len(self.data) - kind.itemsize) // layout.LINE + 1
        records: NDArray[np.void] = np.ndarray((count,), kind, self.data, strides=(layout.LINE,))
        return records[indices]

    def open_frames(self) -> dict[int, Record]:
        """Return every frame of an open call, by its reference."""
        return {ref: frame for ref, frame in self.frames() if frame.serial}

    def text(self, ref: int) -> str:
        """Return the text stored at a reference."""
        offset = self._offset(ref, 4)
        (length,) = _U32.unpack_from(self.data, offset)
        if length > 4096 or offset + 4 + length > self.header.used_bytes:
            raise self.damage_error("a name lies outside it")
        return bytes(self.data[offset + 4 : offset + 4 + length]).decode("utf-8", "replace")

    def octave(self, ref: int) -> list[int]:
        """Return the counts of one octave of a histogram."""
        offset = self._offset(ref, layout.OCTAVE_BYTES)
        return list(struct.unpack_from(f"<{layout.SUB_BUCKETS}Q", self.data, offset))

    def _offset(self, ref: int, size: int) -> int:
        offset = ref * layout.LINE
        if offset < self.header.header_bytes or offset + size > self.header.used_bytes:
            raise self.damage_error("a reference leads out of it")
        return offset

    def _circle_error(self) -> DamagedError:
        return self.damage_error("a chain of records leads in a circle")


def _read_idle_file(fd: int) -> bytes | None:
    """Return the content of a file that no process records into, read at once; None if one may."""
    size = ctypes.sizeof(layout.Header)
    head = os.pread(fd, size, 0)
    if len(head) < size:
        return None
    header = layout.Header.from_buffer_copy(head)
    if header.magic != layout.MAGIC or header.flags & layout.HeaderFlag.RECORDING:
        return None
    data = os.pread(fd, min(header.used_bytes, os.fstat(fd).st_size), 0)
    # The process may have recorded and stopped again in between: then the header differs.
    return data if len(data) == header.used_bytes and os.pread(fd, size, 0) == head else None
