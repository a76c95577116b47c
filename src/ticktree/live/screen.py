"""The screen: a watched run as lines of text, as many as the terminal has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from rich.cells import cell_len
from rich.text import Text

from ticktree.live import columns
from ticktree.live.keys import KEYS
from ticktree.live.reading import Reading, ending
from ticktree.live.recent import Span
from ticktree.live.rows import Row, place_in, rows_of
from ticktree.live.table import Column, Table
from ticktree.live.view import View
from ticktree.live.writers import parties_of
from ticktree.outputs import formatting
from ticktree.outputs.grid import GAP, SEPARATOR, cut
from ticktree.outputs.headline import losses
from ticktree.outputs.rows import Kind
from ticktree.outputs.visible import visible
from ticktree.profile import Profile

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
class Now:
    """All that there is to show.

    Attributes:
        reading: the last one that could be read; None before the first.
        span: the last seconds; None where nothing is known of them.
        state: the last reading, whether or not it found a profile; None before the first.
        every_ns: how often the run is read.
        slowed_ns: how often it is read instead, because reading takes long; 0 where it does not.
        reason: why nothing was recorded; "" where something was, or where it is not known.
    """

    reading: Reading | None = None
    span: Span | None = None
    state: Reading | None = None
    every_ns: int = columns.NS_PER_SECOND
    slowed_ns: int = 0
    reason: str = ""


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
        lines = [*_header(now, view, width), *_help(width)]
        return Picture(_fitted(lines, _footer(view, width), height), (), 0, 0, view)
    profile = None if now.reading is None else now.reading.profile
    if profile is None or not (profile.root.children or profile.gauges):
        lines = [*_header(now, view, width), *_waiting(now, width)]
        return Picture(_fitted(lines, _footer(view, width), height), (), 0, 0, view)
    return _Board(now, profile, view, width, height).picture()


class _Board:
    """The screen of a run that has recorded something."""

    def __init__(self, now: Now, profile: Profile, view: View, width: int, height: int) -> None:
        self._profile, self._span, self._view = profile, now.span, view
        self._width, self._height = width, height
        self._gap = [Text()] if height >= ROOMY_LINES else []
        self._header = list(_header(now, view, width))
        self._rows = rows_of(profile, now.span, view)

    def picture(self) -> Picture:
        # The header, the tree's two headings and the last line are always there.
        spare = self._height - len(self._header) - 3 - LEAST_ROWS - len(self._gap)
        loops = self._loops(min(spare // 2, 2 + self._height // 5))
        gauges = self._gauges(min(spare - len(loops), 2 + self._height // 6))
        above = [*self._header, *loops, *self._gap]
        room = max(0, self._height - len(above) - 3 - len(gauges))
        view = self._followed(room)
        lines = [*above, *self._tree(view, room)]
        lines += [Text()] * (self._height - 1 - len(gauges) - len(lines)) if gauges else []
        lines += gauges
        first_line = len(above) + 2
        return Picture(
            _fitted(lines, _footer(view, self._width, self._span is not None), self._height),
            self._rows,
            first_line,
            room,
            view,
        )

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
            headings[1] = _over(headings[1], Text(cut(where, table.name_cells), "dim"), table.name_cells)
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
        name_cells = min(NAME_CELLS, self._width // 2)
        for _ in range(2):  # once more when it is known how many there is no room for
            beside = columns.of_parties(self._span, parties[first:], group, rank)
            table = Table([*own, *beside], self._width, name_cells)
            shown = sum(column.group == group for column in table.columns)
            group = f"{shown} of {len(parties)} {kind}" if shown < len(parties) else group
        return table

    def _loops(self, room: int) -> list[Text]:
        loops = columns.loops_of(self._profile, self._span)
        return self._panel("loops", columns.of_loops(self._span), loops, room, _loop_name)

    def _gauges(self, room: int) -> list[Text]:
        gauges = columns.gauges_of(self._profile, self._span)
        return self._panel(
            "gauges", columns.of_gauges(self._span), gauges, room, lambda now: visible(now.whole.name)
        )

    def _panel(
        self,
        title: str,
        shown: Sequence[Column[Item]],
        items: Sequence[Item],
        room: int,
        name_of: Callable[[Item], str | Text],
    ) -> list[Text]:
        """Return a small table, as long as there is room for; nothing where there is none."""
        most = room - 2 - len(self._gap)
        if not items or most < 1:
            return []
        left_out = 0 if len(items) <= most else len(items) - most + 1
        table = Table(shown, self._width, min(NAME_CELLS, self._width // 2))
        lines = [*self._gap, *table.headings(title)]
        for item in items[: len(items) - left_out]:
            name = name_of(item)
            lines.append(
                table.line(item, _cut(name if isinstance(name, Text) else Text(name), table.name_cells))
            )
        if left_out:
            lines.append(Text(f"{formatting.count(left_out)} more", "dim"))
        return lines


def _name(row: Row, cells: int) -> Text:
    style = "bold" if row.kind == "section" and not row.guide else _STYLES[row.kind]
    mark = f" ({row.mark})" if row.mark else ""
    mark += f" +{formatting.count(row.folded)}" if row.folded else ""
    guide = row.guide
    most = cells // 2
    if len(guide) > most:  # of a deep tree only the end of its lines
        guide = "…" + guide[len(guide) - most + 1 :] if most else ""
    room = cells - cell_len(guide)
    if room - cell_len(mark) < min(8, cell_len(row.name)):
        mark = ""
    name = cut(row.name, room - cell_len(mark))
    return Text.assemble((guide, "dim"), (name, style if row.matched else "dim"), (mark, "dim"))


def _loop_name(now: columns.LoopNow) -> Text:
    recent = now.recent or now.whole
    return Text(visible(now.whole.path), "red" if recent.missed else "")


def _cut(name: Text, cells: int) -> Text:
    return Text(cut(name.plain, cells), name.style)


def _header(now: Now, view: View, width: int) -> Iterator[Text]:
    """Yield what is watched and what has become of it, and on further lines how, and what is wrong."""
    state = _state(now.state)
    room = max(0, width - cell_len(state.plain) - len(GAP))
    name = visible(now.state.name) if now.state else "ticktree"
    title = Text(cut(name, room), "bold")
    command = _command(now)
    if command and cell_len(name) + 12 < room:
        title.append(GAP + cut(command, room - cell_len(name) - len(GAP)), "dim")
    title.truncate(room, pad=True)
    yield Text.assemble(title, GAP, state) if room else state
    how = Text.assemble(*_pieces(now, view))
    how.truncate(width, overflow="ellipsis")
    yield how
    wrong = [now.state.trouble] if now.state and now.state.trouble else []
    lost = losses(now.reading.profile) if now.reading and now.reading.profile else []
    if wrong:
        yield Text(cut(visible(wrong[0]), width), "red")
    if lost:
        yield Text(cut(", ".join(lost), width), "yellow")


def _state(reading: Reading | None) -> Text:
    if reading is None:
        return Text("reading", "dim")
    if reading.state == "running":
        age = "" if reading.running_ns is None else f" for {formatting.time(reading.running_ns)}"
        return Text(f"running{age}", "green")
    if reading.state == "lost":
        return Text("cannot be read", "bold red")
    if reading.state == "saved":
        return Text("saved profile", "bold")
    how = ending(reading.exit_status)
    said = "run ended" if reading.state == "ended" else "finished run"
    return Text(f"{said}, {how}" if how else said, "bold" if not reading.exit_status else "bold red")


def _command(now: Now) -> str:
    profile = None if now.reading is None else now.reading.profile
    values = profile.metadata.get("command", ()) if profile else ()
    return ", ".join(visible(str(value)) for value in sorted(map(str, values)))


def _pieces(now: Now, view: View) -> Iterator[tuple[str, str]]:
    """Yield how the run is watched, piece by piece, each with its style."""
    if view.paused:
        yield "paused", "bold yellow"
    elif now.state is None or not now.state.is_last:
        if now.slowed_ns:
            took = formatting.time(now.state.took_ns if now.state else 0)
            yield f"every {formatting.time(now.slowed_ns)}, because reading takes {took}", "yellow"
        else:
            yield f"every {formatting.time(now.every_ns)}", "dim"
    else:
        yield "nothing changes any more", "dim"
    yield f"{SEPARATOR}sorted by {view.order}", "dim"
    if view.filter and not view.typing:
        yield f"{SEPARATOR}only names with ", "dim"
        yield visible(view.filter), "bold"


def _waiting(now: Now, width: int) -> Iterator[Text]:
    yield Text()
    if now.state is None:
        return
    if now.reading is None:
        said = "Nothing could be read of it yet."
    elif now.state.state == "running":
        said = "Nothing is recorded yet: no section was entered."
    else:
        said = f"Nothing was recorded: {visible(now.reason)}." if now.reason else "Nothing was recorded."
    yield from _wrapped(said, width)


def _wrapped(said: str, width: int) -> Iterator[Text]:
    line = ""
    for word in said.split(" "):
        if line and cell_len(line) + 1 + cell_len(word) > width:
            yield Text(cut(line, width))
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield Text(cut(line, width))


def _help(width: int) -> Iterator[Text]:
    yield Text()
    for key in KEYS:
        line = Text.assemble((f"{key.shown:>8}", "bold"), f"   {key.says}")
        line.truncate(width, overflow="ellipsis")
        yield line


def _footer(view: View, width: int, watching: bool = True) -> Text:
    """Return the last line: the keys, or the letters that are being typed."""
    if view.typing:
        line = Text.assemble(("/", "bold"), visible(view.filter), ("▏", "bold"))
        line.append("  Enter keeps it, Esc shows all", "dim")
    else:
        line = Text()
        for key in KEYS:
            if key.label and not (key.action == "pause" and not watching):
                line.append(f"{key.shown} ", "bold").append(f"{_label(key.label, view)}  ", "dim")
    line.rstrip()
    line.truncate(width, overflow="ellipsis")
    return line


def _label(label: str, view: View) -> str:
    return "go on" if label == "pause" and view.paused else label


def _over(line: Text, start: Text, cells: int) -> Text:
    """Return `line` with its first cells, which are empty, taken by `start`."""
    start.truncate(cells, pad=True)
    return start + line[cells:]


def _fitted(lines: Sequence[Text], last: Text, height: int) -> list[Text]:
    """Return exactly as many lines as the terminal has, the last of them at the bottom."""
    shown = list(lines[: max(0, height - 1)])
    return [*shown, *[Text()] * (height - 1 - len(shown)), last][-height:]
