"""The overview as a figure, drawn by matplotlib without its windows and without the user's settings.

So the same data give the same picture on every machine with the same release. `palette.json` has the colours of
categories, which are the same in every picture and in the HTML report. A search chose them: among given hues, the
shades that are furthest apart for readers with full colour vision and for those with each type of colour blindness
(`report-ui/tests/palette.test.ts` simulates these).
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module, resources
from io import BytesIO
from typing import Any, Literal, NamedTuple, TypeAlias

from ticktree.analysis.bottlenecks import OTHER, Bottleneck, category_shares
from ticktree.analysis.context import Context
from ticktree.analysis.loops import LoopView
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.registry import import_library
from ticktree.outputs.view import currency
from ticktree.outputs.view.headline import NOTHING, headline, losses, title
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.grid import cut
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Profile, Stats

# FNV-1a over UTF-16 code units, in which JavaScript counts a text: the front end has no other hash.
_HASH_START, _HASH_FACTOR = 2166136261, 16777619

Theme: TypeAlias = Literal["light", "dark"]


def color_of(category: str, theme: Theme = "light") -> str:
    """Return the colour of a category as #rrggbb; the colour of a project's own category is also fixed."""
    colors = _colors()
    named_colors = list(colors["named"].values())
    color = colors["quiet"].get(category) or colors["named"].get(category)
    return (color or named_colors[_hash(category) % len(named_colors)])[theme]


@cache
def _colors() -> dict[str, dict[str, dict[Theme, str]]]:
    text = resources.files("ticktree.outputs.html").joinpath("palette.json").read_text("utf-8")
    colors: dict[str, dict[str, dict[Theme, str]]] = json.loads(text)
    return colors


def _hash(text: str) -> int:
    units = text.encode("utf-16-le", "surrogatepass")
    value = _HASH_START
    for i in range(0, len(units), 2):
        value = (value ^ int.from_bytes(units[i : i + 2], "little")) * _HASH_FACTOR & 0xFFFFFFFF
    return value


Format = Literal["png", "svg"]

GREY = "#8a8f98"
INK = "#3b3f46"
_DOTS_PER_INCH = 150
_STYLE = {
    "font.family": ["DejaVu Sans"],
    "font.size": 8.5,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "x",
    "grid.color": "#e4e6ea",
    "ytick.left": False,
    "text.parse_math": False,  # a name with two dollar signs is not a formula
    "svg.fonttype": "none",  # text, which can be searched and read aloud
    "svg.hashsalt": "ticktree",
}


def draw_figure(form: Format, inches: tuple[float, float], draw: Callable[[Any], None]) -> bytes:
    """Return the figure that `draw` draws, as a file of the format `form`.

    Raises:
        TicktreeError: matplotlib is not installed.
    """
    matplotlib = import_library("matplotlib", by=form, extra="charts")
    with warnings.catch_warnings(), matplotlib.rc_context():
        # A letter that the font lacks is drawn as a box: the user cannot change that, and it is not a reason to fail.
        warnings.simplefilter("ignore")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        figure = import_library("matplotlib.figure", by=form, extra="charts").Figure(
            figsize=inches, dpi=_DOTS_PER_INCH, layout="constrained"
        )
        figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
        draw(figure)
        content = BytesIO()
        # Neither the date nor the release, which would make every file different.
        metadata = {"Date": None, "Creator": None} if form == "svg" else {"Software": None}
        figure.savefig(content, format=form, metadata=metadata)
    return content.getvalue()


# As many bars as a reader can distinguish at a column's width.
MAX_BARS = 12
_NAME_CELLS = 30
_PIECE_CELLS = 80
_LINE_CELLS = 160
_INCHES = (11.0, 7.5)

# A single bar must not be as high as its panel.
_MIN_ROWS = 6


def _render(form: Format, profile: Profile, options: ViewOptions) -> bytes:
    """Return the overview as a file of that format."""
    return draw_figure(form, _INCHES, lambda figure: _draw(figure, profile, options))


# PNG is for a slide or a chat; SVG for a paper, with its letters as letters.
render_png, render_svg = partial(_render, "png"), partial(_render, "svg")


