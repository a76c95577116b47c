from __future__ import annotations

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from rgb_convlstm.env import MODES, EnvConfig, RicochetEnv
from rgb_convlstm.puzzle import Cell, Direction

from support.workloads.ricochet_puzzles import small_puzzle

SMALL = EnvConfig(size=4, robots=2, episode_moves=3, picture_pixels=32)


def begin_episode(config=SMALL):
    environment = RicochetEnv(config)
    environment.reset(seed=0, options={"puzzle": small_puzzle()})
    return environment


def action(robot, direction):
    return robot * 4 + direction


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_it_is_an_environment_as_gymnasium_wants_them(mode):
    check_env(RicochetEnv(SMALL._replace(obs_mode=mode)), skip_render_check=True)


def test_an_episode_ends_when_the_first_robot_stops_at_the_target():
    observation, reward, is_done, cut, info = begin_episode().step(action(0, Direction.RIGHT))
    assert (reward, is_done, cut, info["solved"]) == (1.0, True, False, True)
    assert observation.shape == (3, 32, 32)


def test_another_robot_moves_and_solves_nothing():
    environment = begin_episode()
    before, _ = environment.reset(options={"puzzle": small_puzzle()})
    after, reward, is_done, _, info = environment.step(action(1, Direction.LEFT))
    assert (reward, is_done, info["solved"]) == (-0.02, False, False)
    assert (before != after).any()
    assert environment._puzzle.robots == (Cell(0, 0), Cell(3, 0))


def test_moves_run_out():
    environment = begin_episode()
    ends = [environment.step(action(1, Direction.UP))[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]


def test_the_same_seed_and_actions_give_the_same_pictures():
    def pictures():
        environment = RicochetEnv(SMALL)
        observations = [environment.reset(seed=3)[0]]
        observations += [environment.step(move)[0] for move in (0, 5, 2)]
        return np.stack(observations)

    assert (pictures() == pictures()).all()


@pytest.mark.parametrize("config", [EnvConfig(robots=7), EnvConfig(robots=0), EnvConfig(obs_mode="text")])
def test_what_cannot_be_is_refused(config):
    with pytest.raises(ValueError):
        RicochetEnv(config)
