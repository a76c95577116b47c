from __future__ import annotations

import numpy as np
import pytest
from gymnasium.envs.box2d.car_racing import CarRacing
from visual_sac.envs import GasBrake, TimedCarRacing, make_env


def _actions(count):
    return np.random.default_rng(5).uniform(-1.0, 1.0, (count, 2)).astype(np.float32)


def test_timed_car_racing_does_what_car_racing_does():
    plain, timed = GasBrake(CarRacing()), GasBrake(TimedCarRacing())
    first, second = plain.reset(seed=11)[0], timed.reset(seed=11)[0]
    np.testing.assert_array_equal(first, second)
    for action in _actions(25):
        first, second = plain.step(action), timed.step(action)
        np.testing.assert_array_equal(first[0], second[0])
        assert first[1:] == second[1:]


def test_observations_are_four_grey_frames_in_zero_to_one():
    environment = make_env(normalize=True)
    observation, _ = environment.reset(seed=1)
    assert observation.shape == environment.observation_space.shape == (4, 96, 96)
    assert observation.dtype == environment.observation_space.dtype == np.float32
    assert 0.0 <= observation.min() < observation.max() <= 1.0
    assert environment.observation_space.contains(observation)


def test_an_episode_begins_with_four_copies_and_the_oldest_frame_leaves_at_each_step():
    environment = make_env(normalize=False)
    before, _ = environment.reset(seed=1)
    assert all(np.array_equal(before[0], frame) for frame in before)
    for action in _actions(6):
        after = environment.step(action)[0]
        np.testing.assert_array_equal(after[:-1], before[1:])
        before = after


def test_bytes_and_floats_are_the_same_picture():
    floats, integers = make_env(normalize=True), make_env(normalize=False)
    observations = [environment.reset(seed=2)[0] for environment in (floats, integers)]
    assert observations[1].dtype == np.uint8
    np.testing.assert_allclose(observations[0], observations[1] / 255.0, atol=1e-6)


@pytest.mark.parametrize(("pedal", "gas", "brake"), [(0.5, 0.5, 0.0), (-0.25, 0.0, 0.25), (0.0, 0.0, 0.0)])
def test_one_pedal_is_gas_above_zero_and_brake_below(pedal, gas, brake):
    action = GasBrake(TimedCarRacing()).action(np.array([-1.0, pedal], np.float32))
    assert action.tolist() == [-1.0, gas, brake]


def test_an_episode_ends_after_a_thousand_steps_at_the_latest():
    environment = make_env(normalize=False)
    assert environment.get_wrapper_attr("_max_episode_steps") == 1000
