"""The history as a picture: the trends that say most, one below the other, for a slide or a chat."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from ticktree.analysis.history import History, Told, Trend
from ticktree.outputs.comparison.parts import signed
from ticktree.outputs.drawing.figures import GREY, INK, Format, drawn
from ticktree.outputs.history import wording
from ticktree.outputs.history.levels import scale_of
from ticktree.outputs.history.parts import shown_trends
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.grid import cut
from ticktree.outputs.writing.visible import visible

# As many as a page holds.
PANELS = 6
_WIDTH, _PANEL_HEIGHT, _MARGIN = 11.0, 2.1, 0.9
# Of a panel's width, what a commit and a shift take.
_LABEL = 0.15
_SLOWER, _FASTER = "#b5480f", "#1558a6"


def chart(history: History, options: ViewOptions, form: Format) -> bytes:
    """Return the picture as a file of the format `form`.

    Raises:
        TicktreeError: matplotlib is not installed.
    """
    panels = list(_panels(history, options))
    shown = sorted(panels, key=lambda panel: not panel[1].turns)[:PANELS]
    height = _MARGIN + _PANEL_HEIGHT * max(1, len(shown))
    return drawn(form, (_WIDTH, height), lambda figure: _draw(figure, shown, len(panels) - len(shown)))


def _panels(history: History, options: ViewOptions) -> Iterator[tuple[Told, Trend]]:
    for told in history.told:
        if options.all or told.series.is_current:
            yield from ((told, trend) for trend in shown_trends(told, history, options.all))


def _draw(figure: Any, shown: Sequence[tuple[Told, Trend]], hidden: int) -> None:
    if not shown:
        figure.text(0.5, 0.5, "No run is remembered yet", ha="center")
        return
    figure.suptitle(cut(wording.title(shown[0][0]), 100), x=0.01, ha="left", fontsize=12, fontweight="bold")
    about = "   ".join(wording.headline(shown[0][0])) + (f"   {hidden} more not shown" if hidden else "")
    figure.supxlabel(cut(about, 160), x=0.01, ha="left", fontsize=7.5, color=INK)
    axes = figure.subplots(len(shown), 1, squeeze=False)[:, 0]
    for axis, (told, trend) in zip(axes, shown, strict=True):
        _panel(axis, trend, "" if told is shown[0][0] else wording.title(told))


def _panel(axis: Any, trend: Trend, of: str) -> None:
    scale = scale_of(trend)
    colors = [INK, *(_SLOWER if turn.change.is_slower else _FASTER for turn in trend.turns)]
    for (begin, end, middle), color in zip(trend.stretches, colors, strict=True):
        axis.hlines(middle, begin - 0.5, end - 0.5, color=color, linewidth=1.5, alpha=0.8)
        inside = [at for at in range(begin, end) if not scale.is_beyond(trend.values[at])]
        axis.scatter(inside, [trend.values[at] for at in inside], s=14, color=color, alpha=0.6, linewidth=0)
    beyond = [at for at, ns in enumerate(trend.values) if scale.is_beyond(ns)]
    edges = [scale.high if trend.values[at] > scale.high else scale.low for at in beyond]
    axis.scatter(beyond, edges, s=18, color=GREY, marker="d", clip_on=False)
    _changes(axis, trend, scale.high, colors[1:])
    axis.set_ylim(scale.low, scale.high)
    axis.set_xlim(-1, len(trend.values))
    axis.grid(axis="y")
    ticker = import_module("matplotlib.ticker")
    axis.yaxis.set_major_locator(ticker.MaxNLocator(4))
    axis.yaxis.set_major_formatter(ticker.FuncFormatter(lambda ns, _: formatting.time(ns)))
    first, last = wording.when(trend.runs[0]), wording.when(trend.runs[-1])
    axis.set_xticks([0, len(trend.values) - 1] if len(trend.values) > 1 else [0])
    axis.set_xticklabels([first, last] if len(trend.values) > 1 else [first])
    title = f"{cut(visible(trend.path), 60)}: {formatting.verdict(trend.verdict)}" + (
        f"   ({cut(of, 60)})" if of else ""
    )
    axis.set_title(title, pad=16 if trend.turns else None)  # above the commits


def _changes(axis: Any, trend: Trend, top: float, colors: Sequence[str]) -> None:
    """Draw a line for each change, and its commit over it where there is room."""
    count = len(trend.values)
    free = -math.inf
    for turn, color in zip(trend.turns, colors, strict=True):
        x = turn.change.at - 0.5
        axis.axvline(x, color=GREY, linestyle=":", linewidth=1)
        is_left = x > (1 - _LABEL) * count
        begin = x - _LABEL * count if is_left else x
        if begin >= free:
            words = f"{wording.commit(turn.run)}  {signed(turn.change.shift.estimate)}"
            axis.annotate(
                words,
                (x, top),
                (-3 if is_left else 3, 3),
                textcoords="offset points",
                ha="right" if is_left else "left",
                fontsize=7.5,
                color=color,
            )
            free = begin + _LABEL * count
