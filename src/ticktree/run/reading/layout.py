"""The records of a memory file, as the native module describes those that it writes; and copying one in use.

A reader reads what its own build has written: the header holds a checksum of the layout (core/description.h).
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
    """A record; its fields are those of the C struct that a reader may know."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...


def _record_types() -> dict[str, type[Record]]:
    found: dict[str, type[Record]] = {}
    for name, (size, fields) in _RECORDS.items():
        members: list[tuple[str, Any]] = []
        end = 0
        in_order = sorted(fields, key=itemgetter(2))
        for member, kind, offset, length in (*in_order, ("", "S1", size, 0)):
            if offset > end:  # private to the process that writes, or reserved
                members.append((f"_{end}", ctypes.c_char * (offset - end)))
            item: Any = _NUMBERS.get(kind) or found[kind]
            count = length // ctypes.sizeof(item)
            if member:
                members.append((member, item if count == 1 else item * count))
            end = offset + length
        found[name] = type(name, (Record,), {"_fields_": members})
    return found


_TYPES = _record_types()
Anchor, Header, Stats, Window = (_TYPES[name] for name in ("anchor", "header", "stats", "window"))
Node, Frame, Tree, Loop, Gauge = (_TYPES[name] for name in ("node", "frame", "tree", "loop", "gauge"))
Edge, Footprint, Lane, Path = (_TYPES[name] for name in ("edge", "footprint", "lane", "path"))
Event, Ring, LoopSums, MissedRows = (_TYPES[name] for name in ("event", "ring", "loop_sums", "missed_rows"))
WorstTick = _TYPES["worst_tick"]


def offset_of(kind: type[Record], field: str) -> int:
    """Where a field is in its record."""
    offset: int = getattr(kind, field).offset
    return offset


def _flags(name: str, prefix: str) -> Any:
    values = {
        key: value for key, value in _CONSTANTS.items() if key.startswith(prefix) and key != "HEADER_BYTES"
    }
    return IntFlag(name, {key.removeprefix(prefix): value for key, value in values.items()})


NodeFlag = _flags("NodeFlag", "NODE_")
HeaderFlag = _flags("HeaderFlag", "HEADER_")

_IN_GRAPH, _GRAPH = int(NodeFlag.IN_GRAPH), "calls were captured into a graph, which runs as a whole"
# Why requested device time is missing: the first of these that is among a node's flags.
_LACKS = (
    (int(NodeFlag.ONLY_HOST), "work on the CPU is done when the call returns: the host's time is its time"),
    (int(NodeFlag.NO_LIBRARY), "nothing that uses such a device was imported"),
    (int(NodeFlag.NO_DEVICE), "there is no such device here"),
    (int(NodeFlag.NO_DEVICE_CLOCK), "it has no clock that can be read without waiting for the device"),
    (_IN_GRAPH, _GRAPH),
)
_ON_DEVICE, _REMOTE = int(NodeFlag.ON_DEVICE), int(NodeFlag.REMOTE)
_DEVICE, _DEVICE_KNOWN = int(NodeFlag.DEVICE), int(NodeFlag.DEVICE_KNOWN)


def clock_of(flags: int) -> Clock:
    """What the time of a node with these flags was measured with."""
    return DEVICE if flags & _ON_DEVICE else REMOTE if flags & _REMOTE else HOST


def device_lack_of(flags: int) -> str | None:
    """Why device time is missing, by a node's flags; None where it is there, or was not requested."""
    if not flags & _DEVICE:
        return None
    if flags & _DEVICE_KNOWN:  # of most calls: what was not there yet is by now
        return _GRAPH if flags & _IN_GRAPH else None
    for flag, reason in _LACKS:
        if flags & flag:
            return reason
    return "no device clock was in use"


# A copy takes a fraction of a microsecond; but a writer may be stopped in the middle of a write, for as long as the
# system lets others run.
_TRIES = 1000
_PAUSE_S = 0.002
_PATIENCE = 50
# What a process may add to its file while it is copied, without that everything must be copied again.
_ROOM = 1 << 16

