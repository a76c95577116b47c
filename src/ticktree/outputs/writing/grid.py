"""Grid: names, numbers and notes in columns, fitted to the width of a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

GAP = "  "
SEPARATOR = " · "
NAME_CELLS = 16  # columns are given up before names are cut shorter than this
LEAST_CELLS = 8
NOTE_CELLS = 40  # columns of SPARE rank are given up before notes have less room than this
SPARE = 5


@dataclass(frozen=True, slots=True)
class Head:
    """A column.

    Attributes:
        title: what stands above it.
        rank: how soon the column is given up where there is no room: the highest first, and 0 only for numbers so
            long that the line would not fit.
        left: whether its cells are in line on their left.
        style: of its cells.
    """

    title: str
    rank: int
    left: bool = False
    style: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A row.

    Attributes:
        name: what it is of; cut where there is no room for it.
        short: what stands for the name there, cut only where there is no room for this either; "" for the name.
        mark: a word on the name, behind it.
        cells: one for each head. A number and its unit, where it has one, have a space between them.
        notes: what follows; below, where there is no room in line.
        guide: lines in front of the name.
        trunk: the same, in front of notes that are below it.
        style: of the name.
        quiet: whether its numbers are of less interest than others'.
    """

    name: str
    cells: Sequence[str]
    short: str = ""
    mark: str = ""
    notes: Sequence[str] = ()
    guide: str = ""
    trunk: str = ""
    style: str = ""
    quiet: bool = False


def drawn(title: str, heads: Sequence[Head], lines: Sequence[Line], width: int) -> Iterator[list[Text]]:
    """Yield the headings, then each of `lines` with the notes below it; nothing is wider than `width`."""
    grid = _Grid(title, heads, lines, width)
    yield [grid.heading()]
    for line in lines:
        yield list(grid.row(line))


def fits(title: str, heads: Sequence[Head], lines: Sequence[Line], width: int) -> bool:
    """Tell whether all columns that are never given up have room, and some of the names as well."""
    return _Grid(title, heads, lines, width).fits


def cut(text: str, cells: int) -> str:
    """Return `text`, its middle left out where it is wider than `cells`."""
    if cell_len(text) <= cells:
        return text
    head, tail = cells // 2, cells - cells // 2 - 1
    return f"{_start(text, head)}…{_start(text[::-1], tail)[::-1]}" if cells > 0 else ""


