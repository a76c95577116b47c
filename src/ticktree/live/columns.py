"""The columns of the live view: first those of the last seconds, then those of the whole run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Generic, NamedTuple, TypeVar

from rich.cells import cell_len
from rich.text import Text

from ticktree.analysis.context import Context
from ticktree.analysis.loops import LoopView
from ticktree.analysis.sampled import SampledRow, sampled_times
from ticktree.analysis.workers.roles import By, Unit, has_processes, roles
from ticktree.live.difference import Span
from ticktree.live.rows import NOTHING, LiveRow
from ticktree.outputs.view import currency
from ticktree.outputs.view.loops import missed
from ticktree.outputs.view.sampled import MARK, place
from ticktree.outputs.view.tables import quantile
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.grid import BAR_CELLS, GAP, bar, cut, padded
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Gauge, Loop, Node, Profile, Stats
from ticktree.profile import path as paths
from ticktree.profile.machine import is_of_machine

Item = TypeVar("Item")

UNIT_CELLS = 4  # " ms", " k/s", " MHz"


@dataclass(frozen=True, slots=True)
class LiveColumn(Generic[Item]):
    """A column of numbers.

    Attributes:
        title: safe to show.
        cells: its width.
        text: returns an item's text; "" for an empty cell. A number and its unit have a space between them.
        rank: the order in which columns are dropped if there is no room, the highest first.
        group: the common head of it and its neighbours of the same group; "" for none.
        bar: whether its text is a bar, which is left-aligned.
    """

    title: str
    cells: int
    text: Callable[[Item], str]
    rank: int
    group: str = ""
    bar: bool = False


class LiveTable(Generic[Item]):
    """As many of the columns as there is room for next to the names.

    Args:
        columns: in order.
        width: cells of a line.
        name_cells: minimum width of the names.
        needed_cells: width that the names need, and maximum width.
    """

    def __init__(
        self, columns: Sequence[LiveColumn[Item]], width: int, name_cells: int, needed_cells: int
    ) -> None:
        shown = list(columns)
        while shown and name_cells + sum(len(GAP) + column.cells for column in shown) > width:
            worst = max(range(len(shown)), key=lambda at: (shown[at].rank, at))
            del shown[worst]
        self.columns: Sequence[LiveColumn[Item]] = shown
        left = max(0, width - sum(len(GAP) + column.cells for column in shown))
        self.name_cells = min(left, max(name_cells, needed_cells))

    def headings(self, name: str, style: str = "bold") -> Iterator[Text]:
        """Yield the two lines above the rows: the period of the numbers, and their titles."""
        groups = Text(" " * self.name_cells)
        for group, members in groupby(self.columns, key=lambda column: column.group):
            cells = sum(len(GAP) + column.cells for column in members) - len(GAP)
            groups.append(GAP + (_brace(group, cells) if group else " " * cells), "dim")
        groups.rstrip()
        yield groups
        titles = Text.assemble((padded(cut(name, self.name_cells), self.name_cells), style))
        for column in self.columns:
            title = cut(column.title, column.cells)
            space = " " * (column.cells - cell_len(title))
            titles.append(GAP + (title + space if column.bar else space + title), "dim")
        titles.rstrip()
        yield titles

    def line(self, item: Item, name: Text, *, quiet: bool = False) -> Text:
        """Return the row of an item."""
        result = name.copy()
        result.truncate(self.name_cells, overflow="ellipsis", pad=True)
        for column in self.columns:
            result.append(GAP)
            text, style = column.text(item), "dim" if quiet else ""
            cell = (
                Text(padded(text, column.cells), style) if column.bar else _number(text, column.cells, style)
            )
            result.append_text(cell)
        return result


def _number(text: str, cells: int, style: str) -> Text:
    """Return a cell, with the number right-aligned and the unit left-aligned."""
    number, space, unit = cut(text, cells).partition(" ")
    behind = padded(space + unit, min(UNIT_CELLS, cells - cell_len(number))) if unit else ""
    before = " " * (cells - cell_len(number) - cell_len(behind))
    return Text.assemble((before + number, style), (behind, "dim"))


def _brace(group: str, cells: int) -> str:
    """Return a line over a group's columns with its name in the middle, cut to the words that fit."""
    words = group.split(" ")
    while len(words) > 1 and cell_len(" ".join(words)) > cells:
        words.pop()
    name = cut(" ".join(words), cells)
    if cells - cell_len(name) < 4:  # too short for a visible line
        return " " * (cells - cell_len(name)) + name
    left = (cells - cell_len(name)) // 2
    right = cells - cell_len(name) - left
    return f"{_rule(left)[::-1]}{name}{_rule(right)}"


