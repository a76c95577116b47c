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
from ticktree.analysis.workers.roles import By, Worker, has_processes, roles
from ticktree.live.difference import Span
from ticktree.live.rows import NOTHING, LiveRow
from ticktree.outputs.view import currency
from ticktree.outputs.view.loops import missed_text
from ticktree.outputs.view.sampled import MARK, line_title
from ticktree.outputs.view.tables import quantile
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.grid import BAR_CELLS, GAP, bar, cut, padded
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Gauge, Loop, Node, Profile, Stats
from ticktree.profile import path as paths
from ticktree.profile.machine import is_machine_gauge

Item = TypeVar("Item")

OVERALL = "overall"
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
    group: str = OVERALL
    is_bar: bool = False


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
        self.columns = list(columns)
        while self.columns and name_cells + self._cells() > width:
            del self.columns[max(range(len(self.columns)), key=lambda i: (self.columns[i].rank, i))]
        self.name_cells = min(max(0, width - self._cells()), max(name_cells, needed_cells))

    def _cells(self) -> int:
        return sum(len(GAP) + column.cells for column in self.columns)

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
            titles.append(GAP + (title + space if column.is_bar else space + title), "dim")
        titles.rstrip()
        yield titles

    def line(self, item: Item, name: Text, *, quiet: bool = False) -> Text:
        """Return the row of an item."""
        result = name.copy()
        result.truncate(self.name_cells, overflow="ellipsis", pad=True)
        for column in self.columns:
            result.append(GAP)
            text, style = column.text(item), "dim" if quiet else ""
            cell = Text(padded(text, column.cells), style)
            result.append_text(cell if column.is_bar else _number_cell(text, column.cells, style))
        return result


def _number_cell(text: str, cells: int, style: str) -> Text:
    """Return a cell, with the number right-aligned and the unit left-aligned."""
    number, space, unit = cut(text, cells).partition(" ")
    unit_cell = padded(space + unit, min(UNIT_CELLS, cells - cell_len(number))) if unit else ""
    padding = " " * (cells - cell_len(number) - cell_len(unit_cell))
    return Text.assemble((padding + number, style), (unit_cell, "dim"))


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


def workers_of(profile: Profile) -> tuple[str, Sequence[Worker]]:
    """Return the kind ("processes", "threads") and the workers; no workers if only one thread recorded."""
    grouping: By = "process" if has_processes(profile) else "thread"
    workers = [worker for role in roles(profile, grouping) for worker in role.workers]
    if len(workers) < 2:
        return "", ()
    return "processes" if grouping == "process" else "threads", workers


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
class WatchedLoop:
    """A watched loop: in the whole run, and in the last seconds, None if unknown.

    Views are None without steady ticks.
    """

    run: Loop
    recent: Loop | None
    node: Node
    view: LoopView | None
    recent_view: LoopView | None


class Watched(NamedTuple, Generic[Item]):
    """A gauge or a function: in the whole run, and in the last seconds, None if it has no reading of these."""

    run: Item
    recent: Item | None


def _recent_title(span: Span) -> str:
    seconds = span.length_ns / NS_PER_SECOND
    return f"last {seconds:.0f} s" if seconds >= 0.95 else f"last {seconds:.1f} s"


def tree_columns(span: Span | None, processes_first: bool) -> list[LiveColumn[LiveRow]]:
    """Return the columns of the tree; those of the last seconds only if these are known.

    Args:
        span: the last seconds.
        processes_first: whether the columns of the processes displace those of the whole run.
    """
    offset = 10 if processes_first else 0
    share_rank = 1 if span is None else 4 + offset
    run_columns: list[LiveColumn[LiveRow]] = [
        LiveColumn("share", _SHARE_CELLS, lambda row: formatting.share(_share(row)), share_rank),
        LiveColumn("mean", _TIME_CELLS, _run_time("mean_ns"), 6 + offset),
        LiveColumn("p50", _TIME_CELLS, _run_time("p50_ns"), 3 + offset),
        LiveColumn("p99", _TIME_CELLS, _run_time("p99_ns"), 2 + offset),
        LiveColumn("calls", _COUNT_CELLS, _calls, 5 + offset),
    ]
    if span is None:
        return [
            LiveColumn("", BAR_CELLS, lambda row: bar(_share(row)), 6 + offset, "", is_bar=True),
            *run_columns,
        ]
    title = _recent_title(span)
    return [
        LiveColumn("", BAR_CELLS, lambda row: bar(_recent_share(row)), 4 + offset, title, is_bar=True),
        LiveColumn("share", _SHARE_CELLS, lambda row: formatting.share(_recent_share(row)), 0, title),
        LiveColumn("rate", _RATE_CELLS, partial(_rate, length_ns=span.length_ns), 0, title),
        LiveColumn("p50", _TIME_CELLS, _recent_time("p50_ns"), 2, title),
        LiveColumn("p99", _TIME_CELLS, _recent_time("p99_ns"), 1, title),
        *run_columns,
    ]


