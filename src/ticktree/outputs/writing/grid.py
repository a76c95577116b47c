"""Grid: names, numbers and notes in columns, fitted to the width of a terminal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.text import Text

from ticktree.outputs.writing.document import Entry, Head, Table, Tone

GAP = "  "
SEPARATOR = " · "
NAME_CELLS = 16  # columns are dropped before names are cut shorter than this
MIN_CELLS = 8
NOTE_CELLS = 40  # columns of SPARE rank are dropped before notes have less room than this
SPARE = 5
# The width of words among numbers: with a share and the shortest cut name, they fit the smallest width.
WORDS_CELLS = 18
STYLES: dict[Tone, str] = {
    "plain": "",
    "strong": "bold",
    "wait": "blue",
    "quiet": "dim italic",
    "faint": "dim",
    "alarm": "red",
    "good": "green",
    "warning": "yellow",
}


def draw_table(table: Table, width: int) -> Iterator[list[Text]]:
    """Yield the headings, then each entry with the notes below it; nothing is wider than `width`."""
    grid = _Grid(table, width)
    yield [grid.heading()]
    for entry in table.entries:
        yield list(grid.row(entry))


def fits(table: Table, width: int) -> bool:
    """Return whether there is room for all columns that are never dropped, and for part of the names."""
    return _Grid(table, width).fits


def cut(text: str, cells: int) -> str:
    """Return `text`, without its middle if it is wider than `cells`."""
    if cell_len(text) <= cells:
        return text
    head, tail = cells // 2, cells - cells // 2 - 1
    # A text that was cut before may already have a mark at this place.
    parts = _start(text, head).rstrip("…"), _start(text[::-1], tail)[::-1].lstrip("…")
    return "…".join(parts) if cells > 0 else ""


class _Grid:
    """The layout of a grid: the columns shown, their widths, and where the notes begin."""

    def __init__(self, table: Table, width: int) -> None:
        self.title, self.width, self.bars = table.title, width, table.bar_rank is not None
        bars = [] if table.bar_rank is None else [Head("", table.bar_rank, words=True)]
        self.heads = [*bars, *table.heads]
        entries = table.entries
        cells = [self._cells_of(entry) for entry in entries]
        self.columns = [
            _Column(head, [row[i] for row in cells], "cyan" if self.bars and not i else "")
            for i, head in enumerate(self.heads)
        ]
        guides = max((cell_len(self._cut_guide(entry.guide)) for entry in entries), default=0)
        name_widths = (
            cell_len(self._cut_guide(entry.guide) + entry.name + _mark(entry)) for entry in entries
        )
        # A title may extend above the following columns without a title.
        first = next((i for i, head in enumerate(self.heads) if head.title), len(self.heads))
        names = max([cell_len(self.title) - self._cells(range(first)), *name_widths])
        notes = max((cell_len(SEPARATOR.join(entry.notes)) for entry in entries), default=0)
        self.visible = list(range(len(self.heads)))
        self._drop_until(names + bool(notes) * len(GAP) + min(notes, NOTE_CELLS), SPARE)
        min_names = min(names, guides + NAME_CELLS)
        self._drop_until(min_names, 1)
        self.fits = min_names + self._numbers() <= width
        # The last resort, for numbers that fit in no column: at least a letter of each name must be visible.
        self._drop_until(min(names, max(MIN_CELLS, guides + 1)), 0)
        self.name_cells = min(names, max(MIN_CELLS, width - self._numbers()))
        self.note_cells = max(0, width - self.name_cells - self._numbers() - len(GAP))

    def _cells_of(self, entry: Entry) -> list[str]:
        bars = [bar(entry.share)] if self.bars else []
        cells = zip(self.heads[len(bars) :], entry.cells, strict=True)
        return [*bars, *(cut(cell, WORDS_CELLS) if head.words else cell for head, cell in cells)]

    def _cut_guide(self, guide: str) -> str:
        """Return `guide`, or only its end in a deep tree: names must keep some room."""
        limit = self.width // 9 * 3  # three cells a level
        return guide if len(guide) <= limit else "…" + guide[len(guide) - limit + 1 :]

    def _numbers(self) -> int:
        return self._cells(self.visible)

    def _cells(self, columns: Iterable[int]) -> int:
        return sum(len(GAP) + self.columns[i].cells for i in columns)

    def _drop_until(self, other_cells: int, min_rank: int) -> None:
        """Drop columns of `least_rank` and more until `other_cells` fit next to the rest."""
        while other_cells + self._numbers() > self.width:
            rank, i = max((self.heads[i].rank, i) for i in self.visible) if self.visible else (0, 0)
            if rank < min_rank:
                return
            self.visible.remove(i)

    def heading(self) -> Text:
        titled = (i for i, number in enumerate(self.visible) if self.heads[number].title)
        first = next(titled, len(self.visible))
        room = self.name_cells + self._cells(self.visible[:first])
        text = Text.assemble((padded(cut(self.title, room), room), "bold"))
        for i in self.visible[first:]:
            text.append(GAP + self.columns[i].title(), "dim")
        text.rstrip()
        return text

    def row(self, entry: Entry) -> Iterator[Text]:
        cells, is_quiet = self._cells_of(entry), entry.tone in ("quiet", "faint")
        guide = self._cut_guide(entry.guide)
        room = self.name_cells - cell_len(guide)
        mark = _mark(entry)
        if room - cell_len(mark) < min(MIN_CELLS, cell_len(entry.name)):
            mark = ""
        name = entry.name if cell_len(entry.name + mark) <= room else entry.short or entry.name
        name = cut(name, room - cell_len(mark))
        mark = padded(mark, room - cell_len(name))
        text = Text.assemble((guide, "dim"), (name, STYLES[entry.tone]), (mark, "dim"))
        for i in self.visible:
            text.append(GAP)
            text.append_text(self.columns[i].cell(cells[i], is_quiet))
        inline, below = self._split(entry)
        if inline:
            text.append(GAP + inline)
        text.rstrip()
        yield text
        for part in below:
            yield Text.assemble((self._cut_guide(entry.trunk) + GAP, "dim"), part)

    def _split(self, entry: Entry) -> tuple[str, list[str]]:
        """Return the notes that fit after the numbers, and the others as lines below."""
        inline, rest = _fill(entry.notes, self.note_cells)
        room, below = self.width - cell_len(self._cut_guide(entry.trunk)) - len(GAP), []
        while rest:
            part, rest = _fill(rest, room)
            if not part:
                part, rest = cut(rest[0], room), rest[1:]
            below.append(part)
        return inline, below


class _Column:
    """A column's cells: numbers are right-aligned, units left-aligned."""

    def __init__(self, head: Head, cells: Sequence[str], style: str) -> None:
        self.head, self.style = head, style
        parts = [cell.partition(" ") for cell in cells]
        self.number = max((cell_len(number) for number, _, _ in parts), default=0)
        self.unit = max((cell_len(space + unit) for _, space, unit in parts), default=0)
        self.cells = max(self.number + self.unit, cell_len(head.title))

    def title(self) -> str:
        return (padded if self.head.words else _right_aligned)(self.head.title, self.cells)

    def cell(self, cell: str, quiet: bool) -> Text:
        number, space, unit = cell.partition(" ")
        style = "dim" if quiet else self.style
        if self.head.words:
            return Text(padded(cell, self.cells), style)
        behind = padded(space + unit, self.unit)
        return Text.assemble((_right_aligned(number, self.cells - self.unit), style), (behind, "dim"))


