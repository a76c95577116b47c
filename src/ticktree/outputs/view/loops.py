"""The loops of a report: the headline of those it leads with, and each of them a row in the model's order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ticktree.analysis.loops import LoopView
from ticktree.analysis.survey import Survey
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.view import currency
from ticktree.outputs.view.columns import Column, filled, shown
from ticktree.outputs.view.model import Headline
from ticktree.outputs.view.pace import ages
from ticktree.outputs.view.pace import pace as pace_lines
from ticktree.outputs.view.worst import worst_ticks
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import Entry, Table
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Loop
from ticktree.profile import path as paths

# Percentiles of fewer are the longest of them.
LEAST_FOR_P99 = 100
# Loops that miss nothing, in a report that is to fit a screen.
SHOWN = 6


@dataclass(frozen=True, slots=True)
class LoopRow:
    """A loop as a row.

    Attributes:
        loop: which.
        view: its mean tick; None where it has no steady ticks.
        run_ns: how long the run took.
    """

    loop: Loop
    view: LoopView | None
    run_ns: int

    @property
    def run_share(self) -> float | None:
        """What part of the run its ticks took, on one of its threads."""
        if not self.run_ns:
            return None
        return self.loop.busy_ns / (self.view.threads if self.view else 1) / self.run_ns


def _pace(row: LoopRow) -> str:
    return currency.pace(row.view) if row.view else formatting.ABSENT


def _tail(row: LoopRow) -> int | None:
    return row.loop.stats.p99_ns if row.loop.stats.count >= LEAST_FOR_P99 else None


def missed(loop: Loop) -> str:
    """Return how many ticks a loop missed, and what part of them."""
    if loop.budget_ns is None and not loop.missed:
        return ""
    part = loop.missed / loop.stats.count if loop.stats.count else None
    return f"{formatting.count(loop.missed)} ({formatting.share(part)})" if loop.missed else "0"


LOOPS: tuple[Column[LoopRow], ...] = (
    Column(
        "pace",
        "pace",
        "",
        0,
        _pace,
        "The rate that it holds, or the rate it has and the one it is to hold; of a loop without a target how fast it "
        "is; of what is called a few times how long a call takes.",
    ),
    Column(
        "tick_ns",
        "mean",
        "ns",
        4,
        lambda row: round(row.view.tick_ns) if row.view else None,
        "The mean tick.",
        detail=True,
    ),
    Column(
        "busy_ns",
        "busy",
        "ns",
        4,
        lambda row: round(row.view.busy_ns) if row.view else None,
        "The mean tick less what it waits and sleeps.",
    ),
    Column(
        "headroom_ns",
        "headroom",
        "ns",
        2,
        lambda row: currency.headroom_ns(row.view) if row.view else None,
        "How much longer a tick could work at the rate that the loop is to hold.",
        optional=True,
    ),
    Column(
        "budget_ns",
        "budget",
        "ns",
        6,
        lambda row: row.loop.budget_ns,
        "The time a tick may take.",
        optional=True,
        detail=True,
    ),
    Column("p50_ns", "p50", "ns", 6, lambda row: row.loop.stats.p50_ns, "The median tick.", detail=True),
    Column("p99_ns", "p99", "ns", 3, _tail, "What 99% of its ticks do not exceed, of 100 ticks and more."),
    Column("max_ns", "max", "ns", 3, lambda row: row.loop.stats.max_ns, "The longest tick."),
    Column(
        "missed",
        "missed",
        "count",
        0,
        lambda row: row.loop.missed if row.loop.budget_ns is not None or row.loop.missed else None,
        "Ticks over budget, waits not counted.",
        text=lambda row: missed(row.loop),
        optional=True,
    ),
    Column(
        "ticks", "ticks", "count", 1, lambda row: row.loop.stats.count, "Steady ticks, after the warm-up."
    ),
    Column("run", "of run", "share", 5, lambda row: row.run_share, "What part of the run its ticks took."),
)


def loops(seen: Survey, options: ViewOptions) -> Table | None:
    """Return the loops of a profile, a row each; None where there is none."""
    every = [LoopRow(loop, seen.view_of(loop.path), seen.run_ns) for loop in seen.all_loops]
    if not every:
        return None
    rows = every if options.all else _foremost(every)
    columns = shown(LOOPS, rows, details=options.all)
    entries = [filled(_entry(row, seen, options), columns, row) for row in rows]
    left = len(every) - len(rows)
    remark = f"{formatting.counted(left, 'more loop')} that miss nothing" if left else ""
    return Table("loops", "loop", [column.head for column in columns], entries, remark=remark)


def _foremost(every: list[LoopRow]) -> list[LoopRow]:
    """Those that miss ticks, all of them, and of the others as many as there is room for."""
    kept = [row for at, row in enumerate(every) if row.loop.missed or at < SHOWN]
    return every if len(every) == len(kept) + 1 else kept


def _entry(row: LoopRow, seen: Survey, options: ViewOptions) -> Entry:
    profile, names = seen.profile, seen.short_names
    about: list[list[str]] = []
    if options.all:
        about = [*pace_lines(profile, row.loop), *worst_ticks(profile, row.loop, options, names)]
    return Entry(
        name=visible(paths.plain(row.loop.path)),
        cells=(),
        short=visible(names.joined(paths.split(row.loop.path))),
        tone="alarm" if row.loop.missed else "plain",
        about=[pieces for pieces in about if pieces],
        path=row.loop.path,
    )


def headlines(seen: Survey, options: ViewOptions) -> list[Headline]:
    """Return the line of each loop that the report leads with; of the run where there is none."""
    views = seen.loops if options.all else seen.main_loops
    return [_headline(view) for view in views if view.loop is not None]


def _headline(view: LoopView) -> Headline:
    return Headline(view.path, currency.called(view), list(_pieces(view)), view.misses)


def _pieces(view: LoopView) -> Iterator[str]:
    loop, kind = view.loop, currency.currency(view)
    if loop is None:
        yield currency.pace(view)
        return
    if kind == "headroom":
        headroom = currency.headroom_ns(view)
        ticks, pace = formatting.counted(loop.stats.count, "tick"), currency.pace(view)
        if view.misses:
            yield f"misses {missed(loop)} of {ticks} at {pace}"
        elif loop.hz:
            yield f"{_held(view)} {pace}, {missed(loop) or 0} of {ticks} missed"
        else:
            yield f"{pace} by its own sleep, {ticks}"
        busy, room = formatting.time(round(view.busy_ns)), formatting.time(round(headroom or 0))
        yield f"busy {busy} per tick, {room} headroom"
    else:
        yield currency.pace(view) + (" each" if kind == "seconds" and loop.stats.count > 1 else "")
        yield formatting.counted(loop.stats.count, currency.noun(view))
    yield from _rest(view, loop)


def _held(view: LoopView) -> str:
    return "reaches" if " of " in currency.pace(view) else "holds"


def _rest(view: LoopView, loop: Loop) -> Iterator[str]:
    if loop.warmup_ticks:
        warmup = loop.ticks - loop.stats.count
        yield f"{formatting.count(warmup)} of warm-up set aside"
    if view.threads > 1:
        yield f"on {view.threads} threads each"
    if loop.stats.count >= LEAST_FOR_P99:
        yield f"p99 {formatting.time(loop.stats.p99_ns)}"
    elif loop.stats.count > 1:
        yield f"max {formatting.time(loop.stats.max_ns)}"
    for age in ages(view.sections[0].node):
        yield f"{visible(age.name)} {formatting.time(age.steady.p50_ns)} p50"
