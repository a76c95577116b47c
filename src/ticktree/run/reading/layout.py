"""The records of a memory file, from the native module's description, and how to copy a file in use.

A reader reads only files of its own build: the header contains a checksum of the layout (core/description.h).
"""

from __future__ import annotations

import ctypes
import mmap
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntFlag
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ticktree.profile.measures import DEVICE, HOST, REMOTE, Clock
from ticktree.recorder import copy_settled, memory_layout

_RECORDS, _CONSTANTS, LOSSES, CLOCKS, CHECKSUM = memory_layout()

MAGIC = _CONSTANTS["MAGIC"]
FORMAT = _CONSTANTS["FORMAT"]
LINE = _CONSTANTS["LINE"]
OCTAVES = _CONSTANTS["OCTAVES"]
SUB_BUCKETS = _CONSTANTS["SUB_BUCKETS"]
SHARES = _CONSTANTS["SHARES"]
OCTAVE_BYTES = 8 * SUB_BUCKETS

_NUMBERS = {
    "u4": ctypes.c_uint32,
    "u8": ctypes.c_uint64,
    "i8": ctypes.c_int64,
    "i2": ctypes.c_int16,
    "f8": ctypes.c_double,
    "S1": ctypes.c_char,
}


class Record(ctypes.LittleEndianStructure):
    """A record; its fields are the public ones of the C struct."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...


def _record_types() -> dict[str, type[Record]]:
    types: dict[str, type[Record]] = {}
    for name, (size, fields) in _RECORDS.items():
        members: list[tuple[str, Any]] = []
        end = 0
        in_order = sorted(fields, key=itemgetter(2))
        for member, kind, offset, length in (*in_order, ("", "S1", size, 0)):
            if offset > end:  # private to the writing process, or reserved
                members.append((f"_{end}", ctypes.c_char * (offset - end)))
            item: Any = _NUMBERS.get(kind) or types[kind]
            count = length // ctypes.sizeof(item)
            if member:
                members.append((member, item if count == 1 else item * count))
            end = offset + length
        types[name] = type(name, (Record,), {"_fields_": members})
    return types


_TYPES = _record_types()
Anchor, Header, Stats, Window = (_TYPES[name] for name in ("anchor", "header", "stats", "window"))
Node, Frame, Tree, Loop, Gauge = (_TYPES[name] for name in ("node", "frame", "tree", "loop", "gauge"))
Edge, Footprint, Lane, Path = (_TYPES[name] for name in ("edge", "footprint", "lane", "path"))
Event, Ring, LoopSums, MissedRows = (_TYPES[name] for name in ("event", "ring", "loop_sums", "missed_rows"))
WorstTick = _TYPES["worst_tick"]


def offset_of(kind: type[Record], field: str) -> int:
    """Return the offset of a field in its record."""
    offset: int = getattr(kind, field).offset
    return offset


def _flags(name: str, prefix: str) -> Any:
    keys = (key for key in _CONSTANTS if key.startswith(prefix) and key != "HEADER_BYTES")
    return IntFlag(name, {key.removeprefix(prefix): _CONSTANTS[key] for key in keys})


NodeFlag = _flags("NodeFlag", "NODE_")
HeaderFlag = _flags("HeaderFlag", "HEADER_")

_IN_GRAPH, _GRAPH_REASON = int(NodeFlag.IN_GRAPH), "calls were captured into a graph, which runs as a whole"
# Why requested device time is missing: the reason of the first of these flags that a node has.
_MISSING_REASONS = (
    (int(NodeFlag.ONLY_HOST), "work on the CPU is done when the call returns: the host's time is its time"),
    (int(NodeFlag.NO_LIBRARY), "nothing that uses such a device was imported"),
    (int(NodeFlag.NO_DEVICE), "there is no such device here"),
    (int(NodeFlag.NO_DEVICE_CLOCK), "it has no clock that can be read without waiting for the device"),
    (_IN_GRAPH, _GRAPH_REASON),
)
_ON_DEVICE, _REMOTE = int(NodeFlag.ON_DEVICE), int(NodeFlag.REMOTE)
_DEVICE, _DEVICE_KNOWN = int(NodeFlag.DEVICE), int(NodeFlag.DEVICE_KNOWN)


def clock_of(flags: int) -> Clock:
    """Return the clock that measured a node with these flags."""
    return DEVICE if flags & _ON_DEVICE else REMOTE if flags & _REMOTE else HOST


def missing_device_reason(flags: int) -> str | None:
    """Return why a node's device time is missing, by its flags; None if it is known, or was not requested."""
    if not flags & _DEVICE:
        return None
    if flags & _DEVICE_KNOWN:  # it is known for most calls, and earlier reasons no longer apply
        return _GRAPH_REASON if flags & _IN_GRAPH else None
    for flag, reason in _MISSING_REASONS:
        if flags & flag:
            return reason
    return "no device clock was in use"


