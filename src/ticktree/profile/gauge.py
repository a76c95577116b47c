"""Gauge: a value the program reports from time to time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ticktree.profile.fields import NUMBER, TEXT, WHOLE, Object
from ticktree.profile.histogram import READINGS, Histogram, rank_of
from ticktree.profile.table import Mergeable, add, largest, same, smallest, stored, whole


def _latest(gauges: Sequence[Gauge], values: Sequence[Any]) -> Any:
    order = [(gauge.last_wall_ns, gauge.writer, gauge.last) for gauge in gauges]
    return values[order.index(max(order))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge(Mergeable):
    """A gauge's readings.

    It has no mean: a sum of floating-point numbers depends on their order, and merging must not.

    Attributes:
        name: the same in all gauges merged.
        last: the latest reading. Merges by the latest (wall time, writer).
        last_wall_ns: when it was read, since the epoch.
        writer: which process reported it.
        count: readings.
        min: the smallest.
        max: the largest.
        positive: the readings above 0.
        negative: the readings below 0, without their sign.
        zeros: how many were 0.
    """

    name: str = stored(same)
    last: float = stored(_latest, NUMBER)
    last_wall_ns: int = stored(_latest, WHOLE)
    writer: str = stored(_latest, TEXT)
    count: int = stored(add, WHOLE)
    min: float = stored(smallest, NUMBER)
    max: float = stored(largest, NUMBER)
    zeros: int = stored(add, WHOLE, least=0, default=0)
    positive: Histogram = stored(whole, READINGS, factory=Histogram)
    negative: Histogram = stored(whole, READINGS, factory=Histogram)

    def derived(self, written: Object) -> Object:
        """Return what JSON has of it, with percentiles."""
        return {**written, "p50": self.p50, "p99": self.p99}

    @property
    def filed(self) -> int:
        """Readings that are in the histograms; those too far from the others are counted, but not filed."""
        return self.negative.count + self.zeros + self.positive.count

    @property
    def zero_share(self) -> float | None:
        """Part of the readings that were 0; None where some are below it, for then 0 is a value like any other."""
        return None if self.min < 0 else self.zeros / self.count

    @property
    def p50(self) -> float | None:
        """Median reading, within 1.1%; None when none is filed."""
        return self.quantile(0.5)

    @property
    def p99(self) -> float | None:
        """Reading that 99% of the readings did not exceed, within 1.1%; None when none is filed."""
        return self.quantile(0.99)

    def quantile(self, q: float) -> float | None:
        """Reading that the share `q` of the readings did not exceed, within 1.1%; None when none is filed."""
        if not self.filed:
            return None
        rank = rank_of(q, self.filed)
        if self.filed == self.count and rank in (1, self.count):  # the ends are known exactly
            return self.min if rank == 1 else self.max
        return min(max(self._at_rank(rank), self.min), self.max)

    def _at_rank(self, rank: int) -> float:
        below, not_above = self.negative.count, self.negative.count + self.zeros
        if rank <= below:  # of the negative ones, the smallest has the largest magnitude
            return -self.negative.at_rank(below + 1 - rank)
        return 0.0 if rank <= not_above else self.positive.at_rank(rank - not_above)

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        yield from Mergeable.problems(self)
        if not self.filed <= self.count or self.count < 1:
            yield f"{self.filed} readings are filed where {self.count} were counted"
        if not all(map(math.isfinite, (self.last, self.min, self.max))):
            yield "a reading is not a finite number"
        elif not self.min <= self.last <= self.max:
            yield f"the last reading, {self.last}, is not within {self.min} and {self.max}"