_OCTAVES_AT, _WINDOWS_AT = offset_of(Node, "octaves"), offset_of(Node, "windows")

_Part = tuple[int, int]
_Parts = list[_Part]


@dataclass
class Copy:
    """A memory file's bytes at about one moment.

    Attributes:
        data: The bytes.
        is_whole: Whether the file did not grow meanwhile; else it is to be copied again.
        unsettled: References of records that were written again and again while they were copied, or that may refer
            to records younger than the copy: what they say of one call may be there in part.
    """

    data: bytearray
    is_whole: bool = True
    unsettled: set[int] = field(default_factory=set)


def copy_of(memory: mmap.mmap) -> Copy:
    """Copies a memory file: each record with a sequence number again and again until no write fell into its copy."""
    # The header first: a record that it leads to was whole before, whatever the order in which a processor reads.
    head = bytearray(ctypes.sizeof(Header))
    copy_settled(memory, head, offset_of(Header, "anchor_sequence"), [(0, len(head))], _TRIES)
    used = Header.from_buffer_copy(head).used_bytes
    with memoryview(memory) as whole, whole[: used + _ROOM] as part:
        copy = Copy(_without_events(part))
    copy.data[: len(head)] = head
    header = Header.from_buffer_copy(copy.data)
    if header.magic != MAGIC:
        return copy
    # Before the nodes: these may then have later marks, never earlier ones.
    _settle_paths(memory, copy.data, _chain(copy.data, header.trees, Tree))
    loops = _chain(copy.data, header.loops, Loop)
    _settle_nodes(memory, copy, _chain(copy.data, header.nodes, Node))
    _settle_all(memory, copy, loops, Loop)
    _settle_all(memory, copy, _chain(copy.data, header.gauges, Gauge), Gauge)
    _settle_all(memory, copy, _chain(copy.data, header.edges, Edge), Edge)
    prints = _chain(copy.data, header.footprints, Footprint)
    _settle_all(memory, copy, prints, Footprint)
    now = Header.from_buffer_copy(memory)
    if now.nodes != header.nodes:
        # A worst tick's breakdown may name a node that is not in the copied chain.
        copy.unsettled.update(loops)
    copy.is_whole = now.used_bytes <= len(copy.data)
    # Else it says what cannot be, and is to be found out.
    if header.used_bytes <= now.used_bytes <= len(copy.data):
        at = offset_of(Header, "used_bytes")
        copy.data[at : at + 8] = now.used_bytes.to_bytes(8, "little")
    return copy


def _without_events(memory: memoryview) -> bytearray:
    """The memory, but for the events of its timeline: most of it by far, and read by themselves (events.py)."""
    ring = Header.from_buffer_copy(memory).ring * LINE
    if not 0 < ring <= len(memory) - ctypes.sizeof(Ring):
        return bytearray(memory)
    begin = ring + ctypes.sizeof(Ring)
    size = Ring.from_buffer_copy(memory, ring).capacity * ctypes.sizeof(Event)
    end = min(begin + size, len(memory))
    data = bytearray(len(memory))
    data[:begin], data[end:] = memory[:begin], memory[end:]
    return data


def _chain(data: bytearray, newest: int, kind: type[Record]) -> list[int]:
    """The references of a chain's records, as far as they lie within the copy."""
    refs = []
    ref, size, next_at = newest, ctypes.sizeof(kind), offset_of(kind, "next")
    while ref and ref * LINE + size <= len(data):
        refs.append(ref)
        at = ref * LINE + next_at
        following = int.from_bytes(data[at : at + 4], "little")
        if following >= ref:
            break
        ref = following
    return refs


def _settle_paths(memory: mmap.mmap, data: bytearray, trees: list[int]) -> None:
    """Copies the critical paths of threads, each by itself."""
    size = ctypes.sizeof(Path)
    for ref in trees:
        at = Tree.from_buffer_copy(data, ref * LINE).path * LINE
        if at and at + size <= len(data):
            copy_settled(memory, data, at, [(at, at + size)], _TRIES)