def _draw(figure: Any, profile: Profile, options: ViewOptions) -> None:
    context = Context(profile, options.settings)
    view = next(iter(context.main_loops), None)
    figure.suptitle(cut(title(profile), 100), x=0.01, ha="left", fontsize=12, fontweight="bold")
    pieces = [*headline(context, options), *losses(profile)]
    figure.supxlabel(_paragraph(pieces), x=0.01, ha="left", fontsize=7.5, color=INK)
    if view is None:
        figure.text(0.5, 0.5, NOTHING, ha="center")
        return
    bottlenecks = [bottleneck for bottleneck in context.bottlenecks if bottleneck.view is view]
    on_path = [bottleneck for bottleneck in bottlenecks if not bottleneck.section.is_parallel]
    # Without memory measurements the categories get the room: an empty panel would look like no memory use.
    amounts = [(bottleneck.memory_bytes, bottleneck.device_memory_bytes) for bottleneck in bottlenecks]
    has_memory = any(pair != (None, None) for pair in amounts)
    last = "memory" if has_memory else "categories"
    axes = figure.subplot_mosaic([["time", "calls"], ["categories", last]], height_ratios=(3, 2))
    _time(axes["time"], view, on_path)
    _calls(axes["calls"], view, on_path)
    _categories(axes["categories"], view)
    if "memory" in axes:
        _memory(axes["memory"], view, bottlenecks)


def _paragraph(pieces: Sequence[str]) -> str:
    """Return pieces on as few lines as possible, none of them broken unless it is very long."""
    lines: list[str] = []
    for piece in (cut(piece, _PIECE_CELLS) for piece in pieces):
        if lines and len(lines[-1]) + len(piece) < _LINE_CELLS:
            lines[-1] += f" \N{MIDDLE DOT} {piece}"  # browsers show several spaces as one
        else:
            lines.append(piece)
    return "\n".join(lines)


def _time(axis: Any, view: LoopView, bottlenecks: Sequence[Bottleneck]) -> None:
    """Draw the self times of a tick's sections as shares of it, the most expensive first."""
    bars = [
        _Bar(
            name=_name(view, bottleneck, of_self=True),
            length=100 * bottleneck.share,
            color=color_of(bottleneck.section.category or OTHER),
            label=f"{formatting.share(bottleneck.share)}, {formatting.time(bottleneck.section.self_ns)}",
        )
        for bottleneck in bottlenecks[:MAX_BARS]
    ]
    _percents(axis, view, bars, 1.45)
    hidden = len(bottlenecks) - len(bars)
    axis.set_title("Time by operation" + (f" ({hidden} smaller ones not shown)" if hidden else ""))


def _calls(axis: Any, view: LoopView, bottlenecks: Sequence[Bottleneck]) -> None:
    """Draw how long calls of the same sections took: the middle 90%, the median, minimum and maximum."""
    largest = bottlenecks[:MAX_BARS]
    ends: list[int] = []
    for row, bottleneck in enumerate(largest):
        stats = view.stats_of(bottleneck.section.node)
        ends += _spread(axis, row, stats, color_of(bottleneck.section.category or OTHER))
    if ends:
        _log_axis(axis, min(ends), max(ends))
    else:
        axis.set_xticks([])
    axis.set_xlabel("a whole call: 5% to 95%, median, both ends")
    _names(axis, [_name(view, bottleneck) for bottleneck in largest])
    axis.set_title("Time per call")


def _spread(axis: Any, row: int, stats: Stats, color: str) -> list[int]:
    """Draw how long calls took, and return minimum and maximum; nothing if the times of single calls are unknown."""
    quantiles = [stats.quantile_ns(q) for q in (0, 0.05, 0.5, 0.95, 1)]
    # A logarithm has no 0: what is below the clock's resolution is drawn as 1 ns.
    durations = [max(1, ns) for ns in quantiles if ns is not None]
    if not durations:
        _write(axis, 0.02, row, "not known", xycoords=axis.get_yaxis_transform())
        return []
    min_ns, low_ns, median_ns, high_ns, max_ns = durations
    axis.plot([min_ns, max_ns], [row, row], color=GREY, linewidth=1, solid_capstyle="butt")
    axis.plot([low_ns, high_ns], [row, row], color=color, linewidth=6, solid_capstyle="butt")
    # A median can only be left out of a bar that is wide enough; else it is the bar.
    median_color = "white" if high_ns > 1.1 * low_ns else color
    axis.plot([median_ns], [row], color=median_color, marker="|", markersize=6, markeredgewidth=1.5)
    return [min_ns, max_ns]


