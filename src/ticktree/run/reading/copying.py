"""Copying a memory file that its process is writing."""

from __future__ import annotations

import ctypes
import mmap
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ticktree.recorder import copy_settled
from ticktree.run.reading import layout
from ticktree.run.reading.layout import Record, offset_of

# A copy takes a fraction of a microsecond; but a writer may be stopped in the middle of a write, for as long as the
# system lets others run.
_TRIES = 1000
_PAUSE_S = 0.002
_PATIENCE = 50
# What a process may add to its file while it is copied, without that everything must be copied again.
_ROOM = 1 << 16

_OCTAVES_AT, _WINDOWS_AT = offset_of(layout.Node, "octaves"), offset_of(layout.Node, "windows")

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
    head = bytearray(ctypes.sizeof(layout.Header))
    copy_settled(memory, head, offset_of(layout.Header, "anchor_sequence"), [(0, len(head))], _TRIES)
    used = layout.Header.from_buffer_copy(head).used_bytes
    with memoryview(memory) as whole, whole[: used + _ROOM] as part:
        copy = Copy(_without_events(part))
    copy.data[: len(head)] = head
    header = layout.Header.from_buffer_copy(copy.data)
    if header.magic != layout.MAGIC:
        return copy
    # Before the nodes: these may then have later marks, never earlier ones.
    _settle_paths(memory, copy.data, _chain(copy.data, header.trees, layout.Tree))
    loops = _chain(copy.data, header.loops, layout.Loop)
    _settle_nodes(memory, copy, _chain(copy.data, header.nodes, layout.Node))
    _settle_all(memory, copy, loops, layout.Loop)
    _settle_all(memory, copy, _chain(copy.data, header.gauges, layout.Gauge), layout.Gauge)
    _settle_all(memory, copy, _chain(copy.data, header.edges, layout.Edge), layout.Edge)
    prints = _chain(copy.data, header.footprints, layout.Footprint)
    _settle_all(memory, copy, prints, layout.Footprint)
    now = layout.Header.from_buffer_copy(memory)
    if now.nodes != header.nodes:
        # A worst tick's breakdown may name a node that is not in the copied chain.
        copy.unsettled.update(loops)
    copy.is_whole = now.used_bytes <= len(copy.data)
    # Else it says what cannot be, and is to be found out.
    if header.used_bytes <= now.used_bytes <= len(copy.data):
        at = offset_of(layout.Header, "used_bytes")
        copy.data[at : at + 8] = now.used_bytes.to_bytes(8, "little")
    return copy


def _without_events(memory: memoryview) -> bytearray:
    """The memory, but for the events of its timeline: most of it by far, and read by themselves (events.py)."""
    ring = layout.Header.from_buffer_copy(memory).ring * layout.LINE
    if not 0 < ring <= len(memory) - ctypes.sizeof(layout.Ring):
        return bytearray(memory)
    begin = ring + ctypes.sizeof(layout.Ring)
    size = layout.Ring.from_buffer_copy(memory, ring).capacity * ctypes.sizeof(layout.Event)
    end = min(begin + size, len(memory))
    data = bytearray(len(memory))
    data[:begin], data[end:] = memory[:begin], memory[end:]
    return data


def _chain(data: bytearray, newest: int, kind: type[Record]) -> list[int]:
    """The references of a chain's records, as far as they lie within the copy."""
    refs = []
    ref, size, next_at = newest, ctypes.sizeof(kind), offset_of(kind, "next")
    while ref and ref * layout.LINE + size <= len(data):
        refs.append(ref)
        at = ref * layout.LINE + next_at
        following = int.from_bytes(data[at : at + 4], "little")
        if following >= ref:
            break
        ref = following
    return refs


def _settle_paths(memory: mmap.mmap, data: bytearray, trees: list[int]) -> None:
    """Copies the critical paths of threads, each by itself."""
    size = ctypes.sizeof(layout.Path)
    for ref in trees:
        at = layout.Tree.from_buffer_copy(data, ref * layout.LINE).path * layout.LINE
        if at and at + size <= len(data):
            copy_settled(memory, data, at, [(at, at + size)], _TRIES)


def _settle_nodes(memory: mmap.mmap, copy: Copy, refs: list[int]) -> None:
    """Copies nodes with their histograms: nearly all at the first try, of which all is prepared at once."""
    size = ctypes.sizeof(layout.Node)
    for ref, parts in zip(refs, _octaves_of(copy.data, refs), strict=True):
        at = ref * layout.LINE
        parts.insert(0, (at, at + size))
        had = copy.data[at + _OCTAVES_AT : at + _WINDOWS_AT]
        settled = copy_settled(memory, copy.data, at, parts, _TRIES)
        has = copy.data[at + _OCTAVES_AT : at + _WINDOWS_AT]
        # Else it was stopped in the middle of a write, or has grown an octave since.
        if not (settled and had == has) and not _settle(memory, copy.data, at, layout.Node):
            copy.unsettled.add(ref)


def _octaves_of(data: bytearray, refs: Sequence[int]) -> list[_Parts]:
    """Where the octaves of nodes lie, a list a node."""
    found: list[_Parts] = [[] for _ in refs]
    if not refs:
        return found
    begins = np.array(refs, np.int64) * layout.LINE + _OCTAVES_AT
    width = _WINDOWS_AT - _OCTAVES_AT
    octaves = np.frombuffer(data, np.uint8)[begins[:, None] + np.arange(width)].view("<u4")
    owners, columns = np.nonzero(octaves)
    starts = octaves[owners, columns].astype(np.int64) * layout.LINE
    for owner, start in zip(owners.tolist(), starts.tolist(), strict=True):
        if start + layout.OCTAVE_BYTES <= len(data):
            found[owner].append((start, start + layout.OCTAVE_BYTES))
    return found


def _settle_all(memory: mmap.mmap, copy: Copy, refs: list[int], kind: type[Record]) -> None:
    copy.unsettled.update(ref for ref in refs if not _settle(memory, copy.data, ref * layout.LINE, kind))


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
    if isinstance(record, layout.Node):
        refs = {*record.octaves, *record.warmup_octaves}
    elif isinstance(record, layout.Gauge):
        refs = {octave.counts for octave in record.octaves}
    elif isinstance(record, layout.Loop):
        found = list(_sums_parts(data, record.sums))
    offsets = (ref * layout.LINE for ref in refs - {0})
    found += [(octave, octave + layout.OCTAVE_BYTES) for octave in offsets]
    return [(at, at + ctypes.sizeof(kind)), *sorted(part for part in found if part[1] <= len(data))]


def _sums_parts(data: bytearray, ref: int) -> Iterator[_Part]:
    """Where the sums of a loop lie, with their octaves and tables."""
    at, size = ref * layout.LINE, ctypes.sizeof(layout.LoopSums)
    if not ref or at + size > len(data):
        return
    sums = layout.LoopSums.from_buffer_copy(data, at)
    yield at, at + size
    for octave in {*sums.late_octaves, *sums.jitter_octaves} - {0}:
        yield octave * layout.LINE, octave * layout.LINE + layout.OCTAVE_BYTES
    at, size, before = sums.missed_rows * layout.LINE, ctypes.sizeof(layout.MissedRows), 0
    while before < at and at + size <= len(data):
        yield at, at + size
        before, at = at, layout.MissedRows.from_buffer_copy(data, at).next * layout.LINE