def _settle_nodes(memory: mmap.mmap, copy: Copy, refs: list[int]) -> None:
    """Copies nodes with their histograms: nearly all at the first try, of which all is prepared at once."""
    size = ctypes.sizeof(Node)
    for ref, parts in zip(refs, _octaves_of(copy.data, refs), strict=True):
        at = ref * LINE
        parts.insert(0, (at, at + size))
        had = copy.data[at + _OCTAVES_AT : at + _WINDOWS_AT]
        settled = copy_settled(memory, copy.data, at, parts, _TRIES)
        has = copy.data[at + _OCTAVES_AT : at + _WINDOWS_AT]
        # Else it was stopped in the middle of a write, or has grown an octave since.
        if not (settled and had == has) and not _settle(memory, copy.data, at, Node):
            copy.unsettled.add(ref)


def _octaves_of(data: bytearray, refs: Sequence[int]) -> list[_Parts]:
    """Where the octaves of nodes lie, one list per node."""
    found: list[_Parts] = [[] for _ in refs]
    if not refs:
        return found
    begins = np.array(refs, np.int64) * LINE + _OCTAVES_AT
    width = _WINDOWS_AT - _OCTAVES_AT
    octaves = np.frombuffer(data, np.uint8)[begins[:, None] + np.arange(width)].view("<u4")
    owners, columns = np.nonzero(octaves)
    starts = octaves[owners, columns].astype(np.int64) * LINE
    for owner, start in zip(owners.tolist(), starts.tolist(), strict=True):
        if start + OCTAVE_BYTES <= len(data):
            found[owner].append((start, start + OCTAVE_BYTES))
    return found


def _settle_all(memory: mmap.mmap, copy: Copy, refs: list[int], kind: type[Record]) -> None:
    copy.unsettled.update(ref for ref in refs if not _settle(memory, copy.data, ref * LINE, kind))


def _settle(memory: mmap.mmap, data: bytearray, at: int, kind: type[Record]) -> bool:
    """Copies one record with its histogram; False where no copy was free of writes."""
    parts = [(at, at + ctypes.sizeof(kind))]
    for _ in range(_PATIENCE):
        settled = copy_settled(memory, data, at, parts, _TRIES)
        known, parts = parts, _parts(data, at, kind)
        if settled and parts == known:  # else it has grown an octave since
            return True
        if not settled:
            time.sleep(_PAUSE_S)
    return False


def _parts(data: bytearray, at: int, kind: type[Record]) -> _Parts:
    """Where a record, its octaves and what else is its own lie."""
    record = kind.from_buffer_copy(data, at)
    found: list[_Part] = []
    refs: set[int] = set()
    if isinstance(record, Node):
        refs = {*record.octaves, *record.warmup_octaves}
    elif isinstance(record, Gauge):
        refs = {octave.counts for octave in record.octaves}
    elif isinstance(record, Loop):
        found = list(_sums_parts(data, record.sums))
    offsets = (ref * LINE for ref in refs - {0})
    found += [(octave, octave + OCTAVE_BYTES) for octave in offsets]
    return [(at, at + ctypes.sizeof(kind)), *sorted(part for part in found if part[1] <= len(data))]


def _sums_parts(data: bytearray, ref: int) -> Iterator[_Part]:
    """Where the sums of a loop lie, with their octaves and tables."""
    at, size = ref * LINE, ctypes.sizeof(LoopSums)
    if not ref or at + size > len(data):
        return
    sums = LoopSums.from_buffer_copy(data, at)
    yield at, at + size
    for octave in {*sums.late_octaves, *sums.jitter_octaves} - {0}:
        yield octave * LINE, octave * LINE + OCTAVE_BYTES
    at, size, before = sums.missed_rows * LINE, ctypes.sizeof(MissedRows), 0
    while before < at and at + size <= len(data):
        yield at, at + size
        before, at = at, MissedRows.from_buffer_copy(data, at).next * LINE
