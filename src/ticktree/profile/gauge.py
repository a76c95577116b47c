"""Gauge: a value the program reports from time to time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from ticktree.profile.histogram import Histogram, rank_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """A gauge's readings.

    It has no mean: a sum of floating-point numbers depends on their order, and merging must not.

    Attributes:
        name: the same in all gauges merged.
        last: the latest reading. Merges by the latest (wall time, writer).
        last_wall_ns: when it was read, since the epoch.
        writer: which process reported it.
        count: readings. Merges by adding.
        min: the smallest. Merges by the minimum.
        max: the largest. Merges by the maximum.
        positive: the readings above 0. Merges by adding.
        negative: the readings below 0, without their sign. Merges by adding.
        zeros: how many were 0. Merges by adding.
    """

    name: str
    last: float
    last_wall_ns: int
    writer: str
    count: int
    min: float
    max: float
    positive: Histogram = field(default_factory=Histogram)
    negative: Histogram = field(default_factory=Histogram)
    zeros: int = 0

    def __add__(self, other: Gauge) -> Gauge:
        if self.name != other.name:
            raise ValueError(f"gauges of different names do not merge: {self.name!r} and {other.name!r}")
        latest = max(self, other, key=lambda gauge: (gauge.last_wall_ns, gauge.writer, gauge.last))
        return Gauge(
            name=self.name,
            last=latest.last,
            last_wall_ns=latest.last_wall_ns,
            writer=latest.writer,
            count=self.count + other.count,
            min=min(self.min, other.min),
            max=max(self.max, other.max),
            positive=self.positive + other.positive,
            negative=self.negative + other.negative,
            zeros=self.zeros + other.zeros,
        )

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
        yield from self.positive.problems()
        yield from self.negative.problems()
        if self.zeros < 0 or not self.filed <= self.count or self.count < 1:
            yield f"{self.filed} readings are filed where {self.count} were counted"
        if not all(map(math.isfinite, (self.last, self.min, self.max))):
            yield "a reading is not a finite number"
        elif not self.min <= self.last <= self.max:
            yield f"the last reading, {self.last}, is not within {self.min} and {self.max}"
