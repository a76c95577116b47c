"""Copying a memory file that its process is writing."""

from __future__ import annotations

import ctypes
import mmap
import time
from dataclasses import dataclass, field

from ticktree.recorder import copy_settled
from ticktree.run import layout

# A copy takes a fraction of a microsecond; but a writer may be stopped in the middle of a write, for as long as the
# system lets others run.
_TRIES = 1000
_PAUSE_S = 0.002
_PATIENCE = 50

_Record = layout.Node | layout.Loop | layout.Gauge | layout.Edge


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
    copy = Copy(bytearray(memory))
    header = layout.Header.from_buffer_copy(copy.data)
    if header.magic != layout.MAGIC:
        return copy
    _settle_paths(memory, copy.data, header.trees)  # before the nodes: these may have later marks, never earlier ones
    chains = (
        (layout.Node, header.nodes),
        (layout.Loop, header.loops),
        (layout.Gauge, header.gauges),
        (layout.Edge, header.edges),
    )
    loops: list[int] = []
    for kind, newest in chains:
        ref, size = newest, ctypes.sizeof(kind)
        while ref and ref * layout.LINE + size <= len(copy.data):
            if not _settle(memory, copy.data, ref * layout.LINE, kind):
                copy.unsettled.add(ref)
            if kind is layout.Loop:
                loops.append(ref)
            following = kind.from_buffer_copy(copy.data, ref * layout.LINE).next
            if following >= ref:
                break
            ref = following
    now = layout.Header.from_buffer_copy(memory)
    if now.nodes != header.nodes:
        copy.unsettled.update(
            loops
        )  # a worst tick's breakdown may name a node that is not in the copied chain
    copy.is_whole = now.used_bytes <= len(copy.data)
    if (
        header.used_bytes <= now.used_bytes <= len(copy.data)
    ):  # else it says what cannot be, and is to be found out
        at = layout.Header.used_bytes.offset
        copy.data[at : at + 8] = now.used_bytes.to_bytes(8, "little")
    return copy


def _settle_paths(memory: mmap.mmap, data: bytearray, ref: int) -> None:
    """Copies the critical paths of threads, each by itself."""
    size = ctypes.sizeof(layout.Path)
    while ref and ref * layout.LINE + ctypes.sizeof(layout.Tree) <= len(data):
        tree = layout.Tree.from_buffer_copy(data, ref * layout.LINE)
        at = tree.path * layout.LINE
        if at and at + size <= len(data):
            copy_settled(memory, data, at, [(at, at + size)], _TRIES)
        if tree.next >= ref:
            break
        ref = tree.next


def _settle(memory: mmap.mmap, data: bytearray, at: int, kind: type[_Record]) -> bool:
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


def _parts(data: bytearray, at: int, kind: type[_Record]) -> list[tuple[int, int]]:
    """Where a record and its octaves lie."""
    record = kind.from_buffer_copy(data, at)
    refs: set[int] = set()
    if isinstance(record, layout.Node):
        refs = {*record.octaves, *record.warmup_octaves}
    elif isinstance(record, layout.Gauge):
        refs = {octave.counts for octave in record.octaves}
    offsets = sorted(ref * layout.LINE for ref in refs - {0})
    octaves = [(octave, octave + layout.OCTAVE_BYTES) for octave in offsets]
    return [(at, at + ctypes.sizeof(kind)), *(part for part in octaves if part[1] <= len(data))]
