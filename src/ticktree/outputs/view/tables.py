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
from ticktree.profile.machine import program_gauges
from ticktree.profile.short_names import ShortNames


def _last_name(path: str, names: ShortNames) -> str:
    return names.of(paths.name_of(path)) or "no section"


def workers_title(name: str, count: int) -> str:
    """Return the name of several workers of a role, such as "4 × actor"; for one worker, "actor"."""
    return name if count == 1 else f"{count:,} × {name}"


Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Column(Generic[Item]):
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
    value: Callable[[Item], Value] | str = ""
    text: Callable[[Item], str] | None = None
    empty: str = ""
    optional: bool = False
    detail: bool = False

    @property
    def head(self) -> Head:
        """The head of the column."""
        return Head(self.title, self.rank, not self.unit, self.key, self.unit, self.help)

    def value_of(self, item: Item) -> Value:
        """Return an item's value; None for an empty cell."""
        if not isinstance(self.value, str):
            return self.value(item)
        attribute: Any = item
        for name in (self.value or self.key).split("."):
            attribute = None if attribute is None else getattr(attribute, name)
        value: Value = round(attribute) if self.unit == "ns" and attribute is not None else attribute
        return value

    def cell(self, item: Item) -> str:
        """Return an item's cell, safe to show."""
        if self.text is not None:
            return self.text(item)
        value = self.value_of(item)
        if value is None:
            return self.empty
        return visible(value) if isinstance(value, str) else formatting.UNITS[self.unit](value)


def needed(
    columns: Sequence[Column[Item]], items: Sequence[Item], *, details: bool = True
) -> list[Column[Item]]:
    """Return the columns that a table of `items` needs."""
    return [
        column
        for column in columns
        if (details or not column.detail)
        and (not column.optional or any(column.value_of(item) is not None for item in items))
    ]


def fill_row(entry: Entry, columns: Sequence[Column[Item]], item: Item) -> Entry:
    """Return `entry` with the cells and values of `item`."""
    cells, values = [column.cell(item) for column in columns], [column.value_of(item) for column in columns]
    return replace(entry, cells=cells, values=values)


def table_of(
    title: str,
    noun: str,
    columns: Sequence[Column[Item]],
    items: Iterable[tuple[Entry, Item]],
    **fields: Any,
) -> Table:
    """Return a table of items, each with an entry without cells; `fields` are those of `Table`."""
    heads = [column.head for column in columns]
    return Table(title, noun, heads, [fill_row(entry, columns, item) for entry, item in items], **fields)


def largest(rows: list[Item], count: int | None, rank: Callable[[Item], Any]) -> list[Item]:
    """Return the first `count` rows by rank, in their old order; None for all."""
    if count is None or len(rows) <= count:
        return rows
    ranked = sorted(range(len(rows)), key=lambda index: (rank(rows[index]), index))
    return [rows[index] for index in sorted(ranked[:count])]


def quantile(name: str) -> Callable[[Gauge], float | None]:
    """Return a function for a percentile of a gauge, which is rounded if all readings seem to be integers."""

    def value(gauge: Gauge) -> float | None:
        percentile: float | None = getattr(gauge, name)
        is_integer = all(reading == int(reading) for reading in (gauge.last, gauge.min, gauge.max))
        return round(percentile) if is_integer and percentile is not None else percentile

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
    Column("time", "time", "ns", 0, "Self time per tick.", "ns"),
    Column("sections", "sections", "count", 1, "Number of sections with self time."),
)

CRITICAL: tuple[Column[CriticalShare], ...] = (
    Column("share", "share", "share", 0, "Share of the run's length."),
    Column("time", "time", "ns", 0, "The most by which the run could be shorter.", "ns"),
    Column("speedup", "faster at most", "factor", 1, "The same as a factor.", empty=formatting.ABSENT),
)


def gauges(profile: Profile) -> Table:
    """Return the gauges that the program of `profile` reported; those of the machine are in the headline."""
    rows = (gauge for _, gauge in sorted(program_gauges(profile.gauges).items()))
    items = ((Entry(visible(gauge.name), ()), gauge) for gauge in rows)
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
    leading = path if options.all or len(path) == CRITICAL_SHOWN + 1 else path[:CRITICAL_SHOWN]
    names = ShortNames(profile.root)
    items = [(_critical_entry(part, names), part) for part in leading]
    table = table_of("critical path", "critical path", CRITICAL, items, bar_rank=_BAR_RANK, remark=BOUND)
    rest = path[len(leading) :]
    if not rest:
        return table
    share, ns = sum(part.share for part in rest), sum(part.ns for part in rest)
    cells = (formatting.share(share), formatting.time(ns), "")
    return replace(
        table, entries=[*table.entries, Entry(f"{len(rest)} shorter", cells, tone="faint", share=share)]
    )


