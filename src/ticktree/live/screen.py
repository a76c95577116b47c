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
from ticktree.live.rows import LiveRow, place_in, rows_of, siblings_of
from ticktree.live.source import LiveReading
from ticktree.live.view import KEYS, LiveView
from ticktree.outputs.terminal import wrapped
from ticktree.outputs.view.headline import fact, losses
from ticktree.outputs.view.sampled import called
from ticktree.outputs.view.tree import TONES
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.grid import GAP, SEPARATOR, STYLES, cut
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Profile
from ticktree.profile import path as paths
from ticktree.profile.machine import is_empty
from ticktree.profile.short_names import ShortNames


@dataclass(frozen=True, slots=True)
class Now:
    """Everything that the screen shows.

    Attributes:
        reading: the last reading with a profile; None before the first.
        span: the last seconds; None if unknown.
        state: the last reading, with or without a profile; None before the first.
        every_ns: interval between readings.
        slowed_ns: longer interval that is used because reading takes long; 0 if it does not.
        reason: why nothing was recorded; "" if something was, or if unknown.
        context: of the last reading; None before the first.
        recent: context of the last seconds; None if unknown.
    """

    reading: LiveReading | None = None
    span: Span | None = None
    state: LiveReading | None = None
    every_ns: int = columns.NS_PER_SECOND
    slowed_ns: int = 0
    reason: str = ""
    context: Context | None = None
    recent: Context | None = None


def header(now: Now, view: LiveView, width: int, chosen: str = "") -> Iterator[Text]:
    """Yield the run and its state, and on further lines how it is watched, and errors."""
    state = _state(now.state)
    room = max(0, width - cell_len(state.plain) - len(GAP))
    name = visible(now.state.name) if now.state else "ticktree"
    title = Text(cut(name, room), "bold")
    profile = now.reading.profile if now.reading else None
    command = fact(profile, "command") if profile else ""
    if command and cell_len(name) + 12 < room:
        title.append(GAP + cut(command, room - cell_len(name) - len(GAP)), "dim")
    title.truncate(room, pad=True)
    yield Text.assemble(title, GAP, state) if room else state
    how = Text.assemble(*_pieces(now, view))
    if chosen:
        how.append(SEPARATOR, "dim").append(chosen)
    how.truncate(width, overflow="ellipsis")
    yield how
    if now.state and now.state.trouble:
        yield Text(cut(visible(now.state.trouble), width), "red")
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
    how = formatting.ending(reading.exit_status)
    said = "run ended" if reading.state == "ended" else "finished run"
    return Text(f"{said}, {how}" if how else said, "bold" if not reading.exit_status else "bold red")


def _pieces(now: Now, view: LiveView) -> Iterator[tuple[str, str]]:
    """Yield how the run is watched, as pieces with their styles."""
    if view.paused:
        yield "paused", "bold yellow"
    elif now.state is None or not now.state.is_last:
        if now.slowed_ns:
            took = formatting.time(now.state.took_ns if now.state else 0)
            yield f"every {formatting.time(now.slowed_ns)}, because reading takes {took}", "yellow"
        else:
            yield f"every {formatting.time(now.every_ns)}", "dim"
    else:
        yield "no further changes", "dim"
    yield f"{SEPARATOR}sorted by {view.order}", "dim"
    if view.filter and not view.typing:
        yield f"{SEPARATOR}only names with ", "dim"
        yield visible(view.filter), "bold"


def waiting(now: Now, width: int) -> Iterator[Text]:
    """Yield why there is no tree."""
    yield Text()
    if now.state is None:
        return
    if now.reading is None:
        said = "It could not be read yet."
    elif now.state.state == "running":
        said = "Nothing recorded yet: no section was entered."
    else:
        said = f"Nothing was recorded: {visible(now.reason)}." if now.reason else "Nothing was recorded."
    yield from wrapped(said.split(" "), " ", width, hang="")


def _help_page(width: int) -> Iterator[Text]:
    yield Text()
    for key in KEYS:
        line = Text.assemble((f"{key.shown:>8}", "bold"), f"   {key.help}")
        line.truncate(width, overflow="ellipsis")
        yield line


