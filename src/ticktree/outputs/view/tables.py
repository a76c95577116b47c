"""Tables of a report that are not trees: gauges, processes, waits, categories and the critical path.

A new column is one entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from ticktree.analysis.bottlenecks import CategoryShare
from ticktree.analysis.context import Context
from ticktree.analysis.workers.imbalance import Presence, presence
from ticktree.analysis.workers.roles import By, Role, roles
from ticktree.analysis.workers.waits import Cause, CriticalShare, Waiting, critical_path, waitings
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import Entry, Head, Table, Value
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Gauge, Profile
from ticktree.profile import path as paths
from ticktree.profile.machine import programs_own
from ticktree.profile.short_names import ShortNames


def _last_name(path: str, names: ShortNames) -> str:
    return names.of(paths.name_of(path)) or "no section"


def who(name: str, count: int) -> str:
    """Return the name of several workers of a role, such as "4 × actor"; for one worker, "actor"."""
    return name if count == 1 else f"{count:,} × {name}"


Shown = TypeVar("Shown")


@dataclass(frozen=True, slots=True)
class Column(Generic[Shown]):
    """A column of items of one kind.

    Attributes:
        key: its name for programs.
        title: its head for people.
        unit: of its values: a key of `formatting.UNITS`, or "" for words.
        rank: the order in which columns are dropped if there is no room, the highest first; 0 is never dropped.
        help: its meaning, in a sentence.
        value: returns an item's value, None for an empty cell; or its attribute as "loop.ticks", by default `key`.
        text: formats the value, if not by its unit.
        empty: the text of an empty cell.
        optional: whether it is left out if all its cells are empty.
        detail: whether it is shown only with `--all`.
    """

    key: str
    title: str
    unit: str
    rank: int
    help: str
    value: Callable[[Shown], Value] | str = ""
    text: Callable[[Shown], str] | None = None
    empty: str = ""
    optional: bool = False
    detail: bool = False

    @property
    def head(self) -> Head:
        """The head of the column."""
        return Head(self.title, self.rank, not self.unit, self.key, self.unit, self.help)

    def of(self, item: Shown) -> Value:
        """Return an item's value; None for an empty cell."""
        if not isinstance(self.value, str):
            return self.value(item)
        found: Any = item
        for name in (self.value or self.key).split("."):
            found = None if found is None else getattr(found, name)
        value: Value = round(found) if self.unit == "ns" and found is not None else found
        return value

    def cell(self, item: Shown) -> str:
        """Return an item's cell, safe to show."""
        if self.text is not None:
            return self.text(item)
        value = self.of(item)
        if value is None:
            return self.empty
        return visible(value) if isinstance(value, str) else formatting.UNITS[self.unit](value)


def shown(
    columns: Sequence[Column[Shown]], items: Sequence[Shown], *, details: bool = True
) -> list[Column[Shown]]:
    """Return the columns of a table of `items`."""
    return [
        column
        for column in columns
        if (details or not column.detail)
        and (not column.optional or any(column.of(item) is not None for item in items))
    ]


def filled(entry: Entry, columns: Sequence[Column[Shown]], item: Shown) -> Entry:
    """Return `entry` with the cells and values of `item`."""
    cells, values = [column.cell(item) for column in columns], [column.of(item) for column in columns]
    return replace(entry, cells=cells, values=values)


def table_of(
    title: str,
    noun: str,
    columns: Sequence[Column[Shown]],
    items: Iterable[tuple[Entry, Shown]],
    **others: Any,
) -> Table:
    """Return a table of items, each with the entry that has all of its row but the cells; `others` as in `Table`."""
    heads = [column.head for column in columns]
    return Table(title, noun, heads, [filled(entry, columns, item) for entry, item in items], **others)


def quantile(name: str) -> Callable[[Gauge], float | None]:
    """Return a percentile of a gauge, rounded if all readings seem to be integers: percentiles are approximate."""

    def value(gauge: Gauge) -> float | None:
        found: float | None = getattr(gauge, name)
        whole = all(reading == int(reading) for reading in (gauge.last, gauge.min, gauge.max))
        return round(found) if whole and found is not None else found

    return value


