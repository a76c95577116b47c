"""Gauge: a value the program reports from time to time."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ticktree.profile.fields import LIMIT, NUMBER, TEXT, WHOLE, Codec, Fields, Object
from ticktree.profile.histogram import READINGS, Histogram, rank_of
from ticktree.profile.stats import BASE_WIDTH_NS, coarse, is_width, joined, width_until
from ticktree.profile.table import (
    Mergeable,
    add,
    largest,
    nested,
    same,
    smallest,
    stored,
    where_known,
    whole,
)


@dataclass(frozen=True, slots=True)
class Readings:
    """A gauge's readings in one window of the run."""

    count: int
    min: float
    max: float

    def joined(self, other: Readings) -> Readings:
        """Return the readings of both."""
        return Readings(self.count + other.count, min(self.min, other.min), max(self.max, other.max))


def _write_readings(table: Mapping[int, Readings], _: Any) -> list[Any]:
    return [[index, one.count, one.min, one.max] for index, one in sorted(table.items())]


def _read_readings(fields: Fields, key: str) -> dict[int, Readings]:
    table: dict[int, Readings] = {}
    for entry in fields.list(key):
        if not isinstance(entry, list) or len(entry) != 4:
            fields.fail(
                f"{key!r} should be a list of windows, each with an index, a count, a minimum and a maximum"
            )
        index, count, low, high = entry
        if not (type(index) is int and type(count) is int and 0 <= index < LIMIT and 0 < count < LIMIT):
            fields.fail(f"{key!r} has an index or a count that cannot be")
        if index in table:
            fields.fail(f"{key!r} has the same index twice")
        table[index] = Readings(count, fields.finite(key, low), fields.finite(key, high))
    return table


@dataclass(frozen=True, slots=True)
class GaugeWindows(Mergeable):
    """A gauge's readings per window of the run. Merges by coarsening the finer one, exactly.

    Attributes:
        width_ns: length of a window: 10 ms times a power of two.
        readings: by window, those without readings are absent; index 0 starts when the run began.
    """

    width_ns: int = stored(largest, WHOLE, default=BASE_WIDTH_NS)
    readings: Mapping[int, Readings] = stored(
        coarse("readings", Readings.joined), Codec(_write_readings, _read_readings), factory=dict
    )

    @classmethod
    def of(cls, readings: Sequence[tuple[int, float]]) -> GaugeWindows:
        """Return the windows of `readings`: when each was taken, in nanoseconds since the run began, and its value."""
        width_ns = width_until(max(since_ns for since_ns, _ in readings))
        alone = (({since_ns: Readings(1, value, value)}, width_ns) for since_ns, value in readings)
        return cls(width_ns, joined(alone, Readings.joined))

    def later_half(self) -> list[float]:
        """Return the middle of each window with readings in the later half of the gauge's time, in order."""
        if not self.readings:
            return []
        middle = (min(self.readings) + max(self.readings)) / 2
        return [
            (readings.min + readings.max) / 2
            for index, readings in sorted(self.readings.items())
            if index >= middle
        ]

    @property
    def whole(self) -> Readings | None:
        """All readings; None if there are none."""
        return functools.reduce(Readings.joined, self.readings.values()) if self.readings else None

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        if not is_width(self.width_ns):
            yield f"a window of {self.width_ns} ns is not 10 ms times a power of two"


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
        windows: all readings over the run's time; empty, which means not known, as soon as one part has no windows.
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
    windows: GaugeWindows = stored(
        where_known(lambda gauge: gauge.windows_known, whole, GaugeWindows()),
        nested(GaugeWindows),
        optional=True,
        factory=GaugeWindows,
    )

    @classmethod
    def of(
        cls,
        name: str,
        values: Sequence[float],
        *,
        last: float,
        last_wall_ns: int,
        writer: str,
        windows: GaugeWindows | None = None,
    ) -> Gauge:
        """Return the gauge whose readings are `values`, at least one, in any order."""
        return cls(
            name=name,
            last=last,
            last_wall_ns=last_wall_ns,
            writer=writer,
            count=len(values),
            min=min(values),
            max=max(values),
            positive=Histogram.of(value for value in values if value > 0),
            negative=Histogram.of(-value for value in values if value < 0),
            zeros=sum(value == 0 for value in values),
            windows=windows or GaugeWindows(),
        )

    def derived(self, written: Object) -> Object:
        """Return what JSON has of it, with percentiles."""
        return {**written, "p50": self.p50, "p99": self.p99}

    @property
    def filed(self) -> int:
        """Readings that are in the histograms; those too far from the others are counted, but not filed."""
        return self.negative.count + self.zeros + self.positive.count

    @property
    def windows_known(self) -> bool:
        """Whether all readings are in the windows."""
        return self.windows.whole == Readings(self.count, self.min, self.max)

    @property
    def since_filled(self) -> tuple[int, int]:
        """Readings that were 0, and all readings, from the window with the first one above 0.

        What begins empty says nothing by that. All where no reading is above 0, or the windows are not known.
        """
        before = 0
        for _, readings in sorted(self.windows.readings.items()):
            if readings.min or readings.max:
                return self.zeros - before, self.count - before
            before += readings.count
        return self.zeros, self.count

    def count_since(self, since_ns: int) -> int:
        """Return the number of readings in windows that begin at `since_ns` of the run or later.

        All where the windows are not known.
        """
        windows = self.windows
        if not windows.readings:
            return self.count
        return sum(
            readings.count
            for index, readings in windows.readings.items()
            if index * windows.width_ns >= since_ns
        )

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
        elif self.windows.readings and not self.windows_known:
            yield "the windows hold other readings than were counted"