def _critical_entry(part: CriticalShare, names: ShortNames) -> Entry:
    name, largest_ns = part.by[0]
    is_alone = len(part.by) == 1 or largest_ns >= ALONE_SHARE * part.ns
    notes = []
    if not is_alone and largest_ns >= NAMED_SHARE * part.ns:
        notes.append(f"{formatting.share(largest_ns / part.ns)} of it {visible(name)}")
    title = visible(f"{name if is_alone else part.role} in {_last_name(part.path, names)}")
    return Entry(title, (), notes=notes, share=part.share, path=part.path)


WAITS_SHOWN = 6
# Waits with a smaller share of their role's time are not listed.
MIN_WAIT_SHARE = 0.01
CAUSES_SHOWN = 3
# One of several workers is named if it has this share, and this many times an equal share.
NAMED_CAUSE_SHARE = 0.2
NAMED_FACTOR = 1.5


def why_idle(context: Context, options: ViewOptions) -> Table | None:
    """Return the waits of each role, and what woke its workers; None without waits whose wake edges are known."""
    waits = [wait for wait in waitings(context) if wait.causes]
    if not options.all:
        waits = [wait for wait in waits if (wait.share or 0.0) >= MIN_WAIT_SHARE][:WAITS_SHOWN]
    items = ((_wait(wait, context, options), wait) for wait in waits)
    return table_of("why idle", "who waits", WAITS, items) if waits else None


def _wait(wait: Waiting, context: Context, options: ViewOptions) -> Entry:
    workers = workers_title(wait.role.name, wait.count)
    name = visible(f"{workers} in {_last_name(wait.path, context.short_names)}")
    return Entry(name, (), tone="wait", notes=tuple(_causes(wait, context, options)), path=wait.path)


def _causes(wait: Waiting, context: Context, options: ViewOptions) -> Iterator[str]:
    total_ns = max(wait.waited_ns, wait.known_ns)
    causes = wait.causes if options.all else wait.causes[:CAUSES_SHOWN]
    for cause in causes:
        yield f"{formatting.share(cause.wakes.waited_ns / total_ns)} for {visible(_cause(cause, context))}"
    rest_ns = total_ns - sum(cause.wakes.waited_ns for cause in causes)
    if rest_ns > MIN_WAIT_SHARE * total_ns:
        reason = " for others" if len(causes) < len(wait.causes) else ", unknown for what"
        yield f"{formatting.share(rest_ns / total_ns)}{reason}"
    wakes = sum(cause.wakes.count for cause in wait.causes)
    latency_ns = sum(cause.wakes.latency_ns for cause in wait.causes)
    if latency_ns > MIN_WAIT_SHARE * total_ns:
        yield f"continues {formatting.time(latency_ns / wakes)} after it was woken"


def _cause(cause: Cause, context: Context) -> str:
    """Return the workers that ended waits, and their section; of several, also the worker that ended most."""
    suffix = f" in {_last_name(cause.path, context.short_names)}" if cause.path else ""
    (name, largest_ns), count = cause.by[0], len(cause.by)
    part = largest_ns / cause.wakes.waited_ns if cause.wakes.waited_ns else 0.0
    if count == 1 or part >= ALONE_SHARE:
        return f"{name}{suffix}"
    is_named = part >= max(NAMED_CAUSE_SHARE, NAMED_FACTOR / count)
    note = f", {formatting.share(part)} of it {name}" if is_named else ""
    return f"{workers_title(cause.role, count)}{suffix}{note}"


ROLES_NAMED = 4


def processes(profile: Profile, context: Context, by: By | None) -> Table:
    """Return the time and waits of each role's processes, or with `--by thread` of its threads."""
    title, noun, all_roles = _roles(profile, by)
    items = ((Entry(visible(role.name), ()), presence(role, context)) for role in all_roles)
    return table_of(title, noun, ROLES, items)


def census(profile: Profile, by: By | None) -> str:
    """Return the number of processes or threads by role, in a few words."""
    _, noun, all_roles = _roles(profile, by)
    named_roles = all_roles if len(all_roles) <= ROLES_NAMED else all_roles[: ROLES_NAMED - 1]
    names = [visible(workers_title(role.name, role.count)) for role in named_roles]
    rest = sum(role.count for role in all_roles[len(named_roles) :])
    names += [f"{formatting.count(rest)} others"] if rest else []
    return f"{formatting.counted(sum(role.count for role in all_roles), noun)}: {', '.join(names)}"


def _roles(profile: Profile, by: By | None) -> tuple[str, str, list[Role]]:
    if by == "thread":
        return "threads", "thread", roles(profile, "thread")
    return "processes", "process", roles(profile, "process")