GAUGES: tuple[Column[Gauge], ...] = (
    Column("last", "last", "reading", 0, "The last reading."),
    Column("min", "min", "reading", 1, "The smallest reading."),
    Column("p50", "p50", "reading", 1, "The median.", quantile("p50")),
    Column("p99", "p99", "reading", 2, "99% of readings are not larger.", quantile("p99")),
    Column("max", "max", "reading", 0, "The largest reading."),
    Column("zero", "at 0", "share", 2, "Share of the readings that are 0.", "zero_share"),
    Column("readings", "readings", "count", 1, "Number of readings.", "count"),
)

ROLES: tuple[Column[Presence], ...] = (
    Column("count", "count", "count", 0, "Number of processes or threads.", "role.count"),
    Column("in_sections", "in sections", "ns", 3, "Time in any section.", "in_sections_ns"),
    Column(
        "waiting",
        "waiting",
        "share",
        1,
        "Share of that time spent waiting.",
        "waited_share",
        empty="not instrumented",
    ),
    Column("imbalance", "imbalance", "share", 2, "How unevenly the busy time is shared.", "imbalance.share"),
    Column("busiest", "busiest", "", 4, "The one with the most busy time.", "imbalance.busiest.name"),
)

WAITS: tuple[Column[Waiting], ...] = (
    Column("waited", "waited", "ns", 0, "Waiting time of all of them.", "waited_ns"),
    Column("of_its_time", "of its time", "share", 1, "Share of their time.", "share"),
    Column("waits", "waits", "count", 5, "Number of waits.", "calls"),
)

CATEGORIES: tuple[Column[CategoryShare], ...] = (
    Column("share", "share", "share", 0, "Share of the tick."),
    Column("time", "time", "ns", 0, "Self time per tick.", lambda one: one.ns),
    Column("sections", "sections", "count", 1, "Number of sections with self time."),
)

CRITICAL: tuple[Column[CriticalShare], ...] = (
    Column("share", "share", "share", 0, "Share of the run's length."),
    Column("time", "time", "ns", 0, "The most by which the run could be shorter.", "ns"),
    Column("speedup", "faster at most", "factor", 1, "The same as a factor.", empty=formatting.ABSENT),
)


def gauges(profile: Profile) -> Table:
    """Return the gauges that the program of `profile` reported; those of the machine are in the headline."""
    own = programs_own(profile.gauges)
    items = ((Entry(visible(own[name].name), ()), own[name]) for name in sorted(own))
    return table_of("gauges", "gauge", GAUGES, items)


CRITICAL_SHOWN = 6
# A worker with this share of its role's time on the critical path is named.
NAMED_SHARE = 0.5
# A worker with this share is named alone.
ALONE_SHARE = 0.995
_BAR_RANK = 5  # before a name is cut
BOUND = "Bounds, not forecasts: without one of these, another path may determine the run's length."


def critical(profile: Profile, options: ViewOptions) -> Table | None:
    """Return the critical path by role and node, the longest first; None if none was recorded."""
    path = critical_path(profile)
    if not path:
        return None
    shown = path if options.all or len(path) == CRITICAL_SHOWN + 1 else path[:CRITICAL_SHOWN]
    names = ShortNames(profile.root)
    items = [(_critical_entry(one, names), one) for one in shown]
    table = table_of("critical path", "critical path", CRITICAL, items, bar_rank=_BAR_RANK, remark=BOUND)
    rest = path[len(shown) :]
    if not rest:
        return table
    share, ns = sum(one.share for one in rest), sum(one.ns for one in rest)
    cells = (formatting.share(share), formatting.time(ns), "")
    return replace(
        table, entries=[*table.entries, Entry(f"{len(rest)} shorter", cells, tone="faint", share=share)]
    )


def _critical_entry(one: CriticalShare, names: ShortNames) -> Entry:
    name, most_ns = one.by[0]
    is_alone = len(one.by) == 1 or most_ns >= ALONE_SHARE * one.ns
    notes = []
    if not is_alone and most_ns >= NAMED_SHARE * one.ns:
        notes.append(f"{formatting.share(most_ns / one.ns)} of it {visible(name)}")
    shown = visible(f"{name if is_alone else one.role} in {_last_name(one.path, names)}")
    return Entry(shown, (), notes=notes, share=one.share, path=one.path)


