import math

import numpy as np
import pytest
from rest_racing.env import (
    FEATURES,
    LOOKAHEAD,
    MEASURED,
    OWN_FEATURES,
    STOCK,
    Car,
    FeatureExtractor,
    make_cars,
)
from rest_racing.policies import HISTORY, IMAGE_SIZE, IMAGE_STACK, WINDOW, ObsHistory, downsample, expert

OFFSET, HEADING = 12, 13


def raw(x=0.0, y=0.0, vx=0.0, vy=10.0, angle=0.0, yaw_rate=0.0):
    return {
        "position": [x, y],
        "velocity": [vx, vy],
        "angle": angle,
        "angular_velocity": yaw_rate,
        "wheel_speeds": [20.0] * 4,
        "steering": 0.1,
    }


def straight(points=40):
    """A road to the north."""
    return [[0.0, 3.5 * index] for index in range(points)]


def test_on_the_middle_of_a_straight_road_there_is_nothing_to_steer_for():
    features = FeatureExtractor(straight(), 5).compute(raw(), None)
    assert features.shape == (FEATURES,)
    assert (features[OFFSET], features[HEADING]) == (0.0, 0.0)
    assert np.allclose(features[OWN_FEATURES + 2 * LOOKAHEAD :], 0.0)
    assert list(features[MEASURED]) == [10.0, 0.0]


@pytest.mark.parametrize("side", [-2.0, 2.0])
def test_a_car_beside_the_middle_sees_it_on_the_other_side_and_the_expert_steers_there(side):
    features = FeatureExtractor(straight(), 5).compute(raw(x=side), None)
    assert features[OFFSET] == pytest.approx(-side)
    assert math.copysign(1.0, expert(features, STOCK).steer) == math.copysign(1.0, -side)


def test_all_is_seen_from_the_driver_s_seat():
    """Road and car turned together look the same."""
    turn = 0.7
    cos, sin = math.cos(turn), math.sin(turn)
    course = [[cos * x - sin * y, sin * x + cos * y] for x, y in straight()]
    before = FeatureExtractor(straight(), 5).compute(raw(x=1.0), None)
    rotated = raw(x=cos, y=sin, vx=-sin * 10.0, vy=cos * 10.0, angle=turn)
    assert np.allclose(FeatureExtractor(course, 5).compute(rotated, None), before)


def test_acceleration_is_what_was_gained_since_the_observation_before():
    features = FeatureExtractor(straight(), 5)
    before = features.compute(raw(vy=10.0), None)
    assert features.compute(raw(vy=11.0), before)[9] == pytest.approx(1.0 / (5 * 0.02))
    assert before[9] == 0.0


def test_the_expert_asks_less_of_a_car_that_answers_more():
    features = FeatureExtractor(straight(), 5).compute(raw(x=1.0), None)
    assert abs(expert(features, Car(1.4, 1.0)).steer) < abs(expert(features, Car(0.7, 1.0)).steer)


def test_the_first_cars_of_a_garage_are_the_same_however_many_there_are():
    assert make_cars(19, 3)[:5] == make_cars(5, 3)
    assert make_cars(5, 3) != make_cars(5, 4)


def test_what_was_seen_first_was_there_before_and_the_newest_comes_last():
    history = ObsHistory()
    for value in (1.0, 2.0):
        history.add(np.full(FEATURES, value), np.full((96, 96, 3), 100 * int(value), np.uint8))
    assert history.window.shape == (WINDOW,)
    assert list(history.window[::FEATURES]) == [1.0] * (HISTORY - 1) + [2.0]
    assert history.images.shape == (IMAGE_STACK, IMAGE_SIZE, IMAGE_SIZE)
    assert history.images[1].mean() == pytest.approx(200 / 255, rel=1e-3)


def test_a_small_picture_is_the_mean_of_squares():
    image = np.zeros((96, 96, 3), np.uint8)
    image[:4, :2] = 255
    assert downsample(image)[0, 0] == pytest.approx(0.5, rel=1e-3)
    assert downsample(image).sum() == pytest.approx(0.5, rel=1e-3)
