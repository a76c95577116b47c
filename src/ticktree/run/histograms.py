"""Histograms of a memory file, and their sums: whole octaves at a time, not bucket by bucket."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from ticktree.run import layout
from ticktree.run.image import Image

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
        self._owners: list[int] = owners.tolist()
        self._octaves: list[int] = (columns % layout.OCTAVES).tolist()
        self._rows: list[Counts] = list(self._counts)
        sums = np.zeros(2 * len(octaves), np.uint64)
        np.add.at(sums, owners, self._counts.sum(axis=1, dtype=np.uint64))
        self.filed: list[int] = sums.tolist()

    def buckets(self, place: int) -> dict[int, int]:
        """One histogram, as a profile holds it."""
        tally = OctavesTally()
        self.add_to(tally, place)
        return tally.buckets()

    def add_to(self, tally: OctavesTally, place: int) -> None:
        """Adds one histogram to a sum."""
        at = bisect_left(self._owners, place)
        while at < len(self._owners) and self._owners[at] == place:
            tally.add(self._octaves[at], self._rows[at])
            at += 1


class OctavesTally:
    """The sum of histograms."""

    __slots__ = ("_octaves",)

    def __init__(self) -> None:
        self._octaves: dict[int, Counts] = {}

    def add(self, octave: int, counts: Counts) -> None:
        """Adds one octave of one histogram."""
        if octave in self._octaves:
            self._octaves[octave] += counts
        else:
            self._octaves[octave] = counts.copy()

    def buckets(self) -> dict[int, int]:
        """The sum, as a profile holds it."""
        found: dict[int, int] = {}
        for octave in sorted(self._octaves):
            counts = self._octaves[octave]
            subs = np.flatnonzero(counts)
            first = octave * layout.SUB_BUCKETS
            found.update(zip((first + subs).tolist(), counts[subs].tolist(), strict=True))
        return found
