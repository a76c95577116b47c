"""The loops of a report: headlines, one row per loop in the order of the loop model, and their worst ticks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ticktree.analysis.context import Context
from ticktree.analysis.finding import MIN_SAVING_SHARE
from ticktree.analysis.loops import LoopView
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.view import currency
from ticktree.outputs.view.model import Headline
from ticktree.outputs.view.notes import MIN_P99_VALUES, ages
from ticktree.outputs.view.notes import pace as pace_lines
from ticktree.outputs.view.tables import Column, needed, table_of
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import Entry, Table, Tone
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Loop, Profile, WorstTick
from ticktree.profile import path as paths
from ticktree.profile.short_names import ShortNames

TICKS_SHOWN = 3
PARTS_SHOWN = 3
# A part that takes this many times its usual time is mentioned.
UNUSUAL = 1.5
# A child with this share of a part is named instead of the part.
FILLED = 0.8

_CAUSES = {
    "gc_ns": "garbage collector",
    "voluntary_switches": "voluntary switch",
    "involuntary_switches": "involuntary switch",
    "minor_faults": "minor page fault",
    "major_faults": "major page fault",
}


def worst_ticks(
    profile: Profile, loop: Loop, options: ViewOptions, names: ShortNames | None = None
) -> list[list[str]]:
    """Return the worst ticks of `loop`, the longest first, each as pieces: when, how long, and why.

    Without `options.all`, only the longest tick and at most two more that are far longer than usual.
    """
    names = names or ShortNames(profile.root)
    limit_ns = loop.budget_ns or UNUSUAL * (loop.stats.p50_ns or 0)
    long_ticks = [tick for rank, tick in enumerate(loop.worst) if not rank or tick.duration_ns > limit_ns]
    selected = loop.worst if options.all else long_ticks[:TICKS_SHOWN]
    return [list(_tick(profile, loop, tick, options, names)) for tick in selected]


def _tick(
    profile: Profile, loop: Loop, tick: WorstTick, options: ViewOptions, names: ShortNames
) -> Iterator[str]:
    started, duration = formatting.time(tick.started_ns), formatting.time(tick.duration_ns)
    yield f"tick {formatting.count(tick.tick)} at {started} took {duration}"
    parts = sorted(_part(profile, loop, tick, path, names) for path in _slowest_parts(loop, tick))
    yield from (text for _, _, text in (parts if options.all else parts[:PARTS_SHOWN]))
    yield from (_cause(key, amount) for key, amount in sorted(tick.causes.items()) if amount)


def _part(
    profile: Profile, loop: Loop, tick: WorstTick, path: str, names: ShortNames
) -> tuple[int, str, str]:
    """Return the sort key of a part of a tick, how much longer than usual it was; its path; and its text."""
    part_ns, node = tick.breakdown[path], profile.root.find(path)
    usual_ns = 0 if node is None else loop.calls_of(node).sum_ns // max(1, loop.stats.count)
    name = visible(names.joined(paths.split(path)[len(paths.split(loop.path)) :]))
    is_unusual = usual_ns and part_ns > UNUSUAL * usual_ns
    usually = f" (usually {formatting.time(usual_ns)})" if is_unusual else ""
    return usual_ns - part_ns, path, f"{name} {formatting.time(part_ns)}{usually}"


def _slowest_parts(loop: Loop, tick: WorstTick) -> Iterator[str]:
    """Yield the children of the loop, each replaced by the descendant that takes most of it."""
    children: dict[tuple[str, ...], list[str]] = {}
    for path in tick.breakdown:
        children.setdefault(paths.split(path)[:-1], []).append(path)
    for part in children.get(paths.split(loop.path), []):
        slowest = part
        while True:
            parts = children.get(paths.split(slowest), [])
            longest = max(parts, key=tick.breakdown.__getitem__, default=None)
            if longest is None or tick.breakdown[longest] < FILLED * tick.breakdown[slowest]:
                break
            slowest = longest
        yield slowest


def _cause(key: str, amount: int) -> str:
    name = visible(key.removesuffix("_ns").replace("_", " "))
    if key.endswith("_ns"):
        return f"{_CAUSES.get(key, name)} {formatting.time(amount)}"
    if key in _CAUSES:
        return formatting.counted(amount, _CAUSES[key])
    return f"{formatting.count(amount)} {name}"


# Number of loops, late loops aside, in a report that must fit a screen.
SHOWN = 6


@dataclass(frozen=True, slots=True)
class LoopRow:
    """A loop as a row."""

    loop: Loop
    view: LoopView | None
    run_ns: int

    @property
    def is_late(self) -> bool:
        """Whether it missed a tick or does not reach its rate."""
        return bool(self.loop.missed) or (self.view is not None and self.view.lags)

    @property
    def run_share(self) -> float | None:
        """Share of the run that its ticks took, on one of its threads."""
        if not self.run_ns:
            return None
        return self.loop.busy_ns / (self.view.threads if self.view else 1) / self.run_ns


def _tail(row: LoopRow) -> int | None:
    return row.loop.stats.p99_ns if row.loop.stats.count >= MIN_P99_VALUES else None


def missed_text(loop: Loop) -> str:
    """Return the number and the share of a loop's missed ticks."""
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
        "The rate that the loop holds, or its rate and its target rate. Without a target, its speed; for a section "
        "called a few times, the time per call.",
        lambda row: currency.pace(row.view) if row.view else formatting.ABSENT,
    ),
    Column("tick_ns", "mean", "ns", 4, "The mean tick.", "view.tick_ns", detail=True),
    Column("busy_ns", "busy", "ns", 4, "The mean tick less its waits and sleeps.", "view.busy_ns"),
    Column(
        "headroom_ns",
        "headroom",
        "ns",
        2,
        "How much longer a tick could be busy at the target rate.",
        lambda row: currency.headroom_ns(row.view) if row.view else None,
        optional=True,
    ),
    Column(
        "budget_ns",
        "budget",
        "ns",
        6,
        "The time that the target rate allows per tick.",
        "loop.budget_ns",
        optional=True,
        detail=True,
    ),
    Column("p50_ns", "p50", "ns", 6, "The median tick.", "loop.stats.p50_ns", detail=True),
    Column("p99_ns", "p99", "ns", 3, "99% of ticks are not longer; from 100 ticks on.", _tail),
    Column("max_ns", "max", "ns", 3, "The longest tick.", "loop.stats.max_ns"),
    Column(
        "missed",
        "missed",
        "count",
        0,
        "Ticks whose busy time exceeds the budget.",
        lambda row: row.loop.missed if row.loop.budget_ns is not None or row.loop.missed else None,
        text=lambda row: missed_text(row.loop),
        optional=True,
    ),
    Column("ticks", "ticks", "count", 1, "Steady ticks, after the warm-up.", "loop.stats.count"),
    Column("run", "of run", "share", 5, "Share of the run that its ticks took.", "run_share"),
)


