"""The game: walls, robots that slide until something stops them, and puzzles that can be solved."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np


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
        size: cells per side.
        walls: those inside.
    """

    def __init__(self, size: int, walls: Collection[Wall]) -> None:
        self.size = size
        self.walls = frozenset(walls)

    def slide(self, start: Cell, direction: Direction, others: Collection[Cell]) -> Cell:
        """Return where a robot stops that is sent from `start`: before a wall, or another robot."""
        cell = start
        while not self._is_blocked(cell, direction):
            next_cell = _next(cell, direction)
            if next_cell in others:
                break
            cell = next_cell
        return cell

    def slides(self, start: Cell, others: Collection[Cell]) -> Iterator[Cell]:
        """Yield where a robot at `start` can stop after one move."""
        for direction in Direction:
            yield self.slide(start, direction, others)

    def _is_blocked(self, cell: Cell, direction: Direction) -> bool:
        neighbor = _next(cell, direction)
        if not (0 <= neighbor.row < self.size and 0 <= neighbor.column < self.size):
            return True
        upper_left = min(cell, neighbor)
        return Wall(upper_left, below=direction in (Direction.UP, Direction.DOWN)) in self.walls


def _next(cell: Cell, direction: Direction) -> Cell:
    down, right = STEPS[direction]
    return Cell(cell.row + down, cell.column + right)


# One corner of two walls per this many cells, about as in the board game.
CELLS_PER_CORNER = 16


class Puzzle(NamedTuple):
    """What an episode begins with.

    Attributes:
        board: with its walls.
        robots: where each stands; the first is the one that has to reach the target.
        target: where it has to stop.
    """

    board: Board
    robots: tuple[Cell, ...]
    target: Cell


def make_puzzle(size: int, robots: int, moves: int, rng: np.random.Generator) -> Puzzle:
    """Return a random puzzle that the first robot can solve by itself.

    Args:
        size: cells per side.
        robots: how many.
        moves: the most moves from the first robot to the target; the least is 1.
        rng: the source of everything random.
    """
    while True:
        board = Board(size, _corners(size, rng))
        cells = [Cell(*divmod(int(index), size)) for index in rng.permutation(size * size)[:robots]]
        targets = _reachable(board, cells[0], cells[1:], moves)
        if targets:
            return Puzzle(board, tuple(cells), targets[int(rng.integers(len(targets)))])


def _corners(size: int, rng: np.random.Generator) -> set[Wall]:
    """Return walls in pairs that meet in a corner: what a robot can stop at in the middle of the board."""
    walls = set()
    for _ in range(size * size // CELLS_PER_CORNER):
        row, column = (int(index) for index in rng.integers(1, size - 1, 2))
        up, right = (int(index) for index in rng.integers(0, 2, 2))
        walls.add(Wall(Cell(row, column), below=False))
        walls.add(Wall(Cell(row - up, column + right), below=True))
    return walls


def _reachable(board: Board, start: Cell, others: Sequence[Cell], moves: int) -> list[Cell]:
    """Return where the robot can stop after so many moves at most, in order, its start left out."""
    visited = {start}
    edge = [start]
    for _ in range(moves):
        cells = [next_cell for cell in edge for next_cell in board.slides(cell, others)]
        edge = [next_cell for next_cell in dict.fromkeys(cells) if next_cell not in visited]
        visited.update(edge)
    return sorted(visited - {start})
