"""The environment: robots that slide until something stops them, one of which has to stop at the target."""

from __future__ import annotations

from typing import Any, NamedTuple, SupportsInt, TypeAlias

import gymnasium
import numpy as np
from gymnasium import spaces

from .board import Cell, Direction
from .painter import ROBOTS, Painter, Picture
from .planes import CHANNELS, planes
from .puzzle import Puzzle, make_puzzle

Info: TypeAlias = dict[str, Any]

MODES = ("rgb_image", "planes")
SOLVED_REWARD = 1.0
MOVE_REWARD = -0.02


class Rules(NamedTuple):
    """What may be chosen about the environment.

    Attributes:
        obs_mode: how the puzzle is seen: `rgb_image`, a picture, or `planes`, a plane for each kind of thing.
        size: cells a side.
        robots: how many, at most six.
        moves: how many the target is away at most.
        episode_moves: how many there are to solve it in.
        cell_pixels: of a cell's side as it is drawn.
        picture_pixels: of the picture's side when it was resized.
        cached_background: whether what does not move is drawn once a board.
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
        rules: of the game and of how it is seen.

    Raises:
        ValueError: there are more robots than colours, or a mode that is none.
    """

    def __init__(self, rules: Rules | None = None) -> None:
        self.rules = rules or Rules()
        if not 1 <= self.rules.robots <= len(ROBOTS):
            raise ValueError(f"1 to {len(ROBOTS)} robots, not {self.rules.robots}")
        if self.rules.obs_mode not in MODES:
            raise ValueError(f"obs_mode is one of {', '.join(MODES)}, not {self.rules.obs_mode!r}")
        shown = self.rules
        self._painter = Painter(shown.cell_pixels, shown.picture_pixels, shown.cached_background)
        side = shown.picture_pixels if shown.obs_mode == "rgb_image" else shown.size
        channels = 3 if shown.obs_mode == "rgb_image" else CHANNELS
        self.observation_space = spaces.Box(0, 255, (channels, side, side), np.uint8)
        self.action_space = spaces.Discrete(shown.robots * len(Direction))
        self._puzzle: Puzzle | None = None
        self._moves = 0

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Picture, Info]:
        """Begin another puzzle. `options={"puzzle": ...}` says which; otherwise it is drawn."""
        super().reset(seed=seed)
        rules = self.rules
        given = (options or {}).get("puzzle")
        self._puzzle = given or make_puzzle(rules.size, rules.robots, rules.moves, self.np_random)
        self._moves = 0
        return self._observe(self._puzzle), {}

    def step(self, action: SupportsInt) -> tuple[Picture, float, bool, bool, Info]:
        """Send a robot. The episode ends when the first robot stops at the target, or moves run out."""
        if self._puzzle is None:
            raise RuntimeError("step before the first reset")
        puzzle = self._puzzle = _moved(self._puzzle, *divmod(int(action), len(Direction)))
        self._moves += 1
        solved = puzzle.robots[0] == puzzle.target
        reward = SOLVED_REWARD if solved else MOVE_REWARD
        too_many = self._moves >= self.rules.episode_moves and not solved
        return self._observe(puzzle), reward, solved, too_many, {"solved": solved}

    def _observe(self, puzzle: Puzzle) -> Picture:
        return self._painter.observe(puzzle) if self.rules.obs_mode == "rgb_image" else planes(puzzle)


def _moved(puzzle: Puzzle, robot: int, direction: int) -> Puzzle:
    robots: list[Cell] = list(puzzle.robots)
    others = [*robots[:robot], *robots[robot + 1 :]]
    robots[robot] = puzzle.board.slide(robots[robot], Direction(direction), others)
    return puzzle._replace(robots=tuple(robots))