def worker_columns(
    span: Span | None, workers: Sequence[Worker], group: str, rank: int
) -> list[LiveColumn[LiveRow]]:
    """Return one column per worker: its share of the node's time, in the last seconds or in the whole run."""
    return [
        LiveColumn(
            visible(worker.name), _WORKER_CELLS, partial(_worker_share, worker=worker, span=span), rank, group
        )
        for worker in workers
    ]


def loop_columns(span: Span | None) -> list[LiveColumn[WatchedLoop]]:
    """Return the columns of the loops, in the report's currency."""
    run_columns: list[LiveColumn[WatchedLoop]] = [
        LiveColumn(
            "pace", _PACE_CELLS, lambda loop: currency.pace(loop.view) if loop.view else "", 3, OVERALL
        ),
        LiveColumn("missed", _MISSED_CELLS, lambda loop: missed_text(loop.run), 2),
        LiveColumn("p99", _TIME_CELLS, lambda loop: formatting.time(loop.run.stats.p99_ns), 4),
        LiveColumn("max", _TIME_CELLS, lambda loop: formatting.time(loop.run.stats.max_ns), 4),
        LiveColumn("ticks", _COUNT_CELLS, lambda loop: formatting.count(loop.run.ticks), 3),
    ]
    if span is None:
        run_columns.insert(1, LiveColumn("headroom", _TIME_CELLS, lambda loop: _headroom(loop.view), 1))
        return run_columns
    title = _recent_title(span)
    return [
        LiveColumn("pace", _PACE_CELLS, _pace, 0, title),
        LiveColumn(
            "missed", _MISSED_CELLS, lambda loop: missed_text(loop.recent) if loop.recent else "", 0, title
        ),
        LiveColumn("headroom", _TIME_CELLS, lambda loop: _headroom(loop.recent_view), 1, title),
        LiveColumn("p50", _TIME_CELLS, lambda loop: _tick(loop, "p50_ns"), 3, title),
        LiveColumn("p99", _TIME_CELLS, lambda loop: _tick(loop, "p99_ns"), 1, title),
        *run_columns,
    ]


def gauge_columns(span: Span | None) -> list[LiveColumn[Watched[Gauge]]]:
    """Return the columns of the gauges."""
    columns: list[LiveColumn[Watched[Gauge]]] = [
        LiveColumn("last", _READING_CELLS, lambda gauge: formatting.reading(gauge.run.last), 0, ""),
        LiveColumn("min", _READING_CELLS, lambda gauge: formatting.reading(gauge.run.min), 2),
        LiveColumn("p50", _READING_CELLS, lambda gauge: _reading(gauge.run, "p50"), 3),
        LiveColumn("max", _READING_CELLS, lambda gauge: formatting.reading(gauge.run.max), 2),
        LiveColumn("readings", _COUNT_CELLS, lambda gauge: formatting.count(gauge.run.count), 4),
    ]
    if span is not None:
        title = _recent_title(span)
        columns[1:1] = [
            LiveColumn("p50", _READING_CELLS, lambda gauge: _reading(gauge.recent, "p50"), 1, title),
            LiveColumn("p99", _READING_CELLS, lambda gauge: _reading(gauge.recent, "p99"), 1, title),
        ]
    return columns


def watched_loops(
    context: Context, recent: Context | None, previous: Sequence[str] = ()
) -> Sequence[WatchedLoop]:
    """Return the loops in the order of all outputs: those that miss ticks first.

    Args:
        context: the whole run.
        recent: the last seconds; None if unknown.
        previous: the paths in their previous order, which similar loops keep.
    """
    loop_paths, profile = [loop.path for loop in context.all_loops], context.profile
    rank = {path: i for i, path in enumerate(dict.fromkeys([*previous, *loop_paths]))}
    failing = {view.path for view in context.loops if view.fails}
    return [
        WatchedLoop(
            profile.loops[path],
            recent.profile.loops.get(path) if recent else None,
            profile.root.at(path),
            context.view_of(path),
            recent.view_of(path) if recent else None,
        )
        for path in sorted(loop_paths, key=lambda path: (path not in failing, rank[path]))
    ]


