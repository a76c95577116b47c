"""Tables whose columns keep their widths, so that a screen drawn again and again does not tremble."""

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
        title: what stands above it; safe to show.
        cells: how wide it is.
        text: of an item; "" where there is none to show. A number and its unit have a space between them.
        rank: how soon it is given up where there is no room: the highest first.
        group: what stands above it and its neighbours of the same group; "" for nothing.
        bar: whether its text is a bar, which begins on the left.
    """

    title: str
    cells: int
    text: Callable[[Item], str]
    rank: int
    group: str = ""
    bar: bool = False


class LiveTable(Generic[Item]):
    """As many of the columns as there is room for beside the names.

    Args:
        columns: in their order.
        width: cells of a line.
        name_cells: what the names are to have at least.
        needed_cells: what they take up; more than that they do not get.
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
        """Yield the two lines above the rows: which stretch the numbers are of, and what they are."""
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
        """Return an item's row."""
        result = name.copy()
        result.truncate(self.name_cells, overflow="ellipsis", pad=True)
        for column in self.columns:
            result.append(GAP)
            text = column.text(item)
            if column.bar:
                result.append(padded(text, column.cells), "dim" if quiet else "")
            else:
                result.append_text(_number(text, column.cells, "dim" if quiet else ""))
        return result


def _number(text: str, cells: int, style: str) -> Text:
    """Return a cell: numbers end below one another, units begin below one another."""
    number, space, unit = cut(text, cells).partition(" ")
    behind = padded(space + unit, min(UNIT_CELLS, cells - cell_len(number))) if unit else ""
    before = " " * (cells - cell_len(number) - cell_len(behind))
    return Text.assemble((before + number, style), (behind, "dim"))


def _brace(group: str, cells: int) -> str:
    """Return a line over a group's columns with its name in the middle, or as many words of that as fit."""
    words = group.split(" ")
    while len(words) > 1 and cell_len(" ".join(words)) > cells:
        words.pop()
    name = cut(" ".join(words), cells)
    if cells - cell_len(name) < 4:  # no room for a line that is seen as one
        return " " * (cells - cell_len(name)) + name
    left = (cells - cell_len(name)) // 2
    right = cells - cell_len(name) - left
    return f"{_rule(left)[::-1]}{name}{_rule(right)}"


def _rule(cells: int) -> str:
    return " " + "─" * (cells - 1)
