"""The records of a memory file, as the native module describes those that it writes (core/description.h).

A reader reads what its own build has written: the header holds a checksum of the layout.
"""

from __future__ import annotations

import ctypes
from enum import IntFlag
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ticktree.profile.clock import DEVICE, HOST, REMOTE, Clock
from ticktree.recorder import memory_layout

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
        for field, kind, offset, length in (*in_order, ("", "S1", size, 0)):
            if offset > end:  # private to the process that writes, or reserved
                members.append((f"_{end}", ctypes.c_char * (offset - end)))
            item: Any = _NUMBERS.get(kind) or found[kind]
            count = length // ctypes.sizeof(item)
            if field:
                members.append((field, item if count == 1 else item * count))
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
# Why device time that was asked for is not there, the first of these that a node's flags say.
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
    """Why device time is not there, by a node's flags; None where it is, or was not asked for."""
    if not flags & _DEVICE:
        return None
    if flags & _DEVICE_KNOWN:  # of most calls: what was not there yet is by now
        return _GRAPH if flags & _IN_GRAPH else None
    for flag, reason in _LACKS:
        if flags & flag:
            return reason
    return "no device clock was in use"