def footer(view: LiveView, width: int, watching: bool = True) -> Text:
    """Return the last line: the keys, or the letters that are being typed."""
    if view.typing:
        line = Text.assemble(("/", "bold"), visible(view.filter), ("▏", "bold"))
        line.append("  Enter keeps it, Esc shows all", "dim")
    else:
        line = Text()
        for key in KEYS:
            if key.label and (key.action != "pause" or watching):
                label = "resume" if key.action == "pause" and view.paused else key.label
                line.append(f"{key.shown} ", "bold").append(f"{label}  ", "dim")
    line.rstrip()
    line.truncate(width, overflow="ellipsis")
    return line


def fitted(lines: Sequence[Text], last: Text, height: int) -> list[Text]:
    """Return exactly as many lines as the terminal has, with the last line at the bottom."""
    shown = list(lines[: max(0, height - 1)])
    return [*shown, *[Text()] * (height - 1 - len(shown)), last][-height:]


NAME_CELLS = 24  # columns are dropped before names have less room than this
LEAST_ROWS = 4  # of the tree, before loops and gauges get any
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
    rows_in_sight: int
    view: LiveView


def drawn(now: Now, view: LiveView, width: int, height: int) -> LivePicture:
    """Return the screen for a terminal of that size."""
    profile = None if now.reading is None else now.reading.profile
    if profile is not None and not is_empty(profile) and not view.helping:
        return _Board(now, profile, view, width, height).picture()
    lines = [*header(now, view, width), *(_help_page(width) if view.helping else waiting(now, width))]
    return LivePicture(fitted(lines, footer(view, width), height), (), 0, 0, view)


