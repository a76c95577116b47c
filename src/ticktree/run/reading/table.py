"""Read all nodes of a memory file at once: one by one, they would take most of the time for a large run."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ticktree.profile import Memory
from ticktree.run.reading import layout
from ticktree.run.reading.image import Image

Pairs = list[tuple[int, int]]


# A row of a `NodeTable`: all scalar fields of `tt_node` by name; those of its statistics as in `stats_count` and
# `warmup_count`.
NodeRow: TypeAlias = Any


class NodeTable(NamedTuple):
    """Every node of a file, parents before their children.

    Attributes:
        window_counts: Pairs of window and number of calls, per node.
        window_totals: Pairs of window and clock ticks, per node.
    """

    refs: list[int]
    rows: list[NodeRow]
    histograms: Histograms
    window_counts: list[Pairs]
    window_totals: list[Pairs]


def node_table(image: Image) -> NodeTable:
    """Return the nodes of an image."""
    refs = image.refs(layout.Node)
    records = image.records(refs, _NODE)
    windows = records["windows"]
    return NodeTable(
        refs,
        list(map(_ROW._make, records[list(_ROW._fields)].tolist())),
        Histograms(image, np.concatenate([records["octaves"], records["warmup_octaves"]], axis=1)),
        _sparse(windows["count"]),
        _sparse(windows["sum"]),
    )


def _sparse(table: NDArray[np.uint64]) -> list[Pairs]:
    """Return the pairs of column and value that are not 0, one list per row."""
    rows, columns = np.nonzero(table)
    pairs = list(zip(columns.tolist(), table[rows, columns].tolist(), strict=True))
    ends = np.searchsorted(rows, np.arange(len(table) + 1)).tolist()
    return [pairs[begin:end] for begin, end in pairwise(ends)]


def _columns(kind: type[layout.Record], prefix: str = "", begin: int = 0) -> Iterator[tuple[str, Any, int]]:
    """Yield name, type and offset of each field, with the fields of statistics flattened."""
    for name, field_type in kind._fields_:  # type: ignore[misc]  # none is a bit field
        offset = begin + layout.offset_of(kind, name)
        if field_type is layout.Stats:
            yield from _columns(field_type, f"{name}_", offset)
        elif not name.startswith("_"):
            yield prefix + name, np.dtype(field_type), offset


def _node_type() -> np.dtype[np.void]:
    names, formats, offsets = zip(*_columns(layout.Node), strict=True)
    size = ctypes.sizeof(layout.Node)
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})


_NODE = _node_type()
_ROW: Any = NamedTuple(  # type: ignore[misc]  # its fields are the native module's
    "_ROW", [(name, Any) for name, field_type, _ in _columns(layout.Node) if not field_type.shape]
)


Counts = NDArray[np.uint64]

# More calls of one duration than a process makes in a year; small enough that no sum overflows.
_MOST_CALLS = 1 << 48
_OCTAVE = np.dtype([("counts", "<u8", (layout.SUB_BUCKETS,))])


class Histograms:
    """The histograms of a file's nodes, two per node: of its calls, and of those of the warm-up.

    Args:
        octaves: The references of each node's octaves, those of the warm-up last.

    Attributes:
        counts: Number of calls per histogram: at `2 * index` of a node, at `2 * index + 1` of its warm-up.
    """

    def __init__(self, image: Image, octaves: NDArray[np.uint32]) -> None:
        nodes, columns = np.nonzero(octaves)
        self._counts: Counts = image.records(octaves[nodes, columns], _OCTAVE)["counts"]
        if self._counts.size and self._counts.max() > _MOST_CALLS:
            raise image.damage_error("a histogram holds more calls than there can be")
        owners = 2 * nodes + (columns >= layout.OCTAVES)
        self._owners = owners
        self._octaves = columns % layout.OCTAVES
        sums = np.zeros(2 * len(octaves), np.uint64)
        np.add.at(sums, owners, self._counts.sum(axis=1, dtype=np.uint64))
        self.counts: list[int] = sums.tolist()

    def buckets(self, index: int) -> dict[int, int]:
        """Return one histogram's buckets, as in a profile."""
        rows = np.flatnonzero(self._owners == index)
        return _buckets(self._octaves[rows], self._counts[rows])

    def add_to(self, sums: HistogramSums, slots: NDArray[np.int64]) -> None:
        """Add each histogram to the sum in its slot, which several may share; skip those with slot -1."""
        targets = slots[self._owners]
        has_slot = targets >= 0
        sums.add(targets[has_slot], self._octaves[has_slot], self._counts[has_slot])


