from __future__ import annotations

import numpy as np
import pytest
from rgb_convlstm.env import FLOOR, LINES, ROBOTS, WALLS, Painter, draw_planes
from rgb_convlstm.puzzle import Cell

import ticktree
from support.workloads.ricochet_puzzles import small_puzzle
from ticktree.compat.profiling import get_profiler
from ticktree.session import current

CELL = 16


def painter(cached=False, pixels=4 * CELL + 1):
    return Painter(CELL, pixels, cached)


def pixel_at(picture, cell, down=0.5, right=0.5):
    return tuple(picture[:, int((cell.row + down) * CELL), int((cell.column + right) * CELL)])


def test_robots_target_and_walls_are_where_they_belong():
    picture = painter().observe(small_puzzle())
    assert pixel_at(picture, Cell(0, 0)) == ROBOTS[0]
    assert pixel_at(picture, Cell(3, 3)) == ROBOTS[1]
    assert pixel_at(picture, Cell(0, 1)) == ROBOTS[0]  # the target, in the colour of who has to go there
    assert pixel_at(picture, Cell(1, 1)) == FLOOR
    assert pixel_at(picture, Cell(0, 2), right=0) == WALLS
    assert pixel_at(picture, Cell(3, 3), down=0) == WALLS
    assert pixel_at(picture, Cell(2, 2), right=0) == LINES
    assert pixel_at(picture, Cell(2, 0), right=0) == WALLS  # around the board


def test_the_picture_has_the_side_that_is_asked_for_and_its_channels_first():
    picture = painter(pixels=32).observe(small_puzzle())
    assert (picture.shape, picture.dtype) == ((3, 32, 32), np.uint8)
    assert picture.flags.c_contiguous


def test_a_cached_background_gives_the_same_pixels_also_when_robots_move_and_boards_change():
    always, once = painter(), painter(cached=True)
    first, second = small_puzzle(), small_puzzle(walls=())
    after_move = first._replace(robots=(Cell(2, 2), Cell(3, 3)))
    for puzzle in (first, after_move, first, second, first):
        assert (always.observe(puzzle) == once.observe(puzzle)).all()


@pytest.mark.parametrize(("cached", "drawn"), [(False, 5), (True, 1)])
def test_a_cached_background_is_drawn_once_a_board(cached, drawn):
    profiler = get_profiler()
    profiler.enable()
    profiler.reset()
    try:
        drawing, puzzle = painter(cached), small_puzzle()
        for _ in range(5):
            drawing.observe(puzzle)
        rendering = ticktree.snapshot().root.at("env_rgb_observation_generation/env_rgb_rendering")
    finally:
        profiler.reset()
        profiler.disable()
        current.disable()
    counts = {child.name: child.count for child in rendering.children.values()}
    assert counts == {
        "env_rgb_draw_grid": drawn,
        "env_rgb_draw_walls": drawn,
        "env_rgb_draw_target": 5,
        "env_rgb_draw_robots": 5,
    }


def test_planes_tell_the_first_robot_from_the_others_and_walls_by_their_side():
    planes = draw_planes(small_puzzle())
    places = [{tuple(map(int, place)) for place in np.argwhere(plane)} for plane in planes]
    assert places == [{(0, 0)}, {(3, 3)}, {(0, 1)}, {(0, 1)}, {(2, 3)}]