# A copy takes a fraction of a microsecond, but the system may preempt a writer in the middle of a write.
_TRIES = 1000
_PAUSE_S = 0.002
_MAX_RETRIES = 50
# How many bytes a process may add to its file during a copy before everything must be copied again.
_GROWTH_BYTES = 1 << 16

_OCTAVES_AT, _WINDOWS_AT = offset_of(Node, "octaves"), offset_of(Node, "windows")

_Range = tuple[int, int]
_Ranges = list[_Range]


@dataclass
class Copy:
    """A memory file's bytes at about one moment.

    Attributes:
        is_complete: Whether the copy includes all records; if not, copy again.
        torn_refs: References of records that every copy interrupted in a write, or that may refer to records younger
            than the copy: they may contain only part of a call.
    """

    data: bytearray
    is_complete: bool = True
    torn_refs: set[int] = field(default_factory=set)


def copy_file(memory: mmap.mmap) -> Copy:
    """Copy a memory file; repeat each record with a sequence number until no write interrupted its copy."""
    # The header first: records that it refers to were complete before, in whatever order the processor reads.
    head = bytearray(ctypes.sizeof(Header))
    copy_settled(memory, head, offset_of(Header, "anchor_sequence"), [(0, len(head))], _TRIES)
    used_bytes = Header.from_buffer_copy(head).used_bytes
    with memoryview(memory) as view, view[: used_bytes + _GROWTH_BYTES] as used:
        copy = Copy(_without_events(used))
    copy.data[: len(head)] = head
    header = Header.from_buffer_copy(copy.data)
    if header.magic != MAGIC:
        return copy
    # Before the nodes, whose marks may then be later, never earlier.
    _settle_paths(memory, copy.data, _chain_refs(copy.data, header, Tree))
    loops = _chain_refs(copy.data, header, Loop)
    _settle_nodes(memory, copy, _chain_refs(copy.data, header, Node))
    _settle_all(memory, copy, loops, Loop)
    for kind in (Gauge, Edge, Footprint):
        _settle_all(memory, copy, _chain_refs(copy.data, header, kind), kind)
    now = Header.from_buffer_copy(memory)
    if now.nodes != header.nodes:
        # A worst tick's breakdown may name a node that is not in the copied chain.
        copy.torn_refs.update(loops)
    copy.is_complete = now.used_bytes <= len(copy.data)
    # Otherwise the header is not valid, and must be reported as such.
    if header.used_bytes <= now.used_bytes <= len(copy.data):
        offset = offset_of(Header, "used_bytes")
        copy.data[offset : offset + 8] = now.used_bytes.to_bytes(8, "little")
    return copy


def _without_events(memory: memoryview) -> bytearray:
    """Return a copy without the events of the timeline: by far the most bytes, read separately (records.py)."""
    ring = Header.from_buffer_copy(memory).ring * LINE
    if not 0 < ring <= len(memory) - ctypes.sizeof(Ring):
        return bytearray(memory)
    begin = ring + ctypes.sizeof(Ring)
    size = Ring.from_buffer_copy(memory, ring).capacity * ctypes.sizeof(Event)
    end = min(begin + size, len(memory))
    data = bytearray(len(memory))
    data[:begin], data[end:] = memory[:begin], memory[end:]
    return data


def _chain_refs(data: bytearray, header: Record, kind: type[Record]) -> list[int]:
    """Return the references of a kind's records, newest first, as far as they are within the copy."""
    refs = []
    ref = getattr(header, f"{kind.__name__}s")  # the newest
    size, next_at = ctypes.sizeof(kind), offset_of(kind, "next")
    while ref and ref * LINE + size <= len(data):
        refs.append(ref)
        offset = ref * LINE + next_at
        following = int.from_bytes(data[offset : offset + 4], "little")
        if following >= ref:
            break
        ref = following
    return refs