class _Board:
    def __init__(self, now: Now, profile: Profile, view: LiveView, width: int, height: int) -> None:
        self._profile, self._span = profile, now.span
        # In the report's order once the run has ended; until then in their previous order.
        kept = () if now.state is None or now.state.is_last else view.loops
        self._loops_now = columns.loops_of(now.context or Context(profile), now.recent, kept)
        view = replace(view, loops=tuple(loop.whole.path for loop in self._loops_now))
        self._width, self._height = width, height
        self._gap = [Text()] if height >= ROOMY_LINES else []
        self._rows = rows_of(profile, now.span, view)
        self._view = replace(view, siblings={**view.siblings, **siblings_of(self._rows)})
        self._header = list(header(now, view, width, self._whole_name()))
        # All of them, visible or not: columns must not move when the user scrolls.
        cells = (cell_len(row.guide + row.name + _mark(row)) for row in self._rows)
        self._needed = max(cells, default=NAME_CELLS)

    def picture(self) -> LivePicture:
        # The header, the tree's two headings and the last line are always there.
        spare = self._height - len(self._header) - 3 - LEAST_ROWS - len(self._gap)
        missing = sum(_is_failing(loop) for loop in self._loops_now)
        # A loop that misses ticks is never hidden; a line has the number of hidden loops.
        least = 2 + len(self._gap) + missing + (missing < len(self._loops_now)) if missing else 0
        loops = self._loops(min(spare, max(min(spare // 2, 2 + self._height // 5), least)))
        gauges = self._gauges(min(spare - len(loops), 2 + self._height // 6))
        above = [*self._header, *loops, *self._gap]
        room = max(0, self._height - len(above) - 3 - len(gauges))
        view = self._followed(room)
        lines = [*above, *self._tree(view, room)]
        lines += [Text()] * (self._height - 1 - len(gauges) - len(lines)) if gauges else []
        lines += gauges
        lines = fitted(lines, footer(view, self._width, self._span is not None), self._height)
        return LivePicture(lines, self._rows, len(above) + 2, room, view)

    def _whole_name(self) -> str:
        """Return the full name of the row under the cursor; "" if it is visible, or if there is no row."""
        if self._view.cursor is None or not self._rows:
            return ""
        return self._rows[place_in(self._rows, self._view.cursor)].whole

    def _followed(self, room: int) -> LiveView:
        """Return the view with its cursor on a row, scrolled so that the row is visible."""
        view = self._view
        at = place_in(self._rows, view.cursor)
        top = min(view.top, max(0, len(self._rows) - room))
        if view.cursor is None:
            return replace(view, top=max(0, top))
        if self._rows:
            view = replace(view, cursor=self._rows[at].place)
        top = min(top, at) if at < top + room else at - room + 1
        return replace(view, top=max(0, top))

    def _tree(self, view: LiveView, room: int) -> Iterator[Text]:
        if not self._profile.root.children and self._profile.samples is not None:
            yield from self._functions(room + 2)
            return
        table = self._table(view)
        shown = self._rows[view.top : view.top + room]
        where = f"rows {view.top + 1} to {view.top + len(shown)} of {formatting.count(len(self._rows))}"
        yield from table.headings(where if len(shown) < len(self._rows) else "", "dim")
        if not self._rows:
            yield Text(cut(f"No section's name holds {visible(view.filter)!r}.", self._width), "dim")
        for row in shown:
            line = table.line(row, _name(row, table.name_cells), quiet=not row.is_section or not row.matched)
            if view.cursor == row.place:
                line.stylize("reverse")
            yield line

    def _table(self, view: LiveView) -> columns.LiveTable[LiveRow]:
        """Return the tree's columns, with as many processes as there is room for, and their number."""
        kind, units = columns.units_of(self._profile)
        first = min(view.first_process, max(0, len(units) - 1))
        rank = UNITS_FIRST if view.by_process else UNITS_LAST
        group = f"{len(units)} {kind}"
        own = columns.of_tree(self._span, view.by_process and bool(units))
        name_cells = max(min(NAME_CELLS, self._width // 2), min(self._needed, self._width // 4))
        for _ in range(2):  # again when the number of hidden ones is known
            others = columns.of_units(self._span, units[first:], group, rank)
            table = columns.LiveTable([*own, *others], self._width, name_cells, self._needed)
            shown = sum(column.group == group for column in table.columns)
            group = f"{shown} of {len(units)} {kind}" if shown < len(units) else group
        return table

    def _loops(self, room: int) -> list[Text]:
        names = ShortNames(self._profile.root)

        def name_of(now: columns.LoopNow) -> Text:
            name = visible(names.joined(paths.split(now.whole.path)))
            return Text(name, "red" if _is_failing(now) else "")

        return self._panel("loops", columns.of_loops(self._span), self._loops_now, room, name_of)

    def _functions(self, room: int) -> list[Text]:
        found, shown = columns.functions_of(self._profile, self._span), columns.of_functions(self._span)
        return self._panel(columns.TITLE, shown, found, room, lambda now: Text(called(now.whole.function)))

    def _gauges(self, room: int) -> list[Text]:
        gauges, shown = columns.gauges_of(self._profile, self._span), columns.of_gauges(self._span)
        return self._panel("gauges", shown, gauges, room, lambda now: Text(visible(now.whole.name)))

    def _panel(
        self,
        title: str,
        shown: Sequence[columns.LiveColumn[Item]],
        items: Sequence[Item],
        room: int,
        name_of: Callable[[Item], Text],
    ) -> list[Text]:
        """Return as many rows of a small table as there is room for."""
        most = room - 2 - len(self._gap)
        if not items or most < 1:
            return []
        left_out = 0 if len(items) <= most else len(items) - most + 1
        table = columns.LiveTable(shown, self._width, min(NAME_CELLS, self._width // 2), self._needed)
        lines = [*self._gap, *table.headings(title)]
        for item in items[: len(items) - left_out]:
            name = name_of(item)
            lines.append(table.line(item, Text.assemble((cut(name.plain, table.name_cells), name.style))))
        if left_out:
            lines.append(Text(f"{formatting.count(left_out)} more", "dim"))
        return lines


def _name(row: LiveRow, cells: int) -> Text:
    style = "bold" if row.kind == "section" and not row.guide else STYLES[TONES[row.kind]]
    mark, guide = _mark(row), row.guide
    most = cells // 2
    if len(guide) > most:  # in a deep tree, only the end of its lines
        guide = "…" + guide[len(guide) - most + 1 :] if most else ""
    room = cells - cell_len(guide)
    if room - cell_len(mark) < min(8, cell_len(row.name)):
        mark = ""
    name = cut(row.name, room - cell_len(mark))
    return Text.assemble((guide, "dim"), (name, style if row.matched else "dim"), (mark, "dim"))


def _mark(row: LiveRow) -> str:
    mark = f" ({row.mark})" if row.mark else ""
    return mark + (f" +{formatting.count(row.folded)}" if row.folded else "")


def _is_failing(now: columns.LoopNow) -> bool:
    """Return whether a loop fails in the report's sense over the whole run, or missed a tick in the last seconds."""
    return bool(now.recent and now.recent.missed) or bool(now.view and now.view.fails)