def _log_axis(axis: Any, min_ns: int, max_ns: int) -> None:
    """Set a logarithmic axis of durations, with numbers even if it spans less than a power of ten."""
    ticker = import_module("matplotlib.ticker")
    is_short = max_ns < 100 * min_ns
    axis.set_xscale("log")
    axis.set_xlim(min_ns / 1.3, max_ns * 1.3)
    axis.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if is_short else (1,), numticks=8))
    axis.xaxis.set_major_formatter(ticker.FuncFormatter(lambda ns, _: _round(formatting.time(ns))))
    axis.xaxis.set_minor_formatter(ticker.NullFormatter())


def _percents(axis: Any, view: LoopView, bars: Sequence[_Bar], stretch: float) -> None:
    """Draw shares, with `room` for words, but without numbers above 100%."""
    _bars(axis, bars)
    limit = stretch * max((bar.length for bar in bars), default=1.0)
    axis.set_xlim(0, limit)
    axis.set_xticks([tick for tick in axis.get_xticks() if 0 <= tick <= min(limit, 100)])
    axis.set_xlabel(f"self time, % of {_period(view)}")


def _round(text: str) -> str:
    """Return a number with its unit, without trailing zeros."""
    number, _, unit = text.partition(" ")
    return f"{float(number):g} {unit}"


def _categories(axis: Any, view: LoopView) -> None:
    bars = [
        _Bar(
            cut(visible(category.name), _NAME_CELLS),
            100 * category.share,
            color_of(category.name),
            formatting.share(category.share),
        )
        for category in category_shares(view)[:MAX_BARS]
    ]
    _percents(axis, view, bars, 1.15)
    axis.set_title("Categories")


def _memory(axis: Any, view: LoopView, bottlenecks: Sequence[Bottleneck]) -> None:
    """Draw the most memory that calls needed, in the process and on a device."""
    ticker = import_module("matplotlib.ticker")
    bars = []
    for bottleneck in bottlenecks:
        name, host, device = _name(view, bottleneck), bottleneck.memory_bytes, bottleneck.device_memory_bytes
        if host is not None:
            bars.append(_Bar(name, host, color_of("data"), formatting.size(host)))
        if device is not None:
            bars.append(_Bar(f"{name} (device)", device, color_of("model"), formatting.size(device)))
    bars.sort(key=lambda bar: (-bar.length, bar.name))
    _bars(axis, bars[:MAX_BARS])
    axis.set_xlim(0, 1.25 * max(1, bars[0].length))
    axis.xaxis.set_major_locator(ticker.MaxNLocator(5))
    axis.xaxis.set_major_formatter(ticker.FuncFormatter(lambda size, _: _round(formatting.size(size))))
    axis.set_xlabel("the most that a call allocated")
    axis.set_title("Memory, where it was measured")


class _Bar(NamedTuple):
    name: str
    length: float
    color: str
    label: str  # at its end


def _bars(axis: Any, bars: Sequence[_Bar]) -> None:
    axis.barh(range(len(bars)), [bar.length for bar in bars], color=[bar.color for bar in bars], height=0.7)
    _names(axis, [bar.name for bar in bars])
    for row, bar in enumerate(bars):
        _write(axis, bar.length, row, bar.label)


def _names(axis: Any, names: Sequence[str]) -> None:
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(max(len(names), _MIN_ROWS) - 0.4, -0.6)  # the first on top


def _write(axis: Any, x: float, row: int, text: str, **options: Any) -> None:
    """Write words to the right of a point."""
    position = {"xytext": (3, 0), "textcoords": "offset points", "va": "center"}
    axis.annotate(text, (x, row), fontsize=7.5, color=INK, **position, **options)


def _name(view: LoopView, bottleneck: Bottleneck, *, of_self: bool = False) -> str:
    """Return the label of a bar; `of_self` marks the self time of a section with children."""
    if not bottleneck.section.path:
        return "outside all sections"
    mark = " [self]" if of_self and bottleneck.section.has_sections else ""
    return cut(visible(view.name_of(bottleneck.section)), _NAME_CELLS - len(mark)) + mark


def _period(view: LoopView) -> str:
    duration = formatting.time(round(view.tick_ns))
    period = f"a mean steady tick of {cut(currency.loop_title(view), 24)}" if view.loop else "the run"
    return f"{period}, {duration}"
