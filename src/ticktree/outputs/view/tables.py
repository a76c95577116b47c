"""Tables of a report that are not trees: their columns, and who waited, took part, or set the length of the run.

A new column is one entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from ticktree.analysis.bottlenecks import CategoryShare
from ticktree.analysis.context import Context
from ticktree.analysis.workers.imbalance import Presence, presence
from ticktree.analysis.workers.roles import By, Role, roles
from ticktree.analysis.workers.waits import Cause, CriticalStretch, Waiting, critical_path, waitings
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import Entry, Head, Table, Value
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Gauge, Profile
from ticktree.profile import path as paths
from ticktree.profile.machine import programs_own
from ticktree.profile.short_names import ShortNames


def last_name(path: str, names: ShortNames) -> str:
    """Return what a reader knows the node at `path` by."""
    return names.of(paths.name_of(path)) or "no section"


def who(name: str, count: int) -> str:
    """Return what several of one name are called: "4 × actor"; one is just "actor"."""
    return name if count == 1 else f"{count:,} × {name}"


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
    Column(
        "waiting",
        "waiting",
        "share",
        1,
        lambda one: one.waited_share,
        "What part of it they waited.",
        text=lambda one: (
            "not instrumented" if one.waited_share is None else formatting.share(one.waited_share)
        ),
    ),
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

CRITICAL: tuple[Column[CriticalStretch], ...] = (
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


def gauges(profile: Profile) -> Table:
    """Return the gauges that the program of `profile` reported; those of the machine stand in the headline."""
    own = programs_own(profile.gauges)
    ordered = [own[name] for name in sorted(own)]
    entries = [filled(Entry(visible(gauge.name), ()), GAUGES, gauge) for gauge in ordered]
    return Table("gauges", "gauge", [column.head for column in GAUGES], entries)


STRETCHES_SHOWN = 6
# Who has so much of a stretch that all of a role have together is worth a name.
NAMED_SHARE = 0.5
# Who has, or ended, all but so little of it is named alone.
ALONE_SHARE = 0.995
_BAR_RANK = 5  # before a name is cut
BOUND = "Bounds, not forecasts: without one of these, another path may set the run's length."


def critical(profile: Profile, options: ViewOptions) -> Table | None:
    """Return the critical path, the longest stretch first; None where none was recorded."""
    path = critical_path(profile)
    if not path:
        return None
    shown = path if options.all or len(path) == STRETCHES_SHOWN + 1 else path[:STRETCHES_SHOWN]
    names = ShortNames(profile.root)
    entries = [_stretch(stretch, names) for stretch in shown]
    rest = path[len(shown) :]
    if rest:
        share, ns = sum(one.share for one in rest), sum(one.ns for one in rest)
        entries.append(_shorter(len(rest), share, ns))
    heads = [column.head for column in CRITICAL]
    return Table("critical path", "critical path", heads, entries, bar_rank=_BAR_RANK, remark=BOUND)


def _stretch(one: CriticalStretch, names: ShortNames) -> Entry:
    name, most_ns = one.by[0]
    is_alone = len(one.by) == 1 or most_ns >= ALONE_SHARE * one.ns
    notes = []
    if not is_alone and most_ns >= NAMED_SHARE * one.ns:
        notes.append(f"{formatting.share(most_ns / one.ns)} of it {visible(name)}")
    shown = visible(f"{name if is_alone else one.role} in {last_name(one.path, names)}")
    return filled(Entry(shown, (), notes=notes, share=one.share, path=one.path), CRITICAL, one)


def _shorter(count: int, share: float, ns: int) -> Entry:
    cells = {"share": formatting.share(share), "time": formatting.time(ns)}
    return Entry(
        name=f"{count} shorter",
        cells=[cells.get(column.key, "") for column in CRITICAL],
        tone="faint",
        share=share,
    )


WAITS_SHOWN = 6
# Shorter waits, as a part of their role's time, are no reason to be idle.
LEAST_WAIT_SHARE = 0.01
CAUSES_SHOWN = 3
# Of those who did it together, one is worth a name if it did so much, and so many times an equal part.
NAMED_CAUSE_SHARE = 0.2
NAMED_FACTOR = 1.5


def why_idle(context: Context, options: ViewOptions) -> Table | None:
    """Return who waited where and for whom; None where nobody did, or nothing tells for whom."""
    known = [wait for wait in waitings(context) if wait.causes]
    if not options.all:
        known = [wait for wait in known if (wait.share or 0.0) >= LEAST_WAIT_SHARE][:WAITS_SHOWN]
    heads = [column.head for column in WAITS]
    return (
        Table("why idle", "who waits", heads, [_wait(wait, context, options) for wait in known])
        if known
        else None
    )


def _wait(wait: Waiting, context: Context, options: ViewOptions) -> Entry:
    name = visible(f"{who(wait.role.name, wait.count)} in {last_name(wait.path, context.short_names)}")
    entry = Entry(name, (), tone="wait", notes=tuple(_causes(wait, context, options)), path=wait.path)
    return filled(entry, WAITS, wait)


def _causes(wait: Waiting, context: Context, options: ViewOptions) -> Iterator[str]:
    whole_ns = max(wait.waited_ns, wait.known_ns)
    shown = wait.causes if options.all else wait.causes[:CAUSES_SHOWN]
    for cause in shown:
        yield f"{formatting.share(cause.wakes.waited_ns / whole_ns)} for {visible(_cause(cause, context))}"
    rest_ns = whole_ns - sum(cause.wakes.waited_ns for cause in shown)
    if rest_ns > LEAST_WAIT_SHARE * whole_ns:
        known = " for others" if len(shown) < len(wait.causes) else ", not known for whom"
        yield f"{formatting.share(rest_ns / whole_ns)}{known}"
    wakes = sum(cause.wakes.count for cause in wait.causes)
    handover_ns = sum(cause.wakes.handover_ns for cause in wait.causes)
    if handover_ns > LEAST_WAIT_SHARE * whole_ns:
        yield f"goes on {formatting.time(handover_ns / wakes)} after it could"


def _cause(cause: Cause, context: Context) -> str:
    """Return who ended waits, and in which section: of several, also the one that ended most of them."""
    place = f" in {last_name(cause.path, context.short_names)}" if cause.path else ""
    (name, most_ns), count = cause.by[0], len(cause.by)
    part = most_ns / cause.wakes.waited_ns if cause.wakes.waited_ns else 0.0
    if count == 1 or part >= ALONE_SHARE:
        return f"{name}{place}"
    most = (
        f", {formatting.share(part)} of it {name}"
        if part >= max(NAMED_CAUSE_SHARE, NAMED_FACTOR / count)
        else ""
    )
    return f"{who(cause.role, count)}{place}{most}"


ROLES_NAMED = 4


def processes(profile: Profile, context: Context, by: By | None) -> Table:
    """Return what each role's processes did with their time; its threads where it is by thread."""
    noun = "thread" if by == "thread" else "process"
    entries = [_entry(presence(role, context)) for role in _roles(profile, by)]
    title = "threads" if by == "thread" else "processes"
    return Table(title, noun, [column.head for column in ROLES], entries)


def census(profile: Profile, by: By | None) -> str:
    """Return how many of which role there were, in a few words."""
    found = _roles(profile, by)
    count = sum(role.count for role in found)
    noun = "thread" if by == "thread" else "process"
    return f"{formatting.counted(count, noun)}: {', '.join(_named(found))}"


def _roles(profile: Profile, by: By | None) -> list[Role]:
    return roles(profile, "thread" if by == "thread" else "process")


def _named(found: Sequence[Role]) -> list[str]:
    shown = found if len(found) <= ROLES_NAMED else found[: ROLES_NAMED - 1]
    names = [visible(who(role.name, role.count)) for role in shown]
    rest = sum(role.count for role in found[len(shown) :])
    return [*names, f"{formatting.count(rest)} others"] if rest else names


def _entry(one: Presence) -> Entry:
    return filled(Entry(visible(one.role.name), ()), ROLES, one)
