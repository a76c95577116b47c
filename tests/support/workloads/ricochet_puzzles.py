"""Puzzles for tests."""

from __future__ import annotations

from rgb_convlstm.puzzle import Board, Cell, Puzzle, Wall

# A wall right of (0, 1) and one below (2, 3).
WALLS = (Wall(Cell(0, 1), below=False), Wall(Cell(2, 3), below=True))


def small_puzzle(walls=WALLS):
    return Puzzle(Board(4, walls), (Cell(0, 0), Cell(3, 3)), Cell(0, 1))
