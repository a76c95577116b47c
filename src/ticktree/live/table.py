"""Tables whose columns keep their widths, so that numbers do not move between two drawings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Generic, TypeVar

from rich.cells import cell_len
from rich.text import Text

from ticktree.outputs.writing.grid import GAP, cut, padded

Item = TypeVar("Item")

UNIT_CELLS = 4  # " ms", " k/s", " MHz"


@dataclass(frozen=True, slots=True)
class LiveColumn(Generic[Item]):
    """A column of numbers.

    Attributes:
        title: safe to show.
        cells: its width.
        text: returns an item's text; "" for an empty cell. A number and its unit have a space between them.
        rank: the order in which columns are dropped if there is no room, the highest first.
        group: the common head of it and its neighbours of the same group; "" for none.
        bar: whether its text is a bar, which is left-aligned.
    """

    title: str
    cells: int
    text: Callable[[Item], str]
    rank: int
    group: str = ""
    bar: bool = False


class LiveTable(Generic[Item]):
    """As many of the columns as there is room for next to the names.

    Args:
        columns: in order.
        width: cells of a line.
        name_cells: minimum width of the names.
        needed_cells: width that the names need, and maximum width.
    """

    def __init__(
        self, columns: Sequence[LiveColumn[Item]], width: int, name_cells: int, needed_cells: int
    ) -> None:
        shown = list(columns)
        while shown and name_cells + sum(len(GAP) + column.cells for column in shown) > width:
            worst = max(range(len(shown)), key=lambda at: (shown[at].rank, at))
            del shown[worst]
        self.columns: Sequence[LiveColumn[Item]] = shown
        left = max(0, width - sum(len(GAP) + column.cells for column in shown))
        self.name_cells = min(left, max(name_cells, needed_cells))

    def headings(self, name: str) -> Iterator[Text]:
        """Yield the two lines above the rows: the period of the numbers, and their titles."""
        groups = Text(" " * self.name_cells)
        for group, members in groupby(self.columns, key=lambda column: column.group):
            cells = sum(len(GAP) + column.cells for column in members) - len(GAP)
            groups.append(GAP + (_brace(group, cells) if group else " " * cells), "dim")
        groups.rstrip()
        yield groups
        titles = Text.assemble((padded(cut(name, self.name_cells), self.name_cells), "bold"))
        for column in self.columns:
            title = cut(column.title, column.cells)
            space = " " * (column.cells - cell_len(title))
            titles.append(GAP + (title + space if column.bar else space + title), "dim")
        titles.rstrip()
        yield titles

    def line(self, item: Item, name: Text, *, quiet: bool = False) -> Text:
        """Return the row of an item."""
        result = name.copy()
        result.truncate(self.name_cells, overflow="ellipsis", pad=True)
        for column in self.columns:
            result.append(GAP)
            text, style = column.text(item), "dim" if quiet else ""
            cell = (
                Text(padded(text, column.cells), style) if column.bar else _number(text, column.cells, style)
            )
            result.append_text(cell)
        return result


def _number(text: str, cells: int, style: str) -> Text:
    """Return a cell, with the number right-aligned and the unit left-aligned."""
    number, space, unit = cut(text, cells).partition(" ")
    behind = padded(space + unit, min(UNIT_CELLS, cells - cell_len(number))) if unit else ""
    before = " " * (cells - cell_len(number) - cell_len(behind))
    return Text.assemble((before + number, style), (behind, "dim"))


def _brace(group: str, cells: int) -> str:
    """Return a line over a group's columns with its name in the middle, cut to the words that fit."""
    words = group.split(" ")
    while len(words) > 1 and cell_len(" ".join(words)) > cells:
        words.pop()
    name = cut(" ".join(words), cells)
    if cells - cell_len(name) < 4:  # too short for a visible line
        return " " * (cells - cell_len(name)) + name
    left = (cells - cell_len(name)) // 2
    right = cells - cell_len(name) - left
    return f"{_rule(left)[::-1]}{name}{_rule(right)}"


def _rule(cells: int) -> str:
    return " " + "─" * (cells - 1)
