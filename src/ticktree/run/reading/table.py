"""A memory file's nodes, all read at once: one by one they would take most of the time that a large run takes."""

from __future__ import annotations

import ctypes
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ticktree.run.reading import layout
from ticktree.run.reading.histograms import Histograms
from ticktree.run.reading.image import Image

Pairs = list[tuple[int, int]]


class NodeRow(NamedTuple):
    """What `tt_node` says in single numbers; `warm_` are those of its warm-up."""

    sequence: int
    flags: int
    own: int
    concurrent: int
    completed: int
    sum: int
    minimum: int
    maximum: int
    window_shift: int
    tree: int
    parent: int
    name: int
    site_file: int
    site_function: int
    site_line: int
    cpu_samples: int
    memory_samples: int
    cpu_ns: int
    cpu_wall: int
    memory_change: int
    memory_peak: int
    work_bytes: int
    work_flops: int
    work_items: int
    raised: int
    warm_completed: int
    warm_sum: int
    warm_minimum: int
    warm_maximum: int


class NodeTable(NamedTuple):
    """Every node of a file, parents before their children.

    Attributes:
        refs: Where each lies.
        rows: What each says in single numbers.
        histograms: Those of their calls.
        window_counts: Pairs of window and calls.
        window_totals: Pairs of window and ticks.
    """

    refs: list[int]
    rows: list[NodeRow]
    histograms: Histograms
    window_counts: list[Pairs]
    window_totals: list[Pairs]


def node_table(image: Image) -> NodeTable:
    """Reads the nodes of an image.

    Raises:
        DamagedError: They or their histograms lead out of the file, or in a circle.
    """
    refs = image.refs(image.header.nodes, layout.Node)
    records = image.records(refs, _NODE)
    windows = records["windows"]
    return NodeTable(
        refs,
        [NodeRow._make(row) for row in records[_SINGLE].tolist()],
        Histograms(image, records["octaves"]),
        _sparse(windows[:, :, 0]),
        _sparse(windows[:, :, 1]),
    )


def _sparse(table: NDArray[np.uint64]) -> list[Pairs]:
    """The pairs of column and number that are not 0, a list a row."""
    rows, columns = np.nonzero(table)
    return _split(rows, len(table), columns, table[rows, columns])


def _split(owners: NDArray[Any], count: int, keys: NDArray[Any], values: NDArray[Any]) -> list[Pairs]:
    """Pairs of key and value, a list for each of `count` owners, in whose order they come."""
    pairs = list(zip(keys.tolist(), values.tolist(), strict=True))
    ends = np.searchsorted(owners, np.arange(count + 1)).tolist()
    return [pairs[begin:end] for begin, end in pairwise(ends)]


def _node_type() -> np.dtype[np.void]:
    names, formats, offsets = [], [], []
    for name in NodeRow._fields:
        size, offset, is_signed = _place(name)
        names.append(name)
        formats.append(f"<{'i' if is_signed else 'u'}{size}")
        offsets.append(offset)
    return np.dtype(
        {
            "names": [*names, "octaves", "windows"],
            "formats": [*formats, ("<u4", (2 * layout.OCTAVES,)), ("<u8", (layout.WINDOWS, 2))],
            "offsets": [*offsets, layout.Node.octaves.offset, layout.Node.windows.offset],
            "itemsize": ctypes.sizeof(layout.Node),
        }
    )


def _place(name: str) -> tuple[int, int, bool]:
    """Size and offset in `tt_node` of a number called so in `NodeRow`, and whether it may be negative."""
    phase = layout.Node.warmup if name.startswith("warm_") else layout.Node.stats
    field = name.removeprefix("warm_").replace("completed", "count")
    if hasattr(layout.Stats, field):
        number = getattr(layout.Stats, field)
        return number.size, phase.offset + number.offset, False
    number = getattr(layout.Node, name)
    return number.size, number.offset, name in ("own", "concurrent", "memory_change")


_NODE = _node_type()
_SINGLE = list(NodeRow._fields)
