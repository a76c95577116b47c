"""Histograms of a memory file, and their sums: whole octaves at a time, not bucket by bucket."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ticktree.run.reading import layout
from ticktree.run.reading.image import Image

Counts = NDArray[np.uint64]

# More calls of one duration than a process makes in a year; and so few that no sum of them overflows.
_MOST_CALLS = 1 << 48
_OCTAVE = np.dtype([("counts", "<u8", (layout.SUB_BUCKETS,))])


class Histograms:
    """The histograms of a file's nodes, two of each: of its calls, and of its warm-up's.

    Args:
        image: The file.
        octaves: The references of each node's octaves, those of its warm-up behind the others.

    Attributes:
        filed: How many calls each histogram holds; that of the warm-up of the node at `place` is at `2 * place + 1`.

    Raises:
        DamagedError: They lead out of the file, or hold more calls than there can be.
    """

    def __init__(self, image: Image, octaves: NDArray[np.uint32]) -> None:
        nodes, columns = np.nonzero(octaves)
        self._counts: Counts = image.records(octaves[nodes, columns], _OCTAVE)["counts"]
        if self._counts.size and self._counts.max() > _MOST_CALLS:
            raise image.damaged("a histogram holds more calls than there can be")
        owners = 2 * nodes + (columns >= layout.OCTAVES)
        self._owners = owners
        self._octaves = columns % layout.OCTAVES
        sums = np.zeros(2 * len(octaves), np.uint64)
        np.add.at(sums, owners, self._counts.sum(axis=1, dtype=np.uint64))
        self.filed: list[int] = sums.tolist()

    def buckets(self, place: int) -> dict[int, int]:
        """One histogram, as a profile holds it."""
        rows = np.flatnonzero(self._owners == place)
        return _buckets(self._octaves[rows], self._counts[rows])

    def add_to(self, sums: HistogramSums, slots: NDArray[np.int64]) -> None:
        """Adds each histogram to the sum in a slot of its own or of several; none where the slot is -1."""
        targets = slots[self._owners]
        wanted = targets >= 0
        sums.add(targets[wanted], self._octaves[wanted], self._counts[wanted])


class HistogramSums:
    """Sums of histograms, each in a slot."""

    def __init__(self) -> None:
        self._row_of = np.full(layout.OCTAVES, -1, np.int32)  # of each octave of each slot
        self._counts: Counts = np.zeros((64, layout.SUB_BUCKETS), np.uint64)
        self._rows = 0

    def add(self, slots: NDArray[np.int64], octaves: NDArray[np.int64], counts: Counts) -> None:
        """Adds octaves of histograms to those in some slots."""
        if not len(slots):
            return
        places = slots * layout.OCTAVES + octaves
        self._make(places)
        rows = self._row_of[places]
        if np.bincount(rows).max() == 1:
            self._counts[rows] += counts
        else:  # threads that write to the same node
            np.add.at(self._counts, rows, counts)

    def buckets(self, slot: int) -> dict[int, int]:
        """The sum in a slot, as a profile holds it."""
        rows = self._row_of[slot * layout.OCTAVES : (slot + 1) * layout.OCTAVES]
        octaves = np.flatnonzero(rows >= 0)
        return _buckets(octaves, self._counts[rows[octaves]])

    def _make(self, places: NDArray[np.int64]) -> None:
        """Makes room for octaves that have none yet."""
        beyond = int(places.max()) + 1 - len(self._row_of)
        if beyond > 0:
            more = np.full(max(beyond, len(self._row_of)), -1, np.int32)
            self._row_of = np.concatenate([self._row_of, more])
        missing = places[self._row_of[places] < 0]
        if not len(missing):
            return
        new = np.unique(missing)
        self._row_of[new] = np.arange(self._rows, self._rows + len(new))
        self._rows += len(new)
        if self._rows > len(self._counts):
            room = max(self._rows, 2 * len(self._counts))
            more_counts = np.zeros((room - len(self._counts), layout.SUB_BUCKETS), np.uint64)
            self._counts = np.concatenate([self._counts, more_counts])


def _buckets(octaves: NDArray[np.int64], counts: Counts) -> dict[int, int]:
    """A histogram, as a profile holds it, from its octaves in ascending order."""
    rows, subs = np.nonzero(counts)
    buckets = octaves[rows] * layout.SUB_BUCKETS + subs
    return dict(zip(buckets.tolist(), counts[rows, subs].tolist(), strict=True))