def loops(context: Context, options: ViewOptions) -> Table | None:
    """Return the loops of a profile, one row per loop; None if there is none."""
    all_rows = [LoopRow(loop, context.view_of(loop.path), context.run_ns) for loop in context.all_loops]
    if not all_rows:
        return None
    # All loops that are late, and as many others as fit.
    top_rows = [row for rank, row in enumerate(all_rows) if row.is_late or rank < SHOWN]
    rows = all_rows if options.all or len(all_rows) == len(top_rows) + 1 else top_rows
    hidden_rows = len(all_rows) - len(rows)
    remainder = f"{formatting.counted(hidden_rows, 'more loop')} without missed ticks" if hidden_rows else ""
    remark = "; ".join(filter(None, (_startup(context), remainder)))
    items = ((_entry(row, context, options), row) for row in rows)
    return table_of("loops", "loop", needed(LOOPS, rows, details=options.all), items, remark=remark)


def _startup(context: Context) -> str:
    """Return the time until the first tick of the main loop; "" if unknown."""
    if context.startup_ns is None or context.first_loop is None:
        return ""
    return f"start-up {formatting.time(context.startup_ns)} until the first tick of {visible(context.first_loop.name)}"


def _entry(row: LoopRow, context: Context, options: ViewOptions) -> Entry:
    profile, names = context.profile, context.short_names
    about: list[list[str]] = []
    if options.all:
        about = [*pace_lines(profile, row.loop), *worst_ticks(profile, row.loop, options, names)]
    name, short = (
        visible(paths.display_text(row.loop.path)),
        visible(names.joined(paths.split(row.loop.path))),
    )
    tone: Tone = "alarm" if row.is_late else "plain"
    about = [pieces for pieces in about if pieces]
    return Entry(name, (), tone, about=about, short=short, path=row.loop.path)


def headlines(context: Context, options: ViewOptions) -> list[Headline]:
    """Return the line of the main loop; with `options.all`, one line per loop."""
    views = context.loops if options.all else context.main_loops[:1]
    return [
        Headline(view.path, currency.loop_title(view), list(_pieces(view)), view.fails)
        for view in views
        if view.loop is not None
    ]


def _pieces(view: LoopView) -> Iterator[str]:
    loop, kind = view.loop, currency.currency(view)
    if loop is None:
        yield currency.pace(view)
        return
    if view.is_paced_unseen:
        yield f"{_rate_verb(view)} {currency.pace(view)} by a wait that was not recorded"
        yield formatting.counted(loop.stats.count, "tick")
    elif kind == "headroom":
        headroom = currency.headroom_ns(view)
        ticks, pace = formatting.counted(loop.stats.count, "tick"), currency.pace(view)
        if view.misses:
            yield f"misses {missed_text(loop)} of {ticks} at {pace}"
        elif loop.hz:
            yield f"{_rate_verb(view)} {pace}, {missed_text(loop) or 0} of {ticks} missed"
        else:
            yield f"{pace} by its own sleep, {ticks}"
        busy, room = formatting.time(round(view.busy_ns)), formatting.time(round(headroom or 0))
        waits_ns = view.needed_ns - view.busy_ns
        if view.lags and view.share(waits_ns) >= MIN_SAVING_SHARE:
            busy += f" and waiting {formatting.time(round(waits_ns))}"
        yield f"busy {busy} per tick, {room} headroom"
    else:
        yield currency.pace(view) + (" each" if kind == "seconds" and loop.stats.count > 1 else "")
        yield formatting.counted(loop.stats.count, currency.noun(view))
    yield from _details(view, loop)


def _rate_verb(view: LoopView) -> str:
    if currency.is_apart(view):
        return "is to hold"
    return "reaches" if " of " in currency.pace(view) else "holds"


def _details(view: LoopView, loop: Loop) -> Iterator[str]:
    if loop.warmup_ticks:
        warmup = loop.ticks - loop.stats.count
        yield f"{formatting.count(warmup)} of warm-up set aside"
    if view.threads > 1:
        yield f"on each of {view.threads} threads"
    if loop.stats.count >= MIN_P99_VALUES:
        yield f"p99 {formatting.time(loop.stats.p99_ns)}"
    elif loop.stats.count > 1:
        yield f"max {formatting.time(loop.stats.max_ns)}"
    for age in ages(view.sections[0].node):
        yield f"{visible(age.name)} {formatting.time(age.steady.p50_ns)} p50"
