"""A memory file's nodes, all read at once: one by one they would take most of the time that a large run takes."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ticktree.run.reading import layout
from ticktree.run.reading.histograms import Histograms
from ticktree.run.reading.image import Image

Pairs = list[tuple[int, int]]


# A row of a `NodeTable`: all single numbers of `tt_node` by their names; those of its statistics as `stats_count` and
# `warmup_count`.
NodeRow: TypeAlias = Any


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
        list(map(_ROW._make, records[list(_ROW._fields)].tolist())),
        Histograms(image, np.concatenate([records["octaves"], records["warmup_octaves"]], axis=1)),
        _sparse(windows["count"]),
        _sparse(windows["sum"]),
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


def _columns(kind: type[layout.Record], prefix: str = "", begin: int = 0) -> Iterator[tuple[str, Any, int]]:
    """Name, type and offset of each field, those of statistics one by one."""
    for name, of in kind._fields_:  # type: ignore[misc]  # none is a bit field
        offset = begin + layout.offset_of(kind, name)
        if of is layout.Stats:
            yield from _columns(of, f"{name}_", offset)
        elif not name.startswith("_"):
            yield prefix + name, np.dtype(of), offset


def _node_type() -> np.dtype[np.void]:
    names, formats, offsets = zip(*_columns(layout.Node), strict=True)
    size = ctypes.sizeof(layout.Node)
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})


_NODE = _node_type()
_ROW: Any = NamedTuple(  # type: ignore[misc]  # its fields are the native module's
    "_ROW", [(name, Any) for name, of, _ in _columns(layout.Node) if not of.shape]
)
