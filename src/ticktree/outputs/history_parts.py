"""The parts of a history's views: the trends and changes of each series."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median, quantiles

from rich.cells import cell_len

from ticktree.analysis.history.changes import MAX_LEVEL_RUNS, MIN_LEVEL_RUNS, MIN_RUNS
from ticktree.analysis.history.history import ChangePoint, History, Series, SeriesTrends, Trend
from ticktree.outputs.comparison import interval, signed
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import (
    VERDICT_TONES,
    EmptyNotice,
    Entry,
    Head,
    Heading,
    Part,
    Picture,
    Table,
    Tone,
)
from ticktree.outputs.writing.grid import cut
from ticktree.outputs.writing.visible import visible
from ticktree.profile import path as paths
from ticktree.profile.run_summary import RunSummary

# A value further out than this many times the spread of the middle values is drawn at the edge: one run next to other
# work on the machine must not compress all others.
_OUTLIER_SPREADS = 3.0
_MARGIN = 0.06
# Among fewer values there are no outliers.
_MIN_VALUES = 8


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear axis."""

    low: float
    high: float

    def fraction(self, ns: float) -> float:
        """Return the height of a value on the axis, from 0 to 1, clipped to them."""
        return min(max((ns - self.low) / (self.high - self.low), 0.0), 1.0)

    def is_outside(self, ns: float) -> bool:
        """Return whether a value is outside the axis."""
        return not self.low <= ns <= self.high


def scale_of(trend: Trend) -> Scale:
    """Return an axis with room for all levels of a trend and for all its values except far outliers."""
    values = trend.values
    low, high = min(values), max(values)
    if len(values) >= _MIN_VALUES:
        eighths = quantiles(values, n=8, method="inclusive")
        levels = [middle for _, _, middle in trend.stretches]
        reach = _OUTLIER_SPREADS * (eighths[-1] - eighths[0])
        if reach > 0:
            low = max(low, min(eighths[0] - reach, *levels))
            high = min(high, max(eighths[-1] + reach, *levels))
    margin = _MARGIN * (high - low) or 0.1 * high or 1.0
    return Scale(max(0.0, low - margin), high + margin)


def level_tones(trend: Trend) -> list[Tone]:
    """Return the tone of each stretch of one level."""
    return ["plain", *("alarm" if point.change.is_slower else "good" for point in trend.change_points)]


def downsample(values: Sequence[float], limit: int) -> list[float]:
    """Return at most `most` values, by replacing neighbours with their median."""
    if len(values) <= limit:
        return list(values)
    ends = [math.floor(len(values) * i / limit) for i in range(limit + 1)]
    return [median(values[begin:end]) for begin, end in pairwise(ends)]


_COMMIT_CELLS = 9
_STATISTICS = {
    "mean": "mean call",
    "p50": "median call",
    "p90": "90th percentile of calls",
    "p99": "99th percentile of calls",
    "max": "longest call",
}


def start_time(run: RunSummary) -> str:
    """Return when a run began, in the reader's time zone."""
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(run.started_ns / 1e9))
    except (OverflowError, ValueError, OSError):  # a file may contain a time that no clock has
        return formatting.ABSENT


def commit(run: RunSummary) -> str:
    """Return the abbreviated commit of a run, with a + if the program had uncommitted changes."""
    return _short_commit(run.commit) + ("+" if run.is_dirty else "") if run.commit else "no commit"


def _short_commit(name: str) -> str:
    return visible(name[:_COMMIT_CELLS])


def _machine(series: Series) -> str:
    facts = series.machine
    if not facts:
        return "unknown machine"
    cores, usable = facts.get("cores"), facts.get("cores_usable")
    pieces = [visible(str(facts.get("cpu", "")))]
    if cores is not None:
        pieces.append(f"{cores} cores" if usable in (None, cores) else f"{usable} of {cores} cores")
    if "gpus" in facts:
        pieces.append(formatting.gpu_names(*(visible(str(facts.get(key, ""))) for key in ("gpus", "gpu"))))
    return ", ".join(filter(None, pieces))


def series_headline(entry: SeriesTrends) -> Iterator[str]:
    """Yield the machine, the number of runs and the dates of a series."""
    series = entry.series
    yield _machine(series)
    yield formatting.counted(len(series.runs), "run")
    first, last = start_time(series.runs[0]), start_time(series.runs[-1])
    yield first if first == last else f"{first} to {last}"
    if not series.is_current:
        yield "past: the program has run on another machine since"


def hidden_series(count: int) -> str:
    """Return the remark that `count` series are not shown."""
    return f"{formatting.count(count)} series of machines that were replaced not shown (--all)."


def series_title(entry: SeriesTrends) -> str:
    """Return the program of a series."""
    return visible(entry.series.program) or "unknown program"


