"""Planes: the puzzle as numbers, a plane for each kind of thing, a pixel a cell. What there is without drawing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .puzzle import Puzzle

# The robot that has to go, the others, the target, walls at the right and below.
CHANNELS = 5
THERE = 255


def planes(puzzle: Puzzle) -> NDArray[np.uint8]:
    """Return the planes, channels first."""
    seen = np.zeros((CHANNELS, puzzle.board.size, puzzle.board.size), np.uint8)
    for robot, cell in enumerate(puzzle.robots):
        seen[min(robot, 1), cell.row, cell.column] = THERE
    seen[2, puzzle.target.row, puzzle.target.column] = THERE
    for (row, column), below in puzzle.board.walls:
        seen[4 if below else 3, row, column] = THERE
    return seen