def _mark(entry: Entry) -> str:
    return f" ({entry.mark})" if entry.mark else ""


def _fill(notes: Sequence[str], room: int) -> tuple[str, Sequence[str]]:
    """Return as many of `notes` as fit into `room`, in one string, and the rest."""
    count = len(notes)
    while count and cell_len(SEPARATOR.join(notes[:count])) > room:
        count -= 1
    return SEPARATOR.join(notes[:count]), notes[count:]


def padded(text: str, cells: int) -> str:
    """Return `text` padded with spaces to `cells`, if it is not wider already."""
    return text + " " * (cells - cell_len(text))


def _right_aligned(text: str, cells: int) -> str:
    return " " * (cells - cell_len(text)) + text


def _start(text: str, cells: int) -> str:
    """Return the longest prefix of `text` that fits into `cells`."""
    used = 0
    for i, character in enumerate(text):
        used += cell_len(character)
        if used > cells:
            return text[:i]
    return text


def guides(depths: Sequence[int]) -> list[tuple[str, str]]:
    """Return the tree lines that lead to each row, and past it to the rows below, from the rows' depths."""
    rows: list[tuple[str, str]] = []
    # Whether another row of the same parent follows, by depth: computed from the last row up.
    follows: defaultdict[int, bool] = defaultdict(bool)
    for depth in reversed(depths):
        lines = "".join("│  " if follows[above] else "   " for above in range(1, depth))
        branch = ("├─ " if follows[depth] else "└─ ") if depth else ""
        trunk = lines + (("│  " if follows[depth] else "   ") if depth else "")
        rows.append((lines + branch, trunk))
        follows[depth] = depth > 0
        for below in [level for level in follows if level > depth]:
            del follows[below]
    return rows[::-1]


BAR_CELLS = 8

_EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(share: float | None) -> str:
    """Return a bar of `share` of its cells, to an eighth of a cell; a full one if the share exceeds 1."""
    eighths = round(min(max(share or 0.0, 0.0), 1.0) * BAR_CELLS * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
