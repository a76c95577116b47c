import numpy as np
import pytest
from parallel_trainer.trainer import AgentProcessor, Episode

from support.workloads.trainer_steps import make_step


def test_a_trajectory_is_whole_when_it_is_as_long_as_they_get():
    processor = AgentProcessor(horizon=3)
    trajectories = [processor.add(make_step(number)) for number in range(7)]
    assert [trajectory is not None for trajectory in trajectories] == [False, False, True] * 2 + [False]
    second = trajectories[5]
    assert second.observations[:, 0].tolist() == [3.0, 4.0, 5.0]
    assert second.actions[:, 0].tolist() == [-3.0, -4.0, -5.0]
    assert second.log_probs.tolist() == [-3.0, -4.0, -5.0]
    assert second.rewards.tolist() == [3.0, 4.0, 5.0]
    assert second.next_obs.tolist() == [6.0, 6.0]
    assert (second.steps, second.terminated, second.episode) == (3, False, None)


@pytest.mark.parametrize(("how", "terminated"), [("terminated", True), ("truncated", False)])
def test_the_end_of_an_episode_ends_a_trajectory_which_sees_its_end_and_not_the_next_ones_beginning(
    how, terminated
):
    processor = AgentProcessor(horizon=3)
    for number in range(4):
        processor.add(make_step(number))
    last = processor.add(make_step(4, ended=how))
    assert last.rewards.tolist() == [3.0, 4.0]
    assert last.next_obs.tolist() == [5.0, 5.0]
    assert last.terminated == terminated
    # The whole episode, the trajectory before included.
    assert last.episode == Episode(0.0 + 1.0 + 2.0 + 3.0 + 4.0, 5)
    assert processor.episodes == [last.episode]
    processor.add(make_step(10))
    assert processor.add(make_step(11, ended=how)).episode == Episode(21.0, 2)


def test_the_agents_of_several_workers_are_kept_apart():
    processor = AgentProcessor(horizon=2)
    order = [(0, 0), (1, 10), (1, 11), (0, 1)]
    trajectories = [processor.add(make_step(number, worker)) for worker, number in order]
    assert [trajectory and trajectory.rewards.tolist() for trajectory in trajectories] == [
        None,
        None,
        [10.0, 11.0],
        [0.0, 1.0],
    ]
    assert all(np.isfinite(trajectory.observations).all() for trajectory in trajectories[2:])
