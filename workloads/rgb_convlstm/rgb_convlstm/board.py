"""The board: its walls, and how far a robot slides."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import IntEnum
from typing import NamedTuple


class Cell(NamedTuple):
    """A place on the board; row 0 is at the top."""

    row: int
    column: int


class Direction(IntEnum):
    """Where a robot can be sent."""

    UP = 0
    RIGHT = 1
    DOWN = 2
    LEFT = 3


STEPS = {
    Direction.UP: (-1, 0),
    Direction.RIGHT: (0, 1),
    Direction.DOWN: (1, 0),
    Direction.LEFT: (0, -1),
}


class Wall(NamedTuple):
    """A wall between two neighbouring cells: at the right of `cell`, or below it.

    Attributes:
        cell: the one at the left, or above.
        below: whether the wall is below it.
    """

    cell: Cell
    below: bool


class Board:
    """A square of cells with walls between some of them and all around.

    Args:
        size: cells a side.
        walls: those inside.
    """

    def __init__(self, size: int, walls: Collection[Wall]) -> None:
        self.size = size
        self.walls = frozenset(walls)

    def slide(self, start: Cell, direction: Direction, others: Collection[Cell]) -> Cell:
        """Return where a robot stops that is sent from `start`: before a wall, or another robot."""
        here = start
        while not self._is_blocked(here, direction):
            there = _next(here, direction)
            if there in others:
                break
            here = there
        return here

    def slides(self, start: Cell, others: Collection[Cell]) -> Iterator[Cell]:
        """Yield where a robot at `start` can stop after one move."""
        for direction in Direction:
            yield self.slide(start, direction, others)

    def _is_blocked(self, cell: Cell, direction: Direction) -> bool:
        there = _next(cell, direction)
        if not (0 <= there.row < self.size and 0 <= there.column < self.size):
            return True
        upper_left = min(cell, there)
        return Wall(upper_left, below=direction in (Direction.UP, Direction.DOWN)) in self.walls


def _next(cell: Cell, direction: Direction) -> Cell:
    down, right = STEPS[direction]
    return Cell(cell.row + down, cell.column + right)
