"""The environment: a puzzle drawn as a picture or given as planes, and the robots that an action sends."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, SupportsInt, TypeAlias

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from ticktree.compat.profiling import profile, profile_function

from .puzzle import Board, Cell, Direction, Puzzle, make_puzzle

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
        self._cached_background: tuple[Board, Image.Image] | None = None

    @profile_function("env_rgb_observation_generation", track_memory=True)
    def observe(self, puzzle: Puzzle) -> Picture:
        """Return the puzzle as the network sees it: bytes of red, green and blue, channels first."""
        picture = self._draw(puzzle)
        with profile("env_rgb_resizing"):
            side = self._picture_pixels
            small = picture.resize((side, side), Image.Resampling.BILINEAR)
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
        if self._cached_background is None or self._cached_background[0] is not board:
            self._cached_background = (board, self._draw_background(board))
        return self._cached_background[1].copy()

    def _draw_background(self, board: Board) -> Image.Image:
        side = board.size * self._cell + 1
        image = Image.new("RGB", (side, side), FLOOR)
        draw = ImageDraw.Draw(image)
        with profile("env_rgb_draw_grid"):
            for offset in range(0, side, self._cell):
                draw.line((offset, 0, offset, side), fill=LINES)
                draw.line((0, offset, side, offset), fill=LINES)
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
        for point in range(10):
            radius = self._cell * (0.42 if point % 2 == 0 else 0.18)
            angle = math.pi * point / 5
            corners.append((middle_x + radius * math.sin(angle), middle_y - radius * math.cos(angle)))
        return corners


# The first robot, the others, the target, walls at the right and below.
PLANES = 5
SET = 255


def draw_planes(puzzle: Puzzle) -> NDArray[np.uint8]:
    """Return a plane for each kind of thing, one pixel per cell, channels first."""
    obs = np.zeros((PLANES, puzzle.board.size, puzzle.board.size), np.uint8)
    for robot, cell in enumerate(puzzle.robots):
        obs[min(robot, 1), cell.row, cell.column] = SET
    obs[2, puzzle.target.row, puzzle.target.column] = SET
    for (row, column), below in puzzle.board.walls:
        obs[4 if below else 3, row, column] = SET
    return obs


Info: TypeAlias = dict[str, Any]

MODES = ("rgb_image", "planes")
SOLVED_REWARD = 1.0
MOVE_REWARD = -0.02


class EnvConfig(NamedTuple):
    """The board, and how the agent observes it.

    Attributes:
        obs_mode: `rgb_image`, a picture, or `planes`, a plane for each kind of thing.
        size: cells per side.
        robots: at most six.
        moves: the most moves from the first robot to the target.
        episode_moves: an episode is truncated after this many.
        cell_pixels: side of a cell as it is drawn.
        picture_pixels: side of the resized picture.
        cached_background: draw grid and walls once per board.
    """

    obs_mode: str = "rgb_image"
    size: int = 16
    robots: int = 4
    moves: int = 3
    episode_moves: int = 32
    cell_pixels: int = 16
    picture_pixels: int = 64
    cached_background: bool = False


class RicochetEnv(gymnasium.Env[Picture, SupportsInt]):
    """An episode is a puzzle. An action sends a robot in a direction: `robot * 4 + direction`.

    Args:
        config: the board, and how the agent observes it.

    Raises:
        ValueError: more robots than colours, or an unknown `obs_mode`.
    """

    def __init__(self, config: EnvConfig | None = None) -> None:
        self.config = config = config or EnvConfig()
        if not 1 <= config.robots <= len(ROBOTS):
            raise ValueError(f"1 to {len(ROBOTS)} robots, not {config.robots}")
        if config.obs_mode not in MODES:
            raise ValueError(f"obs_mode is one of {', '.join(MODES)}, not {config.obs_mode!r}")
        self._painter = Painter(config.cell_pixels, config.picture_pixels, config.cached_background)
        side = config.picture_pixels if config.obs_mode == "rgb_image" else config.size
        channels = 3 if config.obs_mode == "rgb_image" else PLANES
        self.observation_space = spaces.Box(0, 255, (channels, side, side), np.uint8)
        self.action_space = spaces.Discrete(config.robots * len(Direction))
        self._puzzle: Puzzle | None = None
        self._moves = 0

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Picture, Info]:
        """Begin another puzzle. `options={"puzzle": ...}` says which; otherwise it is drawn."""
        super().reset(seed=seed)
        config = self.config
        self._puzzle = (options or {}).get("puzzle") or make_puzzle(
            config.size, config.robots, config.moves, self.np_random
        )
        self._moves = 0
        return self._obs(self._puzzle), {}

    def step(self, action: SupportsInt) -> tuple[Picture, float, bool, bool, Info]:
        """Send a robot. The episode ends when the first robot stops at the target, or moves run out."""
        if self._puzzle is None:
            raise RuntimeError("step before the first reset")
        puzzle = self._puzzle = _move(self._puzzle, *divmod(int(action), len(Direction)))
        self._moves += 1
        solved = puzzle.robots[0] == puzzle.target
        reward = SOLVED_REWARD if solved else MOVE_REWARD
        truncated = self._moves >= self.config.episode_moves and not solved
        return self._obs(puzzle), reward, solved, truncated, {"solved": solved}

    def _obs(self, puzzle: Puzzle) -> Picture:
        return self._painter.observe(puzzle) if self.config.obs_mode == "rgb_image" else draw_planes(puzzle)


def _move(puzzle: Puzzle, robot: int, direction: int) -> Puzzle:
    robots: list[Cell] = list(puzzle.robots)
    other_robots = [*robots[:robot], *robots[robot + 1 :]]
    robots[robot] = puzzle.board.slide(robots[robot], Direction(direction), other_robots)
    return puzzle._replace(robots=tuple(robots))
