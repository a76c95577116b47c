"""Columns: what tables show of an item. A new column is one entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from ticktree.analysis.bottlenecks import CategoryShare
from ticktree.analysis.workers.critical_path import Stretch
from ticktree.analysis.workers.presence import Presence
from ticktree.analysis.workers.waits import Waiting
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import Entry, Head, Value
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Gauge

Shown = TypeVar("Shown")


@dataclass(frozen=True, slots=True)
class Column(Generic[Shown]):
    """A column of items of one kind.

    Attributes:
        key: what programs call it.
        title: what stands above it.
        unit: of its values: a key of `formatting.UNITS`, or "" of words.
        rank: how soon it is given up where there is no room: the highest first; 0 is never.
        value: what an item has in it; None where nothing stands there.
        help: what it says, in a sentence.
        text: how its value is written, where that is not its unit's way.
        optional: whether it is left out where nothing stands in it.
        detail: whether it is shown only where all is asked for.
    """

    key: str
    title: str
    unit: str
    rank: int
    value: Callable[[Shown], Value]
    help: str = ""
    text: Callable[[Shown], str] | None = None
    optional: bool = False
    detail: bool = False

    @property
    def head(self) -> Head:
        """What stands above it."""
        return Head(self.title, self.rank, not self.unit, self.key, self.unit, self.help)

    def cell(self, item: Shown) -> str:
        """Return what an item has in it, safe to show."""
        if self.text is not None:
            return self.text(item)
        value = self.value(item)
        if value is None:
            return ""
        return visible(value) if isinstance(value, str) else formatting.UNITS[self.unit](value)


def shown(
    columns: Sequence[Column[Shown]], items: Sequence[Shown], *, details: bool = True
) -> list[Column[Shown]]:
    """Return those of `columns` that a table of `items` has."""
    return [
        column
        for column in columns
        if (details or not column.detail)
        and (not column.optional or any(column.value(item) is not None for item in items))
    ]


def filled(entry: Entry, columns: Sequence[Column[Shown]], item: Shown) -> Entry:
    """Return `entry` with what `item` has in each of `columns`."""
    return replace(
        entry,
        cells=[column.cell(item) for column in columns],
        values=[column.value(item) for column in columns],
    )


def quantile(name: str) -> Callable[[Gauge], float | None]:
    """Return a percentile of a gauge: whole where all readings seem to be, for percentiles are approximate."""

    def value(gauge: Gauge) -> float | None:
        found: float | None = getattr(gauge, name)
        whole = all(reading == int(reading) for reading in (gauge.last, gauge.min, gauge.max))
        return round(found) if whole and found is not None else found

    return value


GAUGES: tuple[Column[Gauge], ...] = (
    Column("last", "last", "reading", 0, lambda gauge: gauge.last, "The last reading."),
    Column("min", "min", "reading", 1, lambda gauge: gauge.min, "The least."),
    Column("p50", "p50", "reading", 1, quantile("p50"), "The median."),
    Column("p99", "p99", "reading", 2, quantile("p99"), "What 99% do not exceed."),
    Column("max", "max", "reading", 0, lambda gauge: gauge.max, "The greatest."),
    Column("zero", "at 0", "share", 2, lambda gauge: gauge.zero_share, "What part of the readings is 0."),
    Column("readings", "readings", "count", 1, lambda gauge: gauge.count, "How many there were."),
)

ROLES: tuple[Column[Presence], ...] = (
    Column("count", "count", "count", 0, lambda one: one.role.count, "How many."),
    Column("in_sections", "in sections", "ns", 3, lambda one: one.in_sections_ns, "Time in any section."),
    Column("waiting", "waiting", "share", 1, lambda one: one.waited_share, "What part of it they waited."),
    Column(
        "imbalance",
        "imbalance",
        "share",
        2,
        lambda one: one.imbalance.share if one.imbalance else None,
        "How unevenly the rest is shared.",
    ),
    Column(
        "busiest",
        "busiest",
        "",
        4,
        lambda one: one.imbalance.busiest.name if one.imbalance else None,
        "Who has most to do.",
    ),
)

WAITS: tuple[Column[Waiting], ...] = (
    Column("waited", "waited", "ns", 0, lambda one: one.waited_ns, "How long all of them waited there."),
    Column("of_its_time", "of its time", "share", 1, lambda one: one.share, "A part of their time."),
    Column("waits", "waits", "count", 5, lambda one: one.calls, "How often."),
)

CATEGORIES: tuple[Column[CategoryShare], ...] = (
    Column("share", "share", "share", 0, lambda one: one.share, "A part of the tick."),
    Column("time", "time", "ns", 0, lambda one: one.ns, "Self time per tick."),
    Column("sections", "sections", "count", 1, lambda one: one.sections, "How many have self time."),
)

CRITICAL: tuple[Column[Stretch], ...] = (
    Column("share", "share", "share", 0, lambda one: one.share, "A part of the run's length."),
    Column("time", "time", "ns", 0, lambda one: one.ns, "How much shorter the run could be at most."),
    Column(
        "speedup",
        "faster at most",
        "factor",
        1,
        lambda one: one.speedup,
        "The same as a factor.",
        text=lambda one: (
            formatting.ABSENT if one.speedup is None else formatting.UNITS["factor"](one.speedup)
        ),
    ),
)