class HistogramSums:
    """Sums of histograms, each in a slot."""

    def __init__(self) -> None:
        self._row_of = np.full(layout.OCTAVES, -1, np.int32)  # of each octave of each slot
        self._counts: Counts = np.zeros((64, layout.SUB_BUCKETS), np.uint64)
        self._rows = 0

    def add(self, slots: NDArray[np.int64], octaves: NDArray[np.int64], counts: Counts) -> None:
        """Add octaves of histograms to the sums in some slots."""
        if not len(slots):
            return
        indices = slots * layout.OCTAVES + octaves
        self._allocate(indices)
        rows = self._row_of[indices]
        if np.bincount(rows).max() == 1:
            self._counts[rows] += counts
        else:  # threads that write to the same node
            np.add.at(self._counts, rows, counts)

    def buckets(self, slot: int) -> dict[int, int]:
        """Return the buckets of the sum in a slot, as in a profile."""
        rows = self._row_of[slot * layout.OCTAVES : (slot + 1) * layout.OCTAVES]
        octaves = np.flatnonzero(rows >= 0)
        return _buckets(octaves, self._counts[rows[octaves]])

    def _allocate(self, indices: NDArray[np.int64]) -> None:
        """Allocate rows for octaves that have none yet."""
        growth = int(indices.max()) + 1 - len(self._row_of)
        if growth > 0:
            new_rows = np.full(max(growth, len(self._row_of)), -1, np.int32)
            self._row_of = np.concatenate([self._row_of, new_rows])
        unallocated = indices[self._row_of[indices] < 0]
        if not len(unallocated):
            return
        new = np.unique(unallocated)
        self._row_of[new] = np.arange(self._rows, self._rows + len(new))
        self._rows += len(new)
        if self._rows > len(self._counts):
            size = max(self._rows, 2 * len(self._counts))
            new_counts = np.zeros((size - len(self._counts), layout.SUB_BUCKETS), np.uint64)
            self._counts = np.concatenate([self._counts, new_counts])


def _buckets(octaves: NDArray[np.int64], counts: Counts) -> dict[int, int]:
    """Return a histogram's buckets, as in a profile, from its octaves in ascending order."""
    rows, subs = np.nonzero(counts)
    buckets = octaves[rows] * layout.SUB_BUCKETS + subs
    return dict(zip(buckets.tolist(), counts[rows, subs].tolist(), strict=True))


class Footprint(NamedTuple):
    """The memory that the calls of one node needed."""

    resident: Memory | None = None
    device: Memory | None = None


def footprints_of(image: Image) -> Mapping[int, Footprint]:
    """Return the footprints of a memory file, by the reference of their node."""
    footprints: dict[int, Footprint] = {}
    for _, record in image.footprints():
        if not record.samples:
            continue
        footprint = footprints.get(record.node, Footprint())
        if record.device:
            memory = _memory(record, frozenset({image.text(record.device)}))
            footprints[record.node] = footprint._replace(device=_add_device(footprint.device, memory))
        else:
            footprints[record.node] = footprint._replace(resident=_memory(record, frozenset()))
    return footprints


def _memory(record: layout.Record, devices: frozenset[str]) -> Memory:
    return Memory(
        samples=record.samples,
        change_bytes=record.change,
        peak_bytes=record.peak,
        # A record copied during a write may have a growth and not yet its peak.
        growth_bytes=min(record.growth, record.peak),
        is_exact=record.peak >= record.peak_bound and record.growth >= record.growth_bound,
        devices=devices,
    )


def _add_device(first: Memory | None, second: Memory) -> Memory:
    """Return the memory that the same calls needed on several devices; the number of calls stays the same."""
    if first is None:
        return second
    return replace(first + second, samples=max(first.samples, second.samples))