class _Grid:
    """The measures of a grid: which columns are shown, how wide they are, and where the notes begin."""

    def __init__(self, title: str, heads: Sequence[Head], lines: Sequence[Line], width: int) -> None:
        self.title = title
        self.width = width
        self.heads = heads
        self.columns = [_Column(head, [line.cells[at] for line in lines]) for at, head in enumerate(heads)]
        guides = max((cell_len(self._cut_guide(line.guide)) for line in lines), default=0)
        named = (cell_len(self._cut_guide(line.guide) + line.name + _mark(line)) for line in lines)
        # A title may go on above the columns behind it that have none.
        first = next((at for at, head in enumerate(heads) if head.title), len(heads))
        names = max([cell_len(title) - self._cells(range(first)), *named])
        notes = max((cell_len(SEPARATOR.join(line.notes)) for line in lines), default=0)
        self.shown = list(range(len(heads)))
        self._drop_until(names + bool(notes) * len(GAP) + min(notes, NOTE_CELLS), SPARE)
        least = min(names, guides + NAME_CELLS)
        self._drop_until(least, 1)
        self.fits = least + self._numbers() <= width
        # The last resort, for numbers that no column was made for: a letter of each name has to be seen.
        self._drop_until(min(names, max(LEAST_CELLS, guides + 1)), 0)
        self.name_cells = min(names, max(LEAST_CELLS, width - self._numbers()))
        self.note_cells = max(0, width - self.name_cells - self._numbers() - len(GAP))

    def _cut_guide(self, guide: str) -> str:
        """Return `guide`, of a deep tree only its end: names must keep some room."""
        most = self.width // 9 * 3  # three cells a level
        return guide if len(guide) <= most else "…" + guide[len(guide) - most + 1 :]

    def _numbers(self) -> int:
        return self._cells(self.shown)

    def _cells(self, columns: Iterable[int]) -> int:
        return sum(len(GAP) + self.columns[at].cells for at in columns)

    def _drop_until(self, beside: int, least_rank: int) -> None:
        """Give up columns of `least_rank` and more until what stands beside them fits as well."""
        while beside + self._numbers() > self.width:
            rank, at = max((self.heads[at].rank, at) for at in self.shown) if self.shown else (0, 0)
            if rank < least_rank:
                return
            self.shown.remove(at)

    def heading(self) -> Text:
        first = next(
            (at for at, number in enumerate(self.shown) if self.heads[number].title), len(self.shown)
        )
        room = self.name_cells + self._cells(self.shown[:first])
        text = Text.assemble((padded(cut(self.title, room), room), "bold"))
        for at in self.shown[first:]:
            text.append(GAP + self.columns[at].title(), "dim")
        text.rstrip()
        return text

    def row(self, line: Line) -> Iterator[Text]:
        guide = self._cut_guide(line.guide)
        room = self.name_cells - cell_len(guide)
        mark = _mark(line)
        if room - cell_len(mark) < min(LEAST_CELLS, cell_len(line.name)):
            mark = ""
        name = line.name if cell_len(line.name + mark) <= room else line.short or line.name
        name = cut(name, room - cell_len(mark))
        mark = padded(mark, room - cell_len(name))
        text = Text.assemble((guide, "dim"), (name, line.style), (mark, "dim"))
        for at in self.shown:
            text.append(GAP)
            text.append_text(self.columns[at].cell(line.cells[at], line.quiet))
        inline, below = self._split(line)
        if inline:
            text.append(GAP + inline)
        text.rstrip()
        yield text
        for part in below:
            yield Text.assemble((self._cut_guide(line.trunk) + GAP, "dim"), part)

    def _split(self, line: Line) -> tuple[str, list[str]]:
        """Return the notes that fit behind the numbers, and the others as lines below."""
        inline, rest = _filled(line.notes, self.note_cells)
        room, below = self.width - cell_len(self._cut_guide(line.trunk)) - len(GAP), []
        while rest:
            part, rest = _filled(rest, room)
            if not part:
                part, rest = cut(rest[0], room), rest[1:]
            below.append(part)
        return inline, below


class _Column:
    """A column's cells: numbers end below one another, units begin below one another."""

    def __init__(self, head: Head, cells: Sequence[str]) -> None:
        self.head = head
        parts = [cell.partition(" ") for cell in cells]
        self.number = max((cell_len(number) for number, _, _ in parts), default=0)
        self.unit = max((cell_len(space + unit) for _, space, unit in parts), default=0)
        self.cells = max(self.number + self.unit, cell_len(head.title))

    def title(self) -> str:
        return (padded if self.head.left else _behind_space)(self.head.title, self.cells)

    def cell(self, cell: str, quiet: bool) -> Text:
        number, space, unit = cell.partition(" ")
        style = "dim" if quiet else self.head.style
        if self.head.left:
            return Text(padded(cell, self.cells), style)
        behind = padded(space + unit, self.unit)
        return Text.assemble((_behind_space(number, self.cells - self.unit), style), (behind, "dim"))


def _mark(line: Line) -> str:
    return f" ({line.mark})" if line.mark else ""


def _filled(notes: Sequence[str], room: int) -> tuple[str, Sequence[str]]:
    """Return as many of `notes` as fit into `room`, in one string, and the rest."""
    taken = len(notes)
    while taken and cell_len(SEPARATOR.join(notes[:taken])) > room:
        taken -= 1
    return SEPARATOR.join(notes[:taken]), notes[taken:]


def padded(text: str, cells: int) -> str:
    """Return `text` with spaces behind it, `cells` wide if it is not wider already."""
    return text + " " * (cells - cell_len(text))


def _behind_space(text: str, cells: int) -> str:
    return " " * (cells - cell_len(text)) + text


def _start(text: str, cells: int) -> str:
    """Return the longest beginning of `text` that is no wider than `cells`."""
    used = 0
    for at, character in enumerate(text):
        used += cell_len(character)
        if used > cells:
            return text[:at]
    return text
