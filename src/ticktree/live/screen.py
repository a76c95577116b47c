"""The screen: a watched run as lines of text, as many as the terminal has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from rich.cells import cell_len
from rich.text import Text

from ticktree.analysis.context import Context
from ticktree.live import columns
from ticktree.live.difference import Span
from ticktree.live.rows import LiveRow, row_index, rows_of, siblings_of
from ticktree.live.source import LiveReading
from ticktree.live.view import KEYS, LiveView
from ticktree.outputs.terminal import wrap
from ticktree.outputs.view.headline import fact, losses
from ticktree.outputs.view.sampled import function_title
from ticktree.outputs.view.tree import TONES
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.grid import GAP, SEPARATOR, STYLES, cut
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Profile
from ticktree.profile import path as paths
from ticktree.profile.machine import is_empty
from ticktree.profile.short_names import ShortNames


@dataclass(frozen=True, slots=True)
class ScreenState:
    """Everything that the screen shows.

    Attributes:
        reading: the last reading with a profile; None before the first.
        span: the last seconds; None if unknown.
        latest: the last reading, with or without a profile; None before the first.
        every_ns: interval between readings.
        slowed_ns: longer interval that is used because reading takes long; 0 if it does not.
        reason: why nothing was recorded; "" if something was, or if unknown.
        context: of the last reading; None before the first.
        recent: context of the last seconds; None if unknown.
    """

    reading: LiveReading | None = None
    span: Span | None = None
    latest: LiveReading | None = None
    every_ns: int = columns.NS_PER_SECOND
    slowed_ns: int = 0
    reason: str = ""
    context: Context | None = None
    recent: Context | None = None


def header(state: ScreenState, view: LiveView, width: int, row_name: str = "") -> Iterator[Text]:
    """Yield the run and its state, and on further lines how it is watched, and errors."""
    state_text = _state(state.latest)
    room = max(0, width - cell_len(state_text.plain) - len(GAP))
    name = visible(state.latest.name) if state.latest else "ticktree"
    title = Text(cut(name, room), "bold")
    profile = state.reading.profile if state.reading else None
    command = fact(profile, "command") if profile else ""
    if command and cell_len(name) + 12 < room:
        title.append(GAP + cut(command, room - cell_len(name) - len(GAP)), "dim")
    title.truncate(room, pad=True)
    yield Text.assemble(title, GAP, state_text) if room else state_text
    line = Text.assemble(*_pieces(state, view))
    if row_name:
        line.append(SEPARATOR, "dim").append(row_name)
    line.truncate(width, overflow="ellipsis")
    yield line
    if state.latest and state.latest.trouble:
        yield Text(cut(visible(state.latest.trouble), width), "red")
    lost = losses(profile) if profile else []
    if lost:
        yield Text(cut(", ".join(lost), width), "yellow")


def _state(reading: LiveReading | None) -> Text:
    if reading is None:
        return Text("reading", "dim")
    if reading.state == "running":
        age = "" if reading.running_ns is None else f" for {formatting.time(reading.running_ns)}"
        return Text(f"running{age}", "green")
    if reading.state == "lost":
        return Text("cannot be read", "bold red")
    if reading.state == "saved":
        return Text("saved profile", "bold")
    ending = formatting.ending(reading.exit_status)
    text = "run ended" if reading.state == "ended" else "finished run"
    return Text(f"{text}, {ending}" if ending else text, "bold" if not reading.exit_status else "bold red")


def _pieces(state: ScreenState, view: LiveView) -> Iterator[tuple[str, str]]:
    """Yield how the run is watched, as pieces with their styles."""
    if view.is_paused:
        yield "paused", "bold yellow"
    elif state.latest is None or not state.latest.is_last:
        if state.slowed_ns:
            took = formatting.time(state.latest.took_ns if state.latest else 0)
            yield f"every {formatting.time(state.slowed_ns)}, because reading takes {took}", "yellow"
        else:
            yield f"every {formatting.time(state.every_ns)}", "dim"
    else:
        yield "no further changes", "dim"
    yield f"{SEPARATOR}sorted by {view.order}", "dim"
    if view.filter and not view.is_typing:
        yield f"{SEPARATOR}only names with ", "dim"
        yield visible(view.filter), "bold"


def empty_page(state: ScreenState, width: int) -> Iterator[Text]:
    """Yield why there is no tree."""
    yield Text()
    if state.latest is None:
        return
    if state.reading is None:
        text = "It could not be read yet."
    elif state.latest.state == "running":
        text = "Nothing recorded yet: no section was entered."
    else:
        text = f"Nothing was recorded: {visible(state.reason)}." if state.reason else "Nothing was recorded."
    yield from wrap(text.split(" "), " ", width, hang="")


def _help_page(width: int) -> Iterator[Text]:
    yield Text()
    for key in KEYS:
        line = Text.assemble((f"{key.symbol:>8}", "bold"), f"   {key.help}")
        line.truncate(width, overflow="ellipsis")
        yield line


def footer(view: LiveView, width: int, watching: bool = True) -> Text:
    """Return the last line: the keys, or the letters that are being typed."""
    if view.is_typing:
        line = Text.assemble(("/", "bold"), visible(view.filter), ("▏", "bold"))
        line.append("  Enter keeps it, Esc shows all", "dim")
    else:
        line = Text()
        for key in KEYS:
            if key.label and (key.action != "pause" or watching):
                label = "resume" if key.action == "pause" and view.is_paused else key.label
                line.append(f"{key.symbol} ", "bold").append(f"{label}  ", "dim")
    line.rstrip()
    line.truncate(width, overflow="ellipsis")
    return line


def fit_lines(lines: Sequence[Text], last: Text, height: int) -> list[Text]:
    """Return exactly as many lines as the terminal has, with the last line at the bottom."""
    visible_lines = list(lines[: max(0, height - 1)])
    return [*visible_lines, *[Text()] * (height - 1 - len(visible_lines)), last][-height:]


NAME_CELLS = 24  # columns are dropped before names have less room than this
MIN_ROWS = 4  # of the tree, before loops and gauges get any
# The rank of a process's column: dropped after those of the whole run, or before any other.
UNITS_FIRST, UNITS_LAST = 3, 7
ROOMY_LINES = 20  # a terminal with fewer lines has no empty ones

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class LivePicture:
    """The content of the screen."""

    lines: Sequence[Text]
    rows: Sequence[LiveRow]
    first_line: int
    visible_rows: int
    view: LiveView


def draw_screen(state: ScreenState, view: LiveView, width: int, height: int) -> LivePicture:
    """Return the screen for a terminal of that size."""
    profile = None if state.reading is None else state.reading.profile
    if profile is not None and not is_empty(profile) and not view.shows_help:
        return _Screen(state, profile, view, width, height).picture()
    page = _help_page(width) if view.shows_help else empty_page(state, width)
    lines = [*header(state, view, width), *page]
    return LivePicture(fit_lines(lines, footer(view, width), height), (), 0, 0, view)


class _Screen:
    def __init__(self, state: ScreenState, profile: Profile, view: LiveView, width: int, height: int) -> None:
        self._profile, self._span = profile, state.span
        # In the report's order once the run has ended; until then in their previous order.
        order = () if state.latest is None or state.latest.is_last else view.loops
        self._loops = columns.watched_loops(state.context or Context(profile), state.recent, order)
        view = replace(view, loops=tuple(loop.run.path for loop in self._loops))
        self._width, self._height = width, height
        self._gap = [Text()] if height >= ROOMY_LINES else []
        self._rows = rows_of(profile, state.span, view)
        self._view = replace(view, siblings={**view.siblings, **siblings_of(self._rows)})
        has_cursor = self._view.cursor is not None and bool(self._rows)
        full_name = self._rows[row_index(self._rows, self._view.cursor)].full_name if has_cursor else ""
        self._header = list(header(state, view, width, full_name))
        # Of all rows, visible or not: columns must not move when the user scrolls.
        cells = (cell_len(row.guide + row.name + _mark(row)) for row in self._rows)
        self._name_width = max(cells, default=NAME_CELLS)

    def picture(self) -> LivePicture:
        # The header, the tree's two headings and the last line are always visible.
        spare = self._height - len(self._header) - 3 - MIN_ROWS - len(self._gap)
        failing = sum(_is_failing(loop) for loop in self._loops)
        # A loop that misses ticks is never hidden; a line has the number of hidden loops.
        min_lines = 2 + len(self._gap) + failing + (failing < len(self._loops)) if failing else 0
        loops = self._loop_panel(min(spare, max(min(spare // 2, 2 + self._height // 5), min_lines)))
        gauges = self._gauge_panel(min(spare - len(loops), 2 + self._height // 6))
        lines = [*self._header, *loops, *self._gap]
        first_line, room = len(lines) + 2, max(0, self._height - len(lines) - 3 - len(gauges))
        view = self._scroll(room)
        lines += self._tree(view, room)
        lines += [Text()] * (self._height - 1 - len(gauges) - len(lines)) if gauges else []
        lines += gauges
        lines = fit_lines(lines, footer(view, self._width, self._span is not None), self._height)
        return LivePicture(lines, self._rows, first_line, room, view)

    def _scroll(self, room: int) -> LiveView:
        """Return the view with its cursor on a row, scrolled so that the row is visible."""
        view = self._view
        index = row_index(self._rows, view.cursor)
        top = min(view.top, max(0, len(self._rows) - room))
        if view.cursor is None:
            return replace(view, top=max(0, top))
        if self._rows:
            view = replace(view, cursor=self._rows[index].key)
        top = min(top, index) if index < top + room else index - room + 1
        return replace(view, top=max(0, top))

    def _tree(self, view: LiveView, room: int) -> Iterator[Text]:
        if not self._profile.root.children and self._profile.samples is not None:
            yield from self._function_panel(room + 2)
            return
        table = self._table(view)
        rows = self._rows[view.top : view.top + room]
        position = f"rows {view.top + 1} to {view.top + len(rows)} of {formatting.count(len(self._rows))}"
        yield from table.headings(position if len(rows) < len(self._rows) else "", "dim")
        if not self._rows:
            yield Text(cut(f"No section's name holds {visible(view.filter)!r}.", self._width), "dim")
        for row in rows:
            line = table.line(row, _name(row, table.name_cells), quiet=not row.is_section or not row.is_match)
            if view.cursor == row.key:
                line.stylize("reverse")
            yield line

    def _table(self, view: LiveView) -> columns.LiveTable[LiveRow]:
        """Return the tree's columns, with as many processes as there is room for, and their number."""
        kind, workers = columns.workers_of(self._profile)
        first = min(view.first_process, max(0, len(workers) - 1))
        rank = UNITS_FIRST if view.processes_first else UNITS_LAST
        group = f"{len(workers)} {kind}"
        heads = columns.tree_columns(self._span, view.processes_first and bool(workers))
        name_cells = max(min(NAME_CELLS, self._width // 2), min(self._name_width, self._width // 4))
        for _ in range(2):  # a second time with the number of hidden workers
            worker_heads = columns.worker_columns(self._span, workers[first:], group, rank)
            table = columns.LiveTable([*heads, *worker_heads], self._width, name_cells, self._name_width)
            count = sum(column.group == group for column in table.columns)
            group = f"{count} of {len(workers)} {kind}" if count < len(workers) else group
        return table

    def _loop_panel(self, room: int) -> list[Text]:
        names = ShortNames(self._profile.root)

        def name_of(loop: columns.WatchedLoop) -> Text:
            name = visible(names.joined(paths.split(loop.run.path)))
            return Text(name, "red" if _is_failing(loop) else "")

        return self._panel("loops", columns.loop_columns(self._span), self._loops, room, name_of)

    def _function_panel(self, room: int) -> list[Text]:
        functions = columns.watched_functions(self._profile, self._span)
        heads, title = columns.function_columns(self._span), columns.FUNCTIONS_TITLE
        return self._panel(title, heads, functions, room, lambda row: Text(function_title(row.run.function)))

    def _gauge_panel(self, room: int) -> list[Text]:
        gauges, heads = columns.watched_gauges(self._profile, self._span), columns.gauge_columns(self._span)
        return self._panel("gauges", heads, gauges, room, lambda gauge: Text(visible(gauge.run.name)))

    def _panel(
        self,
        title: str,
        heads: Sequence[columns.LiveColumn[Item]],
        items: Sequence[Item],
        room: int,
        name_of: Callable[[Item], Text],
    ) -> list[Text]:
        """Return as many rows of a small table as there is room for."""
        max_rows = room - 2 - len(self._gap)
        if not items or max_rows < 1:
            return []
        hidden = 0 if len(items) <= max_rows else len(items) - max_rows + 1
        table = columns.LiveTable(heads, self._width, min(NAME_CELLS, self._width // 2), self._name_width)
        lines = [*self._gap, *table.headings(title)]
        for item in items[: len(items) - hidden]:
            name = name_of(item)
            lines.append(table.line(item, Text.assemble((cut(name.plain, table.name_cells), name.style))))
        if hidden:
            lines.append(Text(f"{formatting.count(hidden)} more", "dim"))
        return lines


def _name(row: LiveRow, cells: int) -> Text:
    style = "bold" if row.kind == "section" and not row.guide else STYLES[TONES[row.kind]]
    mark, guide = _mark(row), row.guide
    limit = cells // 2
    if len(guide) > limit:  # in a deep tree, only the end of its lines
        guide = "…" + guide[len(guide) - limit + 1 :] if limit else ""
    room = cells - cell_len(guide)
    if room - cell_len(mark) < min(8, cell_len(row.name)):
        mark = ""
    name = cut(row.name, room - cell_len(mark))
    return Text.assemble((guide, "dim"), (name, style if row.is_match else "dim"), (mark, "dim"))


def _mark(row: LiveRow) -> str:
    mark = f" ({row.mark})" if row.mark else ""
    return mark + (f" +{formatting.count(row.folded)}" if row.folded else "")


def _is_failing(loop: columns.WatchedLoop) -> bool:
    """Return whether a loop fails in the report's sense over the whole run, or missed a tick in the last seconds."""
    return bool(loop.recent and loop.recent.missed) or bool(loop.view and loop.view.fails)