def _rule(cells: int) -> str:
    return " " + "─" * (cells - 1)


def units_of(profile: Profile) -> tuple[str, Sequence[Unit]]:
    """Return the kind ("processes", "threads") and the units; no units if only one thread recorded."""
    by: By = "process" if has_processes(profile) else "thread"
    units = [unit for role in roles(profile, by) for unit in role.units]
    if len(units) < 2:
        return "", ()
    return "processes" if by == "process" else "threads", units


WHOLE = "overall"
NS_PER_SECOND = 1_000_000_000

_SHARE_CELLS = 5
_WORKER_CELLS = 8
_TIME_CELLS = 8
_RATE_CELLS = 8
_PACE_CELLS = 14
_COUNT_CELLS = 9
_MISSED_CELLS = 12
_READING_CELLS = 10


@dataclass(frozen=True, slots=True)
class LoopNow:
    """A watched loop: over the whole run, and in the last seconds, None if unknown.

    Views are None without steady ticks.
    """

    whole: Loop
    recent: Loop | None
    node: Node
    view: LoopView | None
    recent_view: LoopView | None


class Watched(NamedTuple, Generic[Item]):
    """A gauge or a function: over the whole run, and in the last seconds, None if nothing was read of it then."""

    whole: Item
    recent: Item | None


def _recent_title(length_ns: int) -> str:
    seconds = length_ns / NS_PER_SECOND
    return f"last {seconds:.0f} s" if seconds >= 0.95 else f"last {seconds:.1f} s"


def of_tree(span: Span | None, by_process: bool) -> list[LiveColumn[LiveRow]]:
    """Return the columns of the tree; those of the last seconds only if these are known.

    Args:
        span: the last seconds.
        by_process: whether the columns of the whole run make room for those of the processes.
    """
    later = 10 if by_process else 0
    share_rank = 1 if span is None else 4 + later
    whole: list[LiveColumn[LiveRow]] = [
        LiveColumn("share", _SHARE_CELLS, lambda row: formatting.share(_share(row)), share_rank, WHOLE),
        LiveColumn("mean", _TIME_CELLS, _whole("mean_ns"), 6 + later, WHOLE),
        LiveColumn("p50", _TIME_CELLS, _whole("p50_ns"), 3 + later, WHOLE),
        LiveColumn("p99", _TIME_CELLS, _whole("p99_ns"), 2 + later, WHOLE),
        LiveColumn("calls", _COUNT_CELLS, _calls, 5 + later, WHOLE),
    ]
    if span is None:
        return [LiveColumn("", BAR_CELLS, lambda row: bar(_share(row)), 6 + later, bar=True), *whole]
    title, length_ns = _recent_title(span.length_ns), span.length_ns
    return [
        LiveColumn("", BAR_CELLS, lambda row: bar(_recent_share(row)), 4 + later, title, bar=True),
        LiveColumn("share", _SHARE_CELLS, lambda row: formatting.share(_recent_share(row)), 0, title),
        LiveColumn("rate", _RATE_CELLS, lambda row: _rate(row, length_ns), 0, title),
        LiveColumn("p50", _TIME_CELLS, _recent("p50_ns"), 2, title),
        LiveColumn("p99", _TIME_CELLS, _recent("p99_ns"), 1, title),
        *whole,
    ]


def of_units(span: Span | None, units: Sequence[Unit], group: str, rank: int) -> list[LiveColumn[LiveRow]]:
    """Return one column per unit: its share of the node's time, in the last seconds or in the whole run."""
    return [
        LiveColumn(visible(unit.name), _WORKER_CELLS, partial(_unit_share, unit=unit, span=span), rank, group)
        for unit in units
    ]


