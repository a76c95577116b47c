"""The room on a screen: how many rows of the tree fit below everything else in a report of 45 lines of 80 columns."""

from __future__ import annotations

from ticktree.outputs.view.model import ReportView
from ticktree.outputs.writing.bars import BAR_CELLS
from ticktree.outputs.writing.document import Entry, Table

LINES = 45
COLUMNS = 80
LEAST_ROWS = 4
# A recommendation is cut off after so many lines; all of it is shown where all is asked for.
TEXT_LINES = 4


def tree_room(view: ReportView) -> int:
    """Return how many lines the tree may have so that the whole report fits."""
    used = 1 + _wrapped([view.title, *(fact.text for fact in view.provenance)], 3)
    used += sum(_wrapped([each.name, *each.pieces], 3) for each in view.headlines)
    used += sum(min(TEXT_LINES, _text(each.text, COLUMNS - 3)) for each in view.warnings)
    if view.recommendations:
        used += 2 + bool(view.more)
    for each in view.recommendations:
        used += min(TEXT_LINES, _text(f"{each.gain}  {each.text}", COLUMNS - 4)) + 1
    tables = [view.loops, *view.tables, *(part.self_times for part in view.parts)]
    used += sum(1 + lines_of(table) for table in tables if table is not None)
    used += sum(1 + _text(", ".join(part.dismissed), COLUMNS - 22) for part in view.parts if part.dismissed)
    used += 1 + len(view.closing)
    return max(LEAST_ROWS, LINES - used - 1)


def fits(tree: Table | None, room: int) -> bool:
    """Tell whether a tree takes no more lines than there is room for, or no more rows than it must have."""
    return tree is None or lines_of(tree) <= max(room, LEAST_ROWS + 1)


def lines_of(table: Table) -> int:
    """Return how many lines a table takes, its heading included."""
    remark = _text(table.remark, COLUMNS) if table.remark else 0
    return 1 + len(table.entries) + sum(_below(entry, table) for entry in table.entries) + remark


def _below(entry: Entry, table: Table) -> int:
    """Return how many lines an entry has below its own."""
    notes = sum(map(len, entry.notes)) + 3 * len(entry.notes)
    names = max(
        len(each.guide) + len(each.name) + len(each.mark) + 3 * bool(each.mark) for each in table.entries
    )
    cells = [[len(each.cells[at]) for each in table.entries] for at in range(len(table.heads))]
    numbers = sum(2 + max(len(head.title), *sizes) for head, sizes in zip(table.heads, cells, strict=True))
    inline = COLUMNS - names - numbers - (0 if table.bar_rank is None else 2 + BAR_CELLS)
    about = sum(_wrapped(list(pieces), 3, COLUMNS - 2) for pieces in entry.about)
    if notes <= inline:
        return about
    return about + _wrapped(list(entry.notes), 3, max(1, COLUMNS - len(entry.trunk) - 2))


def _text(text: str, width: int) -> int:
    return _wrapped(text.split(" "), 1, width)


def _wrapped(pieces: list[str], between: int, width: int = COLUMNS) -> int:
    lines, at = 1, 0
    for piece in pieces:
        if at and at + between + len(piece) > width:
            lines, at = lines + 1, 2
        at += (between if at else 0) + min(len(piece), width)
    return lines
