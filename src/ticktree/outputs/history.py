"""Views of a history: terminal, markdown, an HTML page without scripts, and pictures."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from html import escape
from importlib import import_module
from typing import Any

from ticktree.analysis.history.history import History, SeriesTrends, Trend
from ticktree.outputs import history_parts as parts
from ticktree.outputs import markdown, terminal
from ticktree.outputs.charts import GREY, INK, Format, draw_figure
from ticktree.outputs.comparison import signed
from ticktree.outputs.history_parts import commit, level_tones, scale_of, start_time
from ticktree.outputs.html.static import Plane, html_table, line, mark, open_scroll_box, static_page, text
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import VERDICT_TONES, Heading, Tone
from ticktree.outputs.writing.grid import cut
from ticktree.outputs.writing.visible import visible

_PLANE = Plane(height=220, left=72, right=12, top=22, bottom=28)
_SPARK_WIDTH, _SPARK_HEIGHT = 150, 26
# The approximate width of a commit's label. Labels that would overlap are left out; the table has all.
_LABEL_WIDTH = 74


def spark_svg(trend: Trend) -> str:
    """Return a sparkline of a trend as an SVG element."""
    scale = scale_of(trend)
    last = max(1, len(trend.values) - 1)
    points = " ".join(
        f"{2 + (_SPARK_WIDTH - 4) * i / last:.1f},{2 + (_SPARK_HEIGHT - 4) * (1 - scale.fraction(ns)):.1f}"
        for i, ns in enumerate(trend.values)
    )
    return (
        f'<svg class="spark" viewBox="0 0 {_SPARK_WIDTH} {_SPARK_HEIGHT}" aria-hidden="true">'
        f'<polyline points="{points}" fill="none" stroke="currentcolor" stroke-width="1.5"/></svg>'
    )


class _Figure:
    """The figure of a trend."""

    def __init__(self, trend: Trend) -> None:
        self.trend, self.scale = trend, scale_of(trend)
        self.step = _PLANE.x(1 / len(trend.values)) - _PLANE.left

    def svg(self) -> str:
        verdict = formatting.verdict(self.trend.verdict)
        label = f"{visible(self.trend.path)} over {len(self.trend.values)} runs: {verdict}"
        return _PLANE.svg(label, self._parts())

    def _parts(self) -> Iterator[str]:
        yield from _PLANE.grid(self.scale.low, self.scale.high)
        runs = self.trend.runs
        yield text(_PLANE.left, _PLANE.height - 8, start_time(runs[0]))
        yield text(_PLANE.x(1), _PLANE.height - 8, start_time(runs[-1]), "end")
        yield from self._changes()
        for tone, (begin, end, middle) in zip(level_tones(self.trend), self.trend.stretches, strict=True):
            yield f'<g class="{tone}">'
            yield line("level", self._x(begin), self._y(middle), self._x(end), self._y(middle))
            yield from (self._run(i) for i in range(begin, end))
            yield "</g>"

    def _changes(self) -> Iterator[str]:
        free_x = 0.0
        for tone, point in zip(level_tones(self.trend)[1:], self.trend.change_points, strict=True):
            x = self._x(point.change.at)
            yield line("change", x, _PLANE.top - 6, x, _PLANE.y(0))
            label = min(x, _PLANE.x(1) - _LABEL_WIDTH)
            if label >= free_x:
                yield f'<g class="{tone}">{text(label, 12, commit(point.run), name="at")}</g>'
                free_x = label + _LABEL_WIDTH

    def _run(self, i: int) -> str:
        run, ns = self.trend.runs[i], self.trend.values[i]
        label = f"{formatting.time(round(ns))}, {start_time(run)}, {commit(run)}, {visible(run.folder)}"
        x, y = self._x(i) + self.step / 2, self._y(ns)
        if self.scale.is_outside(ns):  # a triangle at the edge that points outwards
            tip = -5 if ns > self.scale.high else 5
            corners = f"M{x - 4:.1f} {y:.1f}h8l-4 {tip}z"
            return f'<path class="run" d="{corners}"><title>{escape(label)}</title></path>'
        return mark(x, y, max(1.5, min(4.0, self.step / 2)), label)

    def _x(self, i: int) -> float:
        return _PLANE.left + i * self.step

    def _y(self, ns: float) -> float:
        return _PLANE.y(self.scale.fraction(ns))


def _html(history: History, options: ViewOptions) -> bytes:
    series = parts.shown_series(history, options)
    title = ", ".join(dict.fromkeys(parts.series_title(entry) for entry in series)) or "ticktree"
    download = ("history.json", json.dumps(history.to_dict()).encode())
    return static_page(f"{title}: history", "ticktree history", download, _page(series, history, options))


def _page(series: Sequence[SeriesTrends], history: History, options: ViewOptions) -> Iterator[str]:
    for entry in series:
        yield from _series(entry, history, options)
    if not series:
        yield "<p>No run in the history yet.</p>"
    elif len(series) < len(history.series):
        yield f"<p>{escape(parts.hidden_series(len(history.series) - len(series)))}</p>"


def _series(entry: SeriesTrends, history: History, options: ViewOptions) -> Iterator[str]:
    trends = parts.shown_trends(entry, history, options.all)
    machine, *more = map(escape, parts.series_headline(entry))
    yield f"<section><h2>{escape(parts.series_title(entry))} <small>{machine}</small></h2>"
    yield f"<p>{' · '.join(f'<span>{piece}</span>' for piece in more)}</p>"
    trend_table, *change_tables = parts.trend_tables(trends, history, "")
    yield from html_table(trend_table, [spark_svg(trend) for trend in trends])
    for table in change_tables:
        yield "<h3>Changes</h3>"
        yield from html_table(table)
    for trend in trends:
        verdict = f'<small class="{VERDICT_TONES[trend.verdict]}">{formatting.verdict(trend.verdict)}</small>'
        path = visible(trend.path)
        box = open_scroll_box(f"Chart: {path}", "latest")
        yield f"<h3>{escape(path)}{verdict}</h3>{box}{_Figure(trend).svg()}</div>"
    yield f"<p>{escape(' '.join(parts.history_remarks(history)))}</p></section>"


# As many panels as fit on a page.
MAX_PANELS = 6
_WIDTH, _PANEL_HEIGHT, _INCHES_AROUND = 11.0, 2.1, 0.9
# The share of a panel's width that the label of a commit and its shift takes.
_LABEL = 0.15
_COLORS: dict[Tone, str] = {"plain": INK, "alarm": "#b5480f", "good": "#1558a6"}


def chart(history: History, options: ViewOptions, form: Format) -> bytes:
    """Return the picture in the format `form`."""
    entries = parts.shown_series(history, options)
    all_panels = [
        (entry, trend) for entry in entries for trend in parts.shown_trends(entry, history, options.all)
    ]
    panels = sorted(all_panels, key=lambda panel: not panel[1].change_points)[:MAX_PANELS]
    height = _INCHES_AROUND + _PANEL_HEIGHT * max(1, len(panels))
    hidden = len(all_panels) - len(panels)
    return draw_figure(form, (_WIDTH, height), lambda figure: _draw(figure, panels, hidden))


def _draw(figure: Any, panels: Sequence[tuple[SeriesTrends, Trend]], hidden: int) -> None:
    if not panels:
        figure.text(0.5, 0.5, "No run in the history yet", ha="center")
        return
    figure.suptitle(
        cut(parts.series_title(panels[0][0]), 100), x=0.01, ha="left", fontsize=12, fontweight="bold"
    )
    caption = "   ".join(parts.series_headline(panels[0][0])) + (
        f"   {hidden} more not shown" if hidden else ""
    )
    figure.supxlabel(cut(caption, 160), x=0.01, ha="left", fontsize=7.5, color=INK)
    axes = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
    for axis, (entry, trend) in zip(axes, panels, strict=True):
        _panel(axis, trend, "" if entry is panels[0][0] else parts.series_title(entry))


def _panel(axis: Any, trend: Trend, series: str) -> None:
    scale = scale_of(trend)
    colors = [_COLORS[tone] for tone in level_tones(trend)]
    for (begin, end, middle), color in zip(trend.stretches, colors, strict=True):
        axis.hlines(middle, begin - 0.5, end - 0.5, color=color, linewidth=1.5, alpha=0.8)
        inliers = [i for i in range(begin, end) if not scale.is_outside(trend.values[i])]
        axis.scatter(inliers, [trend.values[i] for i in inliers], s=14, color=color, alpha=0.6, linewidth=0)
    outliers = [i for i, ns in enumerate(trend.values) if scale.is_outside(ns)]
    edges = [scale.high if trend.values[i] > scale.high else scale.low for i in outliers]
    axis.scatter(outliers, edges, s=18, color=GREY, marker="d", clip_on=False)
    _changes(axis, trend, scale.high, colors[1:])
    axis.set_ylim(scale.low, scale.high)
    axis.set_xlim(-1, len(trend.values))
    axis.grid(axis="y")
    ticker = import_module("matplotlib.ticker")
    axis.yaxis.set_major_locator(ticker.MaxNLocator(4))
    axis.yaxis.set_major_formatter(ticker.FuncFormatter(lambda ns, _: formatting.time(ns)))
    first, last = start_time(trend.runs[0]), start_time(trend.runs[-1])
    axis.set_xticks([0, len(trend.values) - 1] if len(trend.values) > 1 else [0])
    axis.set_xticklabels([first, last] if len(trend.values) > 1 else [first])
    title = f"{cut(visible(trend.path), 60)}: {formatting.verdict(trend.verdict)}"
    title += f"   ({cut(series, 60)})" if series else ""
    axis.set_title(title, pad=16 if trend.change_points else None)  # leave room for the commits


def _changes(axis: Any, trend: Trend, top: float, colors: Sequence[str]) -> None:
    """Draw a line at each change, labelled with its commit if there is room."""
    count = len(trend.values)
    free_x = -math.inf
    for point, color in zip(trend.change_points, colors, strict=True):
        x = point.change.at - 0.5
        axis.axvline(x, color=GREY, linestyle=":", linewidth=1)
        is_left = x > (1 - _LABEL) * count
        begin = x - _LABEL * count if is_left else x
        if begin >= free_x:
            label = f"{commit(point.run)}  {signed(point.change.shift.estimate)}"
            side, offset = ("right", -3) if is_left else ("left", 3)
            style = {"textcoords": "offset points", "fontsize": 7.5, "color": color}
            axis.annotate(label, (x, top), (offset, 3), ha=side, **style)
            free_x = begin + _LABEL * count


HISTORIES: dict[str, Callable[[History, ViewOptions], bytes]] = {
    "terminal": lambda history, options: terminal.draw(parts.history_parts(history, options), options),
    # The heading identifies the comment among others on a pull request.
    "markdown": lambda history, options: markdown.draw(
        [Heading("ticktree history", ()), *parts.history_parts(history, options)]
    ),
    "json": lambda history, _: json.dumps(history.to_dict(), indent=1).encode() + b"\n",
    "html": _html,
    "png": lambda history, options: chart(history, options, "png"),
    "svg": lambda history, options: chart(history, options, "svg"),
}
# The formats that are not text.
BINARY_FORMATS = ("png",)