def of_loops(span: Span | None) -> list[LiveColumn[LoopNow]]:
    """Return the columns of the loops, in the report's currency."""
    whole: list[LiveColumn[LoopNow]] = [
        LiveColumn("pace", _PACE_CELLS, lambda now: currency.pace(now.view) if now.view else "", 3, WHOLE),
        LiveColumn("missed", _MISSED_CELLS, lambda now: missed(now.whole), 2, WHOLE),
        LiveColumn("p99", _TIME_CELLS, lambda now: formatting.time(now.whole.stats.p99_ns), 4, WHOLE),
        LiveColumn("max", _TIME_CELLS, lambda now: formatting.time(now.whole.stats.max_ns), 4, WHOLE),
        LiveColumn("ticks", _COUNT_CELLS, lambda now: formatting.count(now.whole.ticks), 3, WHOLE),
    ]
    if span is None:
        whole.insert(1, LiveColumn("headroom", _TIME_CELLS, lambda now: _headroom(now.view), 1, WHOLE))
        return whole
    title = _recent_title(span.length_ns)
    return [
        LiveColumn("pace", _PACE_CELLS, _pace, 0, title),
        LiveColumn("missed", _MISSED_CELLS, lambda now: missed(now.recent) if now.recent else "", 0, title),
        LiveColumn("headroom", _TIME_CELLS, lambda now: _headroom(now.recent_view), 1, title),
        LiveColumn("p50", _TIME_CELLS, lambda now: _tick(now, "p50_ns"), 3, title),
        LiveColumn("p99", _TIME_CELLS, lambda now: _tick(now, "p99_ns"), 1, title),
        *whole,
    ]


def of_gauges(span: Span | None) -> list[LiveColumn[Watched[Gauge]]]:
    """Return the columns of the gauges."""
    last: list[LiveColumn[Watched[Gauge]]] = [
        LiveColumn("last", _READING_CELLS, lambda now: formatting.reading(now.whole.last), 0)
    ]
    whole: list[LiveColumn[Watched[Gauge]]] = [
        LiveColumn("min", _READING_CELLS, lambda now: formatting.reading(now.whole.min), 2, WHOLE),
        LiveColumn("p50", _READING_CELLS, lambda now: _reading(now.whole, "p50"), 3, WHOLE),
        LiveColumn("max", _READING_CELLS, lambda now: formatting.reading(now.whole.max), 2, WHOLE),
        LiveColumn("readings", _COUNT_CELLS, lambda now: formatting.count(now.whole.count), 4, WHOLE),
    ]
    if span is not None:
        title = _recent_title(span.length_ns)
        last.append(LiveColumn("p50", _READING_CELLS, lambda now: _reading(now.recent, "p50"), 1, title))
        last.append(LiveColumn("p99", _READING_CELLS, lambda now: _reading(now.recent, "p99"), 1, title))
    return [*last, *whole]


def loops_of(context: Context, recent: Context | None, kept: Sequence[str] = ()) -> Sequence[LoopNow]:
    """Return the loops in the order of all outputs: those that miss ticks first.

    Args:
        context: the whole run.
        recent: the last seconds; None if unknown.
        kept: the paths in the order in which they were shown before, which similar loops keep.
    """
    model = [loop.path for loop in context.all_loops]
    rank = {path: at for at, path in enumerate([*kept, *(path for path in model if path not in kept)])}
    failing = {view.path for view in context.loops if view.fails}
    profile = context.profile
    found = []
    for path in sorted(model, key=lambda path: (path not in failing, rank[path])):
        loop, view = (recent.profile.loops.get(path), recent.view_of(path)) if recent else (None, None)
        found.append(LoopNow(profile.loops[path], loop, profile.root.at(path), context.view_of(path), view))
    return found


def gauges_of(profile: Profile, span: Span | None) -> Sequence[Watched[Gauge]]:
    """Return the gauges by name: the program's before the machine's, because not all may fit."""
    recent = {} if span is None else span.profile.gauges
    names = sorted(profile.gauges, key=lambda name: (is_of_machine(name), name))
    return [Watched(profile.gauges[name], recent.get(name)) for name in names]