def _notes_on(point: ChangePoint, history: History) -> Iterator[str]:
    """Yield the possible causes of a change, and whether it was accepted or undone."""
    name, previous = point.run.commit, point.last.commit
    details = history.commits.get(name)
    if details is not None and name != previous:
        yield visible(details.subject)
        if details.after is not None and details.after > 1:
            yield f"one of {details.after} commits since {_short_commit(previous)}"
    if name and name == previous:
        yield (
            "uncommitted changes: the previous run was of the same commit"
            if point.run.is_dirty
            else "no commit lies between: look at what else was different"
        )
    suspects = [_short_commit(suspect) for suspect in point.suspects if suspect != name]
    if suspects:
        yield f"or at {', '.join(suspects[:3])}{' ...' if len(suspects) > 3 else ''}"
    for fact in point.differences:
        old, new = (visible(value) or formatting.ABSENT for value in (fact.base, fact.new))
        yield f"{visible(fact.key)} {old} → {new}"
    if point.is_accepted:
        yield "accepted"
    elif not point.stands:
        yield "undone since" if point.change.is_slower else "not the last"


def history_remarks(history: History) -> Iterator[str]:
    """Yield sentences on how to read the verdicts."""
    yield f"A run's value is its {_STATISTICS[history.statistic]}."
    yield f"A shift of less than {formatting.share(history.threshold)} is no change."
    yield (
        f"A change shows after {MIN_LEVEL_RUNS} runs, or after up to {MAX_LEVEL_RUNS} in a series with bursts of slow "
        "runs."
    )
    yield f"There is no verdict before {MIN_RUNS} runs."


def regression(series: Series, trend: Trend, point: ChangePoint) -> str:
    """Return a regression in one line."""
    change = point.change
    old, new = (formatting.time(round(ns)) for ns in (change.before, change.after))
    location = f"at {commit(point.run)}" if point.run.commit else f"on {start_time(point.run)}"
    shift = f"{signed(change.shift.estimate)} ({interval(change.shift)})"
    return f"{visible(trend.path)} {shift} {location}: {old} → {new}, {visible(series.program)}"


ROWS = 10
SPARK_CELLS = 18
_EIGHTHS = "▁▂▃▄▅▆▇█"
_MIN_WIDTH = 20
_MAX_COLUMNS_PER_RUN = 3

Cell = tuple[str, Tone]


def spark(trend: Trend) -> str:
    """Return a trend as a sparkline of text."""
    scale = scale_of(trend)
    values = downsample(trend.values, SPARK_CELLS)
    return "".join(_EIGHTHS[min(7, math.floor(8 * scale.fraction(value)))] for value in values)


