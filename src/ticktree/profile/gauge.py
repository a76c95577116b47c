"""Gauge: a value that the program reports from time to time."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ticktree.profile.fields import INT, LIMIT, NUMBER, TEXT, Codec, Fields, Object
from ticktree.profile.histogram import READINGS, Histogram, rank_of
from ticktree.profile.stats import BASE_WIDTH_NS, is_window_width, join_series, window_series, window_width
from ticktree.profile.table import (
    Mergeable,
    add,
    column,
    largest,
    merge_parts,
    nested,
    same,
    smallest,
    where_known,
)


@dataclass(frozen=True, slots=True)
class Readings:
    """A gauge's readings in one window of the run."""

    count: int
    min: float
    max: float

    def merge(self, other: Readings) -> Readings:
        """Return the readings of both windows."""
        return Readings(self.count + other.count, min(self.min, other.min), max(self.max, other.max))


def _write_readings(table: Mapping[int, Readings], _: Any) -> list[Any]:
    return [[index, readings.count, readings.min, readings.max] for index, readings in sorted(table.items())]


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
    """A gauge's readings per window of the run. Merges by coarsening the finer series, exactly.

    Attributes:
        width_ns: length of a window: 10 ms times a power of two.
        readings: by window; windows without readings are absent; index 0 starts when the run began.
    """

    width_ns: int = column(largest, INT, default=BASE_WIDTH_NS)
    readings: Mapping[int, Readings] = column(
        window_series("readings", Readings.merge), Codec(_write_readings, _read_readings), factory=dict
    )

    @classmethod
    def of(cls, readings: Sequence[tuple[int, float]]) -> GaugeWindows:
        """Return the windows of `readings`, which are pairs of nanoseconds since the run began and a value."""
        width_ns = window_width(max(since_ns for since_ns, _ in readings))
        series = (({since_ns: Readings(1, value, value)}, width_ns) for since_ns, value in readings)
        return cls(width_ns, join_series(series, Readings.merge))

    def later_half(self) -> list[float]:
        """Return, in order, the mid-range of each window in the later half of the gauge's time."""
        if not self.readings:
            return []
        middle = (min(self.readings) + max(self.readings)) / 2
        return [
            (readings.min + readings.max) / 2
            for index, readings in sorted(self.readings.items())
            if index >= middle
        ]

    @property
    def total(self) -> Readings | None:
        """All readings; None if there are none."""
        return functools.reduce(Readings.merge, self.readings.values()) if self.readings else None

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        if not is_window_width(self.width_ns):
            yield f"a window of {self.width_ns} ns is not 10 ms times a power of two"


def _latest(gauges: Sequence[Gauge], values: Sequence[Any]) -> Any:
    order = [(gauge.last_wall_ns, gauge.process, gauge.last) for gauge in gauges]
    return values[order.index(max(order))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge(Mergeable):
    """A gauge's readings.

    It has no mean: a sum of floating-point numbers depends on their order, and a merge must not.

    Attributes:
        name: the same in all merged gauges.
        last: the latest reading. Merges by the latest (wall time, process).
        last_wall_ns: when it was read, since the epoch.
        process: the process that reported it.
        count: number of readings.
        min: the smallest reading.
        max: the largest reading.
        positive: the readings above 0.
        negative: the readings below 0, without their sign.
        zeros: how many readings were 0.
        windows: all readings over the run's time; empty, which means unknown, if any part has no windows.
    """

    name: str = column(same)
    last: float = column(_latest, NUMBER)
    last_wall_ns: int = column(_latest, INT)
    process: str = column(_latest, TEXT)
    count: int = column(add, INT)
    min: float = column(smallest, NUMBER)
    max: float = column(largest, NUMBER)
    zeros: int = column(add, INT, minimum=0, default=0)
    positive: Histogram = column(merge_parts, READINGS, factory=Histogram)
    negative: Histogram = column(merge_parts, READINGS, factory=Histogram)
    windows: GaugeWindows = column(
        where_known(lambda gauge: gauge.windows_known, merge_parts, GaugeWindows()),
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
        process: str,
        windows: GaugeWindows | None = None,
    ) -> Gauge:
        """Return the gauge with the readings `values`, at least one, in any order."""
        return cls(
            name=name,
            last=last,
            last_wall_ns=last_wall_ns,
            process=process,
            count=len(values),
            min=min(values),
            max=max(values),
            positive=Histogram.of(value for value in values if value > 0),
            negative=Histogram.of(-value for value in values if value < 0),
            zeros=sum(value == 0 for value in values),
            windows=windows or GaugeWindows(),
        )

    def derived(self, written: Object) -> Object:
        """Add the percentiles to the JSON."""
        return {**written, "p50": self.p50, "p99": self.p99}

    @property
    def filed(self) -> int:
        """Readings in the histograms; those too far from the others are counted, but not filed."""
        return self.negative.count + self.zeros + self.positive.count

    @property
    def windows_known(self) -> bool:
        """Whether all readings are in the windows."""
        return self.windows.total == Readings(self.count, self.min, self.max)

    @property
    def since_filled(self) -> tuple[int, int]:
        """The number of zeros and of all readings, from the first window with a reading above 0.

        That a gauge begins at 0 means nothing. All readings if none is above 0, or if the windows are unknown.
        """
        skipped = 0
        for _, readings in sorted(self.windows.readings.items()):
            if readings.min or readings.max:
                return self.zeros - skipped, self.count - skipped
            skipped += readings.count
        return self.zeros, self.count

    def count_since(self, since_ns: int) -> int:
        """Return the number of readings in windows that begin at `since_ns` or later; all if windows are unknown."""
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
        """Share of the readings that were 0; None if some are negative, because then 0 is a value like any other."""
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
        return min(max(self._value_at_rank(rank), self.min), self.max)

    def _value_at_rank(self, rank: int) -> float:
        negatives, not_positive = self.negative.count, self.negative.count + self.zeros
        if rank <= negatives:  # of the negative ones, the smallest has the largest magnitude
            return -self.negative.value_at_rank(negatives + 1 - rank)
        return 0.0 if rank <= not_positive else self.positive.value_at_rank(rank - not_positive)

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
