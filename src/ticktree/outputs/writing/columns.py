"""Columns: what a table shows of an item, for every output that draws tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ticktree.analysis.bottlenecks import Bottleneck, CategoryShare
from ticktree.analysis.workers.critical_path import Stretch
from ticktree.analysis.workers.presence import Presence
from ticktree.analysis.workers.waits import Waiting
from ticktree.outputs.report.rows import Row
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Gauge, Loop

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Head:
    """What stands above a column.

    Attributes:
        title: safe to show.
        rank: how soon the column is given up where there is no room: the highest first; 0 is never.
        words: whether words stand in it, not numbers.
    """

    title: str
    rank: int
    words: bool = False


@dataclass(frozen=True, slots=True)
class Column(Generic[Item]):
    """A column.

    Attributes:
        title: what stands above it.
        text: what an item has in it, formatted and safe to show; "" where there is nothing to show.
        rank: how soon it is given up where there is no room: the highest first.
        words: whether words stand in it, not numbers.
        optional: whether it is left out where nothing stands in it.
    """

    title: str
    text: Callable[[Item], str]
    rank: int
    words: bool = False
    optional: bool = False

    @property
    def head(self) -> Head:
        """What stands above it."""
        return Head(self.title, self.rank, self.words)


def _stat(name: str) -> Callable[[Row], str]:
    return lambda row: formatting.time(getattr(row.stats, name)) if row.stats.count else ""


def _of_loop(name: str) -> Callable[[Loop], str]:
    return lambda loop: formatting.time(getattr(loop.stats, name))


def _missed(loop: Loop) -> str:
    if loop.budget_ns is None and not loop.missed:
        return formatting.ABSENT
    part = loop.missed / loop.stats.count if loop.stats.count else None
    return f"{formatting.count(loop.missed)} ({formatting.share(part)})" if loop.missed else "0"


def _quantile(name: str) -> Callable[[Gauge], str]:
    """Return a percentile's text: whole where all readings seem to be, for percentiles are approximate."""

    def text(gauge: Gauge) -> str:
        value: float | None = getattr(gauge, name)
        whole = all(reading == int(reading) for reading in (gauge.last, gauge.min, gauge.max))
        return formatting.reading(round(value) if whole and value is not None else value)

    return text


def _factor(factor: float | None) -> str:
    return formatting.ABSENT if factor is None else f"{formatting.significant(factor)} x"


def _if_free(one: Bottleneck) -> str:
    """Return how fast the loop is and could be, or how long the run takes and could."""
    ceiling = one.saving
    if ceiling is None:
        return ""
    if one.view.loop is None:
        return formatting.change(
            formatting.time(round(ceiling.needed_ns)), formatting.time(round(ceiling.free_ns))
        )
    return formatting.change(formatting.hertz(ceiling.hz), formatting.hertz(ceiling.free_hz))


def _score(one: Bottleneck) -> str:
    return "" if one.score is None else f"{one.score:.1f}"


def _calls(one: Bottleneck) -> str:
    return formatting.count(round(one.section.calls * one.view.ticks)) if one.section.calls else ""


def _size(number_of_bytes: int | None) -> str:
    return "" if number_of_bytes is None else formatting.size(number_of_bytes)


TREE: tuple[Column[Row], ...] = (
    Column("share", lambda row: formatting.share(row.share), 0),
    Column("total", lambda row: formatting.time(row.total_ns), 5),
    Column("mean", lambda row: "" if row.mean_ns is None else formatting.time(row.mean_ns), 0),
    Column("min", _stat("min_ns"), 7),
    Column("p50", _stat("p50_ns"), 2),
    Column("p90", _stat("p90_ns"), 6),
    Column("p99", _stat("p99_ns"), 1),
    Column("max", _stat("max_ns"), 6),
    Column("calls", lambda row: "" if row.calls is None else formatting.count(row.calls), 0),
)

# What stands on both sides of the columns by process, thread or role.
BEFORE_UNITS: tuple[Column[Row], ...] = (
    Column("share", lambda row: formatting.share(row.share), 0),
    Column("total", lambda row: formatting.time(row.total_ns), 5),
)
AFTER_UNITS: tuple[Column[Row], ...] = (
    Column("calls", lambda row: "" if row.calls is None else formatting.count(row.calls), 4),
)

LOOPS: tuple[Column[Loop], ...] = (
    Column("ticks", lambda loop: formatting.count(loop.ticks), 0),
    Column("asked", lambda loop: " ".join(map(formatting.hertz, sorted(loop.hz))) or formatting.ABSENT, 2),
    Column("achieved", lambda loop: formatting.hertz(loop.achieved_hz), 1),
    Column("budget", lambda loop: formatting.time(loop.budget_ns), 4),
    Column("mean", _of_loop("mean_ns"), 3),
    Column("p50", _of_loop("p50_ns"), 5),
    Column("p99", _of_loop("p99_ns"), 2),
    Column("max", _of_loop("max_ns"), 1),
    Column("missed", _missed, 0),
)

GAUGES: tuple[Column[Gauge], ...] = (
    Column("last", lambda gauge: formatting.reading(gauge.last), 0),
    Column("min", lambda gauge: formatting.reading(gauge.min), 1),
    Column("p50", _quantile("p50"), 1),
    Column("p99", _quantile("p99"), 2),
    Column("max", lambda gauge: formatting.reading(gauge.max), 0),
    Column("at 0", lambda gauge: "" if gauge.zero_share is None else formatting.share(gauge.zero_share), 2),
    Column("readings", lambda gauge: formatting.count(gauge.count), 1),
)

ROLES: tuple[Column[Presence], ...] = (
    Column("count", lambda one: formatting.count(one.role.count), 0),
    Column("in sections", lambda one: formatting.time(one.in_sections_ns), 3),
    Column("waiting", lambda one: formatting.share(one.waited_share), 1),
    Column("imbalance", lambda one: formatting.share(one.imbalance.share) if one.imbalance else "", 2),
    Column(
        "busiest", lambda one: visible(one.imbalance.busiest.name) if one.imbalance else "", 4, words=True
    ),
)

WAITS: tuple[Column[Waiting], ...] = (
    Column("waited", lambda one: formatting.time(one.waited_ns), 0),
    Column("of its time", lambda one: formatting.share(one.share), 1),
    Column("waits", lambda one: formatting.count(one.calls), 5),
)

BOTTLENECKS: tuple[Column[Bottleneck], ...] = (
    Column("share", lambda one: "" if one.section.is_parallel else formatting.share(one.share), 0),
    Column("own a call", lambda one: "" if one.call_ns is None else formatting.time(one.call_ns), 1),
    Column("calls", _calls, 5),
    Column("if free", _if_free, 0),
    Column("score", _score, 4),
    Column("memory", lambda one: _size(one.memory_bytes), 3, optional=True),
    Column("device", lambda one: _size(one.device_memory_bytes), 2, optional=True),
)

CATEGORIES: tuple[Column[CategoryShare], ...] = (
    Column("share", lambda one: formatting.share(one.share), 0),
    Column("time", lambda one: formatting.time(one.ns), 0),
    Column("sections", lambda one: formatting.count(one.sections), 1),
)

CRITICAL: tuple[Column[Stretch], ...] = (
    Column("share", lambda one: formatting.share(one.share), 0),
    Column("time", lambda one: formatting.time(one.ns), 0),
    Column("faster at most", lambda one: _factor(one.speedup), 1),
)
