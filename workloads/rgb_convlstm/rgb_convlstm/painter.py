"""The painter: a puzzle drawn as a picture, and the picture made as small as the network wants it."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from ticktree.compat.profiling import profile, profile_function

from .board import Board, Cell
from .puzzle import Puzzle

Picture: TypeAlias = NDArray[np.uint8]

FLOOR = (236, 229, 214)
LINES = (203, 194, 176)
WALLS = (58, 52, 46)
# The first is the one that has to reach the target, which has its colour.
ROBOTS = ((202, 52, 51), (44, 110, 180), (56, 142, 60), (236, 178, 32), (136, 84, 168), (80, 80, 80))


class Painter:
    """Draws puzzles.

    Args:
        cell_pixels: of a cell's side as it is drawn.
        picture_pixels: of the side of what comes out, however many cells there are.
        cached_background: whether grid and walls, which do not move, are drawn once a board instead of each time.
    """

    def __init__(self, cell_pixels: int, picture_pixels: int, cached_background: bool) -> None:
        self._cell = cell_pixels
        self._picture_pixels = picture_pixels
        self._is_cached = cached_background
        self._kept: tuple[Board, Image.Image] | None = None

    @profile_function("env_rgb_observation_generation", track_memory=True)
    def observe(self, puzzle: Puzzle) -> Picture:
        """Return the puzzle as the network sees it: bytes of red, green and blue, channels first."""
        drawn = self._draw(puzzle)
        with profile("env_rgb_resizing"):
            side = self._picture_pixels
            small = drawn.resize((side, side), Image.Resampling.BILINEAR)
        return np.ascontiguousarray(np.asarray(small, np.uint8).transpose(2, 0, 1))

    @profile_function("env_rgb_rendering", track_memory=True)
    def _draw(self, puzzle: Puzzle) -> Image.Image:
        image = self._background(puzzle.board)
        draw = ImageDraw.Draw(image)
        with profile("env_rgb_draw_target"):
            draw.polygon(self._star(puzzle.target), fill=ROBOTS[0], outline=WALLS)
        with profile("env_rgb_draw_robots"):
            for robot, colour in zip(puzzle.robots, ROBOTS, strict=False):
                draw.ellipse(self._box(robot, inset=0.18), fill=colour, outline=WALLS)
        return image

    def _background(self, board: Board) -> Image.Image:
        """Return a picture of the board alone, to be drawn on."""
        if not self._is_cached:
            return self._draw_background(board)
        if self._kept is None or self._kept[0] is not board:
            self._kept = (board, self._draw_background(board))
        return self._kept[1].copy()

    def _draw_background(self, board: Board) -> Image.Image:
        side = board.size * self._cell + 1
        image = Image.new("RGB", (side, side), FLOOR)
        draw = ImageDraw.Draw(image)
        with profile("env_rgb_draw_grid"):
            for at in range(0, side, self._cell):
                draw.line((at, 0, at, side), fill=LINES)
                draw.line((0, at, side, at), fill=LINES)
        with profile("env_rgb_draw_walls"):
            thick = max(1, self._cell // 8)
            draw.rectangle((0, 0, side - 1, side - 1), outline=WALLS, width=thick)
            for (row, column), below in board.walls:
                right, bottom = (column + 1) * self._cell, (row + 1) * self._cell
                start = (right - self._cell, bottom) if below else (right, bottom - self._cell)
                draw.line((*start, right, bottom), fill=WALLS, width=thick)
        return image

    def _box(self, cell: Cell, inset: float) -> tuple[float, float, float, float]:
        top, left = cell.row * self._cell, cell.column * self._cell
        gap = inset * self._cell
        return left + gap, top + gap, left + self._cell - gap, top + self._cell - gap

    def _star(self, cell: Cell) -> list[tuple[float, float]]:
        """Return the corners of a star of five points in the cell, from its top round."""
        middle_x, middle_y = (cell.column + 0.5) * self._cell, (cell.row + 0.5) * self._cell
        corners = []
        for at in range(10):
            radius = self._cell * (0.42 if at % 2 == 0 else 0.18)
            angle = math.pi * at / 5
            corners.append((middle_x + radius * math.sin(angle), middle_y - radius * math.cos(angle)))
        return corners