WAITS_SHOWN = 6
# Waits with a smaller share of their role's time are not listed.
MIN_WAIT_SHARE = 0.01
CAUSES_SHOWN = 3
# Of several workers, one is named if it has this share, and this many times an equal share.
NAMED_CAUSE_SHARE = 0.2
NAMED_FACTOR = 1.5


def why_idle(context: Context, options: ViewOptions) -> Table | None:
    """Return which roles waited where, and what woke them; None without waits whose wake edges are known."""
    known = [wait for wait in waitings(context) if wait.causes]
    if not options.all:
        known = [wait for wait in known if (wait.share or 0.0) >= MIN_WAIT_SHARE][:WAITS_SHOWN]
    items = ((_wait(wait, context, options), wait) for wait in known)
    return table_of("why idle", "who waits", WAITS, items) if known else None


def _wait(wait: Waiting, context: Context, options: ViewOptions) -> Entry:
    name = visible(f"{who(wait.role.name, wait.count)} in {_last_name(wait.path, context.short_names)}")
    return Entry(name, (), tone="wait", notes=tuple(_causes(wait, context, options)), path=wait.path)


def _causes(wait: Waiting, context: Context, options: ViewOptions) -> Iterator[str]:
    whole_ns = max(wait.waited_ns, wait.known_ns)
    shown = wait.causes if options.all else wait.causes[:CAUSES_SHOWN]
    for cause in shown:
        yield f"{formatting.share(cause.wakes.waited_ns / whole_ns)} for {visible(_cause(cause, context))}"
    rest_ns = whole_ns - sum(cause.wakes.waited_ns for cause in shown)
    if rest_ns > MIN_WAIT_SHARE * whole_ns:
        known = " for others" if len(shown) < len(wait.causes) else ", unknown for what"
        yield f"{formatting.share(rest_ns / whole_ns)}{known}"
    wakes = sum(cause.wakes.count for cause in wait.causes)
    handover_ns = sum(cause.wakes.handover_ns for cause in wait.causes)
    if handover_ns > MIN_WAIT_SHARE * whole_ns:
        yield f"continues {formatting.time(handover_ns / wakes)} after it was woken"


def _cause(cause: Cause, context: Context) -> str:
    """Return the workers that ended waits, and their section; of several, also the one that ended most."""
    place = f" in {_last_name(cause.path, context.short_names)}" if cause.path else ""
    (name, most_ns), count = cause.by[0], len(cause.by)
    part = most_ns / cause.wakes.waited_ns if cause.wakes.waited_ns else 0.0
    if count == 1 or part >= ALONE_SHARE:
        return f"{name}{place}"
    is_named = part >= max(NAMED_CAUSE_SHARE, NAMED_FACTOR / count)
    most = f", {formatting.share(part)} of it {name}" if is_named else ""
    return f"{who(cause.role, count)}{place}{most}"


ROLES_NAMED = 4


def processes(profile: Profile, context: Context, by: By | None) -> Table:
    """Return the time and waits of each role's processes, or of its threads with `--by thread`."""
    title, noun, found = _roles(profile, by)
    items = ((Entry(visible(role.name), ()), presence(role, context)) for role in found)
    return table_of(title, noun, ROLES, items)


def census(profile: Profile, by: By | None) -> str:
    """Return the number of processes or threads by role, in a few words."""
    _, noun, found = _roles(profile, by)
    shown = found if len(found) <= ROLES_NAMED else found[: ROLES_NAMED - 1]
    names = [visible(who(role.name, role.count)) for role in shown]
    rest = sum(role.count for role in found[len(shown) :])
    names += [f"{formatting.count(rest)} others"] if rest else []
    return f"{formatting.counted(sum(role.count for role in found), noun)}: {', '.join(names)}"


def _roles(profile: Profile, by: By | None) -> tuple[str, str, list[Role]]:
    if by == "thread":
        return "threads", "thread", roles(profile, "thread")
    return "processes", "process", roles(profile, "process")