def watched_gauges(profile: Profile, span: Span | None) -> Sequence[Watched[Gauge]]:
    """Return the gauges by name: the program's before the machine's, because not all may fit."""
    recent = {} if span is None else span.profile.gauges
    names = sorted(profile.gauges, key=lambda name: (is_machine_gauge(name), name))
    return [Watched(profile.gauges[name], recent.get(name)) for name in names]


def _fraction(amount: int, base: int) -> float | None:
    # Each reading calibrates the clock again, after which times may be a few nanoseconds shorter.
    return max(0, amount) / base if base > 0 else None


def _rate(row: LiveRow, length_ns: int) -> str:
    return formatting.rate((row.recent or NOTHING).count, length_ns, "") if row.is_section else ""


def _worker_share(row: LiveRow, worker: Worker, span: Span | None) -> str:
    if not row.is_section:
        return ""
    node, base_ns = (row.node, row.total_ns) if span is None else (row.recent or NOTHING, span.length_ns)
    time_ns = worker.total_ns(node)
    return formatting.share(_fraction(time_ns, base_ns)) if time_ns else ""


def _share(row: LiveRow) -> float | None:
    return _fraction(row.total_ns, row.base_ns)


def _recent_share(row: LiveRow) -> float | None:
    return _fraction(row.recent_ns, row.recent_base_ns)


def _recent_time(statistic: str) -> Callable[[LiveRow], str]:
    return lambda row: _time(row, (row.recent or NOTHING).stats, statistic)


def _run_time(statistic: str) -> Callable[[LiveRow], str]:
    return lambda row: _time(row, row.node.steady if row.node.steady.count else row.node.stats, statistic)


def _time(row: LiveRow, stats: Stats, statistic: str) -> str:
    return formatting.time(getattr(stats, statistic)) if row.is_section and stats.count else ""


def _calls(row: LiveRow) -> str:
    return formatting.count(row.node.count) if row.is_section else ""


def _pace(loop: WatchedLoop) -> str:
    """Return the pace of the last seconds: None if the loop does not run, 0 if its tick takes longer."""
    if loop.recent is None or not loop.recent.ticks:
        return formatting.hertz(0) if loop.node.open is not None else formatting.ABSENT
    return currency.pace(loop.recent_view, loop.view) if loop.recent_view else ""


def _headroom(view: LoopView | None) -> str:
    headroom_ns = currency.headroom_ns(view) if view else None
    return "" if headroom_ns is None else formatting.time(headroom_ns)


def _tick(loop: WatchedLoop, name: str) -> str:
    stats = Stats() if loop.recent is None else loop.recent.stats
    return formatting.time(getattr(stats, name))


def _reading(gauge: Gauge | None, name: str) -> str:
    return formatting.ABSENT if gauge is None else formatting.reading(quantile(name)(gauge))


FUNCTIONS_TITLE = f"functions {MARK}"
_FUNCTION_SHARE_CELLS = 9
_LINE_CELLS = 24


def watched_functions(profile: Profile, span: Span | None) -> list[Watched[SampledRow]]:
    """Return the functions that took the run's self time, those of the last seconds first."""
    recent = {(row.function, row.file): row for row in _rows(span.profile)} if span else {}
    functions = [Watched(row, recent.get((row.function, row.file))) for row in _rows(profile)]
    return sorted(functions, key=lambda row: (-(row.recent.share if row.recent else 0.0), -row.run.share))


def _rows(profile: Profile) -> Sequence[SampledRow]:
    time = sampled_times(profile).get(paths.ROOT)
    return time.rows() if time else ()


def function_columns(span: Span | None) -> list[LiveColumn[Watched[SampledRow]]]:
    """Return the columns: their shares, and their hottest lines."""
    cells = _FUNCTION_SHARE_CELLS
    columns: list[LiveColumn[Watched[SampledRow]]] = [
        LiveColumn("", BAR_CELLS, lambda row: bar((row.recent or row.run).share), 3, "", is_bar=True),
        LiveColumn("share", cells, lambda row: _share_of(row.run), 1),
        LiveColumn("line", _LINE_CELLS, _hottest_line, 2, ""),
    ]
    if span is not None:
        columns.insert(
            1, LiveColumn("share", cells, lambda row: _share_of(row.recent), 0, _recent_title(span))
        )
    return columns


def _share_of(row: SampledRow | None) -> str:
    return formatting.share(row.share if row else None)


def _hottest_line(watched: Watched[SampledRow]) -> str:
    row = watched.recent or watched.run
    return cut(line_title(row.file, row.lines[0].line), _LINE_CELLS)