def _part(amount: int, whole: int) -> float | None:
    # Each reading calibrates the clock again, after which times may be a few nanoseconds shorter.
    return max(0, amount) / whole if whole > 0 else None


def _unit_share(row: LiveRow, unit: Unit, span: Span | None) -> str:
    if not row.is_section:
        return ""
    node, whole_ns = (row.node, row.total_ns) if span is None else (row.recent or NOTHING, span.length_ns)
    time_ns = unit.total_ns(node)
    return formatting.share(_part(time_ns, whole_ns)) if time_ns else ""


def _share(row: LiveRow) -> float | None:
    return _part(row.total_ns, row.base_ns)


def _recent_share(row: LiveRow) -> float | None:
    return _part(row.recent_ns, row.recent_base_ns)


def _rate(row: LiveRow, length_ns: int) -> str:
    return formatting.rate((row.recent or NOTHING).count, length_ns, "") if row.is_section else ""


def _recent(statistic: str) -> Callable[[LiveRow], str]:
    return lambda row: _time(row, (row.recent or NOTHING).stats, statistic)


def _whole(statistic: str) -> Callable[[LiveRow], str]:
    return lambda row: _time(row, row.node.steady if row.node.steady.count else row.node.stats, statistic)


def _time(row: LiveRow, stats: Stats, statistic: str) -> str:
    return formatting.time(getattr(stats, statistic)) if row.is_section and stats.count else ""


def _calls(row: LiveRow) -> str:
    return formatting.count(row.node.count) if row.is_section else ""


def _pace(now: LoopNow) -> str:
    """Return the pace of the last seconds: None if the loop does not run, 0 if its tick takes longer."""
    if now.recent is None or not now.recent.ticks:
        return formatting.hertz(0) if now.node.open is not None else formatting.ABSENT
    return currency.pace(now.recent_view, now.view) if now.recent_view else ""


def _headroom(view: LoopView | None) -> str:
    headroom_ns = currency.headroom_ns(view) if view else None
    return "" if headroom_ns is None else formatting.time(headroom_ns)


def _tick(now: LoopNow, name: str) -> str:
    stats = Stats() if now.recent is None else now.recent.stats
    return formatting.time(getattr(stats, name))


def _reading(gauge: Gauge | None, name: str) -> str:
    return formatting.ABSENT if gauge is None else formatting.reading(quantile(name)(gauge))


TITLE = f"functions {MARK}"
_FUNCTION_SHARE_CELLS = 9
_LINE_CELLS = 24


def functions_of(profile: Profile, span: Span | None) -> list[Watched[SampledRow]]:
    """Return the functions in which the run's self time was spent, those of the last seconds first."""
    recent = {(row.function, row.file): row for row in _rows(span.profile)} if span else {}
    found = [Watched(row, recent.get((row.function, row.file))) for row in _rows(profile)]
    return sorted(found, key=lambda now: (-(now.recent.share if now.recent else 0.0), -now.whole.share))


def _rows(profile: Profile) -> Sequence[SampledRow]:
    time = sampled_times(profile).get(paths.ROOT)
    return time.rows() if time else ()


def of_functions(span: Span | None) -> list[LiveColumn[Watched[SampledRow]]]:
    """Return the columns: their shares, and their hottest lines."""
    cells = _FUNCTION_SHARE_CELLS
    whole: list[LiveColumn[Watched[SampledRow]]] = [
        LiveColumn("share", cells, lambda now: _share_of(now.whole), 1, WHOLE),
        LiveColumn("line", _LINE_CELLS, _hottest_line, 2),
    ]
    if span is not None:
        title = _recent_title(span.length_ns)
        whole.insert(0, LiveColumn("share", cells, lambda now: _share_of(now.recent), 0, title))
    return [LiveColumn("", BAR_CELLS, lambda now: bar((now.recent or now.whole).share), 3, bar=True), *whole]


def _share_of(row: SampledRow | None) -> str:
    return formatting.share(row.share if row else None)


def _hottest_line(now: Watched[SampledRow]) -> str:
    row = now.recent or now.whole
    return cut(place(row.file, row.lines[0].line), _LINE_CELLS)
