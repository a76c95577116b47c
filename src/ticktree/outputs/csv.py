"""CSV: a table of the profile, a row a node, loop, gauge, loss or fact."""

from __future__ import annotations

import csv
from io import StringIO

from ticktree.outputs.options import ViewOptions
from ticktree.outputs.shapes.tabular import Cell, tabular
from ticktree.outputs.writing.literal import literal
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Profile

# Backslashes in these are doubled already: visible, a path is still no other's, and the root's stays empty.
_PATHS = frozenset({"path", "parent"})


def render(profile: Profile, options: ViewOptions) -> bytes:
    """Return the table as UTF-8 with the columns' names first; an empty cell is what is not known."""
    table = tabular(profile, options.table)
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    for row in table.rows:
        writer.writerow(shown(column, row[column]) for column in table.columns)
    return text.getvalue().encode()


def shown(column: str, cell: Cell) -> Cell:
    """Return a cell as a file has it: of a text what is not plainly visible as an escape."""
    # One line a row: of the programs that read CSV, many split it at line ends before they look at quotes.
    if not isinstance(cell, str):
        return cell
    return visible(cell) if column in _PATHS else literal(cell)