def _plot(trend: Trend, width: int) -> Iterator[Sequence[Cell]]:
    """Yield the lines of the plot of a trend, at most `width` cells wide."""
    scale = scale_of(trend)
    span, labeled_rows = scale.high - scale.low, (0, ROWS // 2, ROWS - 1)
    labels = {row: formatting.time(scale.high - row * span / (ROWS - 1)) for row in labeled_rows}
    margin = max(map(len, labels.values()))
    plot_width = max(_MIN_WIDTH, width - margin - 2)
    canvas = _Canvas(trend, scale, plot_width)
    yield [(cut(f"{visible(trend.path)}, {formatting.verdict(trend.verdict)}", width), "strong")]
    for row, cells in enumerate(canvas.cells):
        edge = "┤" if row in labels else "│"
        yield [(f"{labels.get(row, ''):>{margin}} ", "faint"), (edge, "faint"), *cells]
    yield [(" " * (margin + 1) + "└" + "─" * canvas.width, "faint")]
    for line in canvas.footer():
        yield [(" " * (margin + 2) + line, "faint")]


class _Canvas:
    """The cells of a plot: one or more columns per run, or several runs per column if columns are scarce."""

    def __init__(self, trend: Trend, scale: Scale, max_width: int) -> None:
        self.trend, self.scale = trend, scale
        count = len(trend.values)
        self.width = min(max_width, _MAX_COLUMNS_PER_RUN * count)
        self.columns = [math.floor((i + 0.5) * self.width / count) for i in range(count)]
        self.cells: list[list[Cell]] = [[(" ", "plain")] * self.width for _ in range(ROWS)]
        self._draw()

    def footer(self) -> Iterator[str]:
        """Yield the lines below the plot: the commits of the changes, and the first and last day."""
        points = self.trend.change_points
        labels = [(self.columns[point.change.at], f"^ {commit(point.run)}") for point in points]
        while labels:
            line, remaining = "", []
            for column, label in labels:
                column = min(column, max(0, self.width - cell_len(label)))
                if line and column <= len(line):
                    remaining.append((column, label))
                else:
                    line = line.ljust(column) + label
            yield line
            labels = remaining
        first, last = start_time(self.trend.runs[0])[:10], start_time(self.trend.runs[-1])[:10]
        yield first + last.rjust(self.width - len(first)) if self.width > len(first + last) else first

    def _draw(self) -> None:
        tones = level_tones(self.trend)
        for (begin, end, middle), tone in zip(self.trend.stretches, tones, strict=True):
            row = self._row(middle)
            for column in range(self.columns[begin], self.columns[end - 1] + 1):
                self.cells[row][column] = ("─", tone)
        for point in self.trend.change_points:
            for row in range(ROWS):
                self.cells[row][self.columns[point.change.at]] = ("┊", "faint")
        for (begin, end, _), tone in zip(self.trend.stretches, tones, strict=True):
            for i in range(begin, end):
                ns = self.trend.values[i]
                mark = "●" if not self.scale.is_outside(ns) else "▲" if ns > self.scale.high else "▼"
                self.cells[self._row(ns)][self.columns[i]] = (mark, tone)

    def _row(self, ns: float) -> int:
        return round((ROWS - 1) * (1 - self.scale.fraction(ns)))


_WORDS = ("trend", "verdict", "commit", "when")


def _heads(**ranks: int) -> list[Head]:
    return [Head(title, rank, words=title in _WORDS) for title, rank in ranks.items()]


_TRENDS = _heads(trend=1, verdict=0, shift=0, interval=2, now=0, runs=3)
_CHANGE_POINTS = _heads(commit=0, when=3, shift=0, interval=1, before=2, after=2)


def history_parts(history: History, options: ViewOptions) -> Iterator[Part]:
    """Yield the parts of the view, top to bottom."""
    series = shown_series(history, options)
    if not series:
        yield EmptyNotice("No run in the history yet; `ticktree run SCRIPT` adds one.")
        return
    for entry in series:
        yield Heading(series_title(entry), [*series_headline(entry)])
        yield from _series_parts(entry, history, options)
    hidden = len(history.series) - len(series)
    if hidden:
        yield EmptyNotice(hidden_series(hidden))


def shown_series(history: History, options: ViewOptions) -> list[SeriesTrends]:
    """Return the series to show: without `options.all`, those of machines that are still in use."""
    return [entry for entry in history.series if options.all or entry.series.is_current]


def shown_trends(entry: SeriesTrends, history: History, show_all: bool) -> list[Trend]:
    """Return the trends to show: the requested ones, or loops, the outermost sections and sections that changed."""
    if show_all or history.nodes:
        return list(entry.trends)
    return [
        trend
        for trend in entry.trends
        if trend.is_loop or trend.change_points or len(paths.split(trend.path)) == 1
    ]


def _last_change_point(trend: Trend) -> ChangePoint | None:
    """Return the change behind the verdict; None if the verdict is on no change."""
    if trend.verdict == "faster":
        return trend.change_points[-1]
    if trend.verdict == "slower":
        return [point for point in trend.change_points if point.change.is_slower and point.stands][-1]
    return None


def _series_parts(entry: SeriesTrends, history: History, options: ViewOptions) -> Iterator[Part]:
    trends = shown_trends(entry, history, options.all)
    if history.nodes:
        yield from (Picture([*_plot(trend, options.width)]) for trend in trends)
    hidden = len(entry.trends) - len(trends)
    hidden_remark = f"{formatting.counted(hidden, 'section')} without a change not shown (--all)."
    yield from trend_tables(
        trends, history, " ".join([*history_remarks(history), *([hidden_remark] if hidden else [])])
    )


def trend_tables(trends: Sequence[Trend], history: History, remark: str) -> Iterator[Table]:
    """Yield the table of the trends, and the table of their changes if there are any."""
    yield Table("sections", "section", _TRENDS, [_trend_row(trend) for trend in trends], remark=remark)
    change_points = [_change_row(trend, point, history) for trend in trends for point in trend.change_points]
    if change_points:
        yield Table("changes", "section", _CHANGE_POINTS, change_points)


def _trend_row(trend: Trend) -> Entry:
    point = _last_change_point(trend)
    shift = (formatting.ABSENT,) * 2
    if point is not None:
        shift = (signed(point.change.shift.estimate), interval(point.change.shift))
    level, runs = formatting.time(round(trend.stretches[-1][2])), formatting.count(len(trend.values))
    cells = (spark(trend), formatting.verdict(trend.verdict), *shift, level, runs)
    mark = "loop" if trend.is_loop else ""
    return Entry(visible(trend.path), cells, VERDICT_TONES[trend.verdict], mark)


def _change_row(trend: Trend, point: ChangePoint, history: History) -> Entry:
    change = point.change
    levels = (formatting.time(round(ns)) for ns in (change.before, change.after))
    shift = (signed(change.shift.estimate), interval(change.shift))
    is_gain = point.stands and not change.is_slower
    tone: Tone = "alarm" if point.is_regression else "good" if is_gain else "plain"
    cells = (commit(point.run), start_time(point.run), *shift, *levels)
    return Entry(visible(trend.path), cells, tone, notes=[*_notes_on(point, history)])
