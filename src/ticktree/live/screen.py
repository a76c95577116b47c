"""The screen: a watched run as lines of text, as many as the terminal has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from rich.cells import cell_len
from rich.text import Text

from ticktree.analysis.survey import Survey
from ticktree.live import columns
from ticktree.live.frame import Now, fitted, footer, header, help_page, over, waiting
from ticktree.live.rows import Kind, Row, place_in, rows_of, siblings_of
from ticktree.live.table import Column, Table
from ticktree.live.view import View
from ticktree.live.writers import parties_of
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.grid import cut
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Profile
from ticktree.profile import path as paths
from ticktree.profile.machine import is_empty
from ticktree.profile.short_names import ShortNames

NAME_CELLS = 24  # columns are given up before names have less room than this
LEAST_ROWS = 4  # of the tree, before loops and gauges get any
# How soon a process's column is given up: after those of the whole run, or before any other.
PARTIES_FIRST, PARTIES_LAST = 3, 7
ROOMY_LINES = 20  # a terminal with fewer lines has no empty ones

_STYLES: dict[Kind, str] = {
    "section": "",
    "wait": "blue",
    "unaccounted": "dim italic",
    "folded": "dim",
    "itself": "dim italic",
}

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Picture:
    """What is on the screen.

    Attributes:
        lines: from the top, none wider than the terminal, and no more than it has.
        rows: of the tree, in sight or not.
        first_line: where the tree's rows begin.
        rows_in_sight: how many of them there is room for.
        view: with its cursor on a row that is there, and in sight.
    """

    lines: Sequence[Text]
    rows: Sequence[Row]
    first_line: int
    rows_in_sight: int
    view: View


def drawn(now: Now, view: View, width: int, height: int) -> Picture:
    """Return the screen for a terminal of that size."""
    if view.helping:
        lines = [*header(now, view, width), *help_page(width)]
        return Picture(fitted(lines, footer(view, width), height), (), 0, 0, view)
    profile = None if now.reading is None else now.reading.profile
    if profile is None or is_empty(profile):
        lines = [*header(now, view, width), *waiting(now, width)]
        return Picture(fitted(lines, footer(view, width), height), (), 0, 0, view)
    return _Board(now, profile, view, width, height).picture()


class _Board:
    """The screen of a run that has recorded something."""

    def __init__(self, now: Now, profile: Profile, view: View, width: int, height: int) -> None:
        self._profile, self._span = profile, now.span
        # As the report has them once nothing changes any more; until then as they stood before.
        kept = () if now.state is None or now.state.is_last else view.loops
        self._loops_now = columns.loops_of(now.seen or Survey(profile), now.recent, kept)
        view = replace(view, loops=tuple(loop.whole.path for loop in self._loops_now))
        self._width, self._height = width, height
        self._gap = [Text()] if height >= ROOMY_LINES else []
        self._rows = rows_of(profile, now.span, view)
        self._view = replace(view, siblings={**view.siblings, **siblings_of(self._rows)})
        self._header = list(header(now, view, width, self._whole_name()))
        # All of them, in sight or not: columns are to stay where they are when somebody scrolls.
        self._needed = max(
            (cell_len(row.guide + row.name + _mark(row)) for row in self._rows), default=NAME_CELLS
        )

    def picture(self) -> Picture:
        # The header, the tree's two headings and the last line are always there.
        spare = self._height - len(self._header) - 3 - LEAST_ROWS - len(self._gap)
        missing = sum(_is_missing(loop) for loop in self._loops_now)
        # A loop that misses is not hidden; a line says how many others are.
        least = 2 + len(self._gap) + missing + (missing < len(self._loops_now)) if missing else 0
        loops = self._loops(min(spare, max(min(spare // 2, 2 + self._height // 5), least)))
        gauges = self._gauges(min(spare - len(loops), 2 + self._height // 6))
        above = [*self._header, *loops, *self._gap]
        room = max(0, self._height - len(above) - 3 - len(gauges))
        view = self._followed(room)
        lines = [*above, *self._tree(view, room)]
        lines += [Text()] * (self._height - 1 - len(gauges) - len(lines)) if gauges else []
        lines += gauges
        first_line = len(above) + 2
        return Picture(
            fitted(lines, footer(view, self._width, self._span is not None), self._height),
            self._rows,
            first_line,
            room,
            view,
        )

    def _whole_name(self) -> str:
        """Return what the row that keys act on is called in full; "" where it is, or there is none."""
        if self._view.cursor is None or not self._rows:
            return ""
        return self._rows[place_in(self._rows, self._view.cursor)].whole

    def _followed(self, room: int) -> View:
        """Return the view with its cursor on a row, and scrolled so that it is in sight."""
        view = self._view
        at = place_in(self._rows, view.cursor)
        top = min(view.top, max(0, len(self._rows) - room))
        if view.cursor is None:
            return replace(view, top=max(0, top))
        if self._rows:
            view = replace(view, cursor=self._rows[at].place)
        top = min(top, at) if at < top + room else at - room + 1
        return replace(view, top=max(0, top))

    def _tree(self, view: View, room: int) -> Iterator[Text]:
        table = self._table(view)
        shown = self._rows[view.top : view.top + room]
        headings = list(table.headings(""))
        if len(shown) < len(self._rows):
            where = f"rows {view.top + 1} to {view.top + len(shown)} of {formatting.count(len(self._rows))}"
            headings[1] = over(headings[1], Text(cut(where, table.name_cells), "dim"), table.name_cells)
        yield from headings
        if not self._rows:
            yield Text(cut(f"No section's name holds {visible(view.filter)!r}.", self._width), "dim")
        for row in shown:
            line = table.line(row, _name(row, table.name_cells), quiet=not row.is_section or not row.matched)
            if view.cursor == row.place:
                line.stylize("reverse")
            yield line

    def _table(self, view: View) -> Table[Row]:
        """Return the tree's columns: as many processes as there is room for, and how many there are."""
        kind, parties = parties_of(self._profile)
        first = min(view.first_process, max(0, len(parties) - 1))
        rank = PARTIES_FIRST if view.by_process else PARTIES_LAST
        group = f"{len(parties)} {kind}"
        own = columns.of_tree(self._span, view.by_process and bool(parties))
        name_cells = max(min(NAME_CELLS, self._width // 2), min(self._needed, self._width // 4))
        for _ in range(2):  # once more when it is known how many there is no room for
            beside = columns.of_parties(self._span, parties[first:], group, rank)
            table = Table([*own, *beside], self._width, name_cells, self._needed)
            shown = sum(column.group == group for column in table.columns)
            group = f"{shown} of {len(parties)} {kind}" if shown < len(parties) else group
        return table

    def _loops(self, room: int) -> list[Text]:
        names = ShortNames(self._profile.root)
        shown = columns.of_loops(self._span)
        return self._panel("loops", shown, self._loops_now, room, lambda now: _loop_name(now, names))

    def _gauges(self, room: int) -> list[Text]:
        gauges = columns.gauges_of(self._profile, self._span)
        return self._panel("gauges", columns.of_gauges(self._span), gauges, room, _gauge_name)

    def _panel(
        self,
        title: str,
        shown: Sequence[Column[Item]],
        items: Sequence[Item],
        room: int,
        name_of: Callable[[Item], Text],
    ) -> list[Text]:
        """Return a small table, as long as there is room for; nothing where there is none."""
        most = room - 2 - len(self._gap)
        if not items or most < 1:
            return []
        left_out = 0 if len(items) <= most else len(items) - most + 1
        table = Table(shown, self._width, min(NAME_CELLS, self._width // 2), self._needed)
        lines = [*self._gap, *table.headings(title)]
        for item in items[: len(items) - left_out]:
            name = name_of(item)
            lines.append(table.line(item, Text.assemble((cut(name.plain, table.name_cells), name.style))))
        if left_out:
            lines.append(Text(f"{formatting.count(left_out)} more", "dim"))
        return lines


def _name(row: Row, cells: int) -> Text:
    style = "bold" if row.kind == "section" and not row.guide else _STYLES[row.kind]
    mark, guide = _mark(row), row.guide
    most = cells // 2
    if len(guide) > most:  # of a deep tree only the end of its lines
        guide = "…" + guide[len(guide) - most + 1 :] if most else ""
    room = cells - cell_len(guide)
    if room - cell_len(mark) < min(8, cell_len(row.name)):
        mark = ""
    name = cut(row.name, room - cell_len(mark))
    return Text.assemble((guide, "dim"), (name, style if row.matched else "dim"), (mark, "dim"))


def _mark(row: Row) -> str:
    mark = f" ({row.mark})" if row.mark else ""
    return mark + (f" +{formatting.count(row.folded)}" if row.folded else "")


def _loop_name(now: columns.LoopNow, names: ShortNames) -> Text:
    return Text(visible(names.joined(paths.split(now.whole.path))), "red" if _is_missing(now) else "")


def _is_missing(now: columns.LoopNow) -> bool:
    """Tell whether a loop misses ticks: in the report's sense over the whole run, or at all in the last seconds."""
    return bool(now.recent and now.recent.missed) or bool(now.view and now.view.misses)


def _gauge_name(now: columns.GaugeNow) -> Text:
    return Text(visible(now.whole.name))