def _settle_paths(memory: mmap.mmap, data: bytearray, trees: list[int]) -> None:
    """Copy the critical path of each thread."""
    size = ctypes.sizeof(Path)
    for ref in trees:
        offset = Tree.from_buffer_copy(data, ref * LINE).path * LINE
        if offset and offset + size <= len(data):
            copy_settled(memory, data, offset, [(offset, offset + size)], _TRIES)


def _settle_nodes(memory: mmap.mmap, copy: Copy, refs: list[int]) -> None:
    """Copy nodes with their histograms: first all at once, which succeeds for nearly all, then one by one."""
    size = ctypes.sizeof(Node)
    for ref, ranges in zip(refs, _octave_ranges(copy.data, refs), strict=True):
        offset = ref * LINE
        ranges.insert(0, (offset, offset + size))
        octaves = copy.data[offset + _OCTAVES_AT : offset + _WINDOWS_AT]
        settled = copy_settled(memory, copy.data, offset, ranges, _TRIES)
        new_octaves = copy.data[offset + _OCTAVES_AT : offset + _WINDOWS_AT]
        # Otherwise its writer was preempted in the middle of a write, or has added an octave since.
        if not (settled and octaves == new_octaves) and not _settle(memory, copy.data, offset, Node):
            copy.torn_refs.add(ref)


def _octave_ranges(data: bytearray, refs: Sequence[int]) -> list[_Ranges]:
    """Return the byte ranges of the octaves of nodes, one list per node."""
    ranges: list[_Ranges] = [[] for _ in refs]
    if not refs:
        return ranges
    begins = np.array(refs, np.int64) * LINE + _OCTAVES_AT
    width = _WINDOWS_AT - _OCTAVES_AT
    octaves = np.frombuffer(data, np.uint8)[begins[:, None] + np.arange(width)].view("<u4")
    owners, columns = np.nonzero(octaves)
    starts = octaves[owners, columns].astype(np.int64) * LINE
    for owner, start in zip(owners.tolist(), starts.tolist(), strict=True):
        if start + OCTAVE_BYTES <= len(data):
            ranges[owner].append((start, start + OCTAVE_BYTES))
    return ranges


def _settle_all(memory: mmap.mmap, copy: Copy, refs: list[int], kind: type[Record]) -> None:
    copy.torn_refs.update(ref for ref in refs if not _settle(memory, copy.data, ref * LINE, kind))


def _settle(memory: mmap.mmap, data: bytearray, offset: int, kind: type[Record]) -> bool:
    """Copy one record with its histogram; return False if writes interrupted every copy."""
    ranges = [(offset, offset + ctypes.sizeof(kind))]
    for _ in range(_MAX_RETRIES):
        settled = copy_settled(memory, data, offset, ranges, _TRIES)
        previous, ranges = ranges, _ranges_of(data, offset, kind)
        if settled and ranges == previous:  # otherwise the writer has added an octave since
            return True
        if not settled:
            time.sleep(_PAUSE_S)
    return False


def _ranges_of(data: bytearray, offset: int, kind: type[Record]) -> _Ranges:
    """Return the byte ranges of a record, its octaves and its tables."""
    record = kind.from_buffer_copy(data, offset)
    ranges: list[_Range] = []
    refs: set[int] = set()
    if isinstance(record, Node):
        refs = {*record.octaves, *record.warmup_octaves}
    elif isinstance(record, Gauge):
        refs = {octave.counts for octave in record.octaves}
    elif isinstance(record, Loop):
        ranges = list(_sums_ranges(data, record.sums))
    offsets = (ref * LINE for ref in refs - {0})
    ranges += [(octave, octave + OCTAVE_BYTES) for octave in offsets]
    ranges = sorted((begin, end) for begin, end in ranges if end <= len(data))
    return [(offset, offset + ctypes.sizeof(kind)), *ranges]


def _sums_ranges(data: bytearray, ref: int) -> Iterator[_Range]:
    """Yield the byte ranges of a loop's sums, with their octaves and tables."""
    offset, size = ref * LINE, ctypes.sizeof(LoopSums)
    if not ref or offset + size > len(data):
        return
    sums = LoopSums.from_buffer_copy(data, offset)
    yield offset, offset + size
    for octave in {*sums.late_octaves, *sums.jitter_octaves} - {0}:
        yield octave * LINE, octave * LINE + OCTAVE_BYTES
    offset, size, previous = sums.missed_rows * LINE, ctypes.sizeof(MissedRows), 0
    while previous < offset and offset + size <= len(data):
        yield offset, offset + size
        previous, offset = offset, MissedRows.from_buffer_copy(data, offset).next * LINE
