"""A puzzle: a board, robots on it, and a target that one of them can reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .board import Board, Cell, Wall

# One corner of two walls for so many cells, about as many as the game's board has.
CELLS_A_CORNER = 16


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


def make_puzzle(size: int, robots: int, moves: int, random: np.random.Generator) -> Puzzle:
    """Return a random puzzle that the first robot can solve by itself.

    Args:
        size: cells a side.
        robots: how many.
        moves: the target is at most so many away, and at least one.
        random: where everything is drawn from.
    """
    while True:
        board = Board(size, _corners(size, random))
        cells = [Cell(*divmod(int(at), size)) for at in random.permutation(size * size)[:robots]]
        targets = _reachable(board, cells[0], cells[1:], moves)
        if targets:
            return Puzzle(board, tuple(cells), targets[int(random.integers(len(targets)))])


def _corners(size: int, random: np.random.Generator) -> set[Wall]:
    """Return walls in pairs that meet in a corner: what a robot can stop at in the middle of the board."""
    walls = set()
    for _ in range(size * size // CELLS_A_CORNER):
        row, column = (int(at) for at in random.integers(1, size - 1, 2))
        up, right = (int(at) for at in random.integers(0, 2, 2))
        walls.add(Wall(Cell(row, column), below=False))
        walls.add(Wall(Cell(row - up, column + right), below=True))
    return walls


def _reachable(board: Board, start: Cell, others: Sequence[Cell], moves: int) -> list[Cell]:
    """Return where the robot can stop after so many moves at most, in order, its start left out."""
    known = {start}
    edge = [start]
    for _ in range(moves):
        found = [there for here in edge for there in board.slides(here, others)]
        edge = [there for there in dict.fromkeys(found) if there not in known]
        known.update(edge)
    return sorted(known - {start})
