from __future__ import annotations

import numpy as np
import pytest
from rgb_convlstm.puzzle import Board, Cell, Direction, Wall, make_puzzle

from support.workloads.ricochet_puzzles import WALLS


@pytest.mark.parametrize(
    ("start", "direction", "others", "stop"),
    [
        (Cell(1, 0), Direction.RIGHT, [], Cell(1, 3)),
        (Cell(0, 0), Direction.RIGHT, [], Cell(0, 1)),  # a wall from its left
        (Cell(0, 3), Direction.LEFT, [], Cell(0, 2)),  # from its right
        (Cell(0, 3), Direction.DOWN, [], Cell(2, 3)),  # from above
        (Cell(3, 3), Direction.UP, [], Cell(3, 3)),  # from below: it cannot move at all
        (Cell(1, 0), Direction.RIGHT, [Cell(1, 2)], Cell(1, 1)),  # another robot
        (Cell(1, 0), Direction.UP, [Cell(3, 0)], Cell(0, 0)),  # another robot, behind
    ],
)
def test_a_robot_slides_until_a_wall_or_another_robot_is_in_its_way(start, direction, others, stop):
    assert Board(4, WALLS).slide(start, direction, others) == stop


def test_a_wall_stops_from_both_sides_and_only_where_it_is():
    board = Board(4, [Wall(Cell(1, 1), below=True)])
    assert board.slide(Cell(0, 1), Direction.DOWN, []) == Cell(1, 1)
    assert board.slide(Cell(3, 1), Direction.UP, []) == Cell(2, 1)
    assert board.slide(Cell(0, 2), Direction.DOWN, []) == Cell(3, 2)


@pytest.mark.parametrize("seed", range(20))
def test_every_puzzle_can_be_solved_by_its_first_robot_in_so_many_moves(seed):
    puzzle = make_puzzle(6, 3, 2, np.random.default_rng(seed))
    board, (first, *others), target = puzzle
    assert target != first
    once = set(board.slides(first, others))
    twice = {there for here in once for there in board.slides(here, others)}
    assert target in once | twice
    assert len(set(puzzle.robots)) == 3


def test_the_same_seed_gives_the_same_puzzle():
    def drawn(seed):
        board, robots, target = make_puzzle(8, 4, 3, np.random.default_rng(seed))
        return board.walls, robots, target

    assert drawn(5) == drawn(5)
    assert drawn(5) != drawn(6)
