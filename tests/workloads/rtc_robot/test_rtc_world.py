from __future__ import annotations

import numpy as np
import pytest
from rtc_robot.aloha import CAMERA, JOINTS, Aloha, AlohaCamera, AlohaConfig, AlohaWorld


def test_the_arms_go_where_they_are_sent():
    world = AlohaWorld()
    wanted = world.home.copy()
    wanted[0] += 0.3
    wanted[6] = 0.5
    assert world.command(wanted) == pytest.approx(wanted)
    world.advance(2.0)
    assert world.joints() == pytest.approx(wanted, abs=0.05)
    assert abs(world.joints()[0] - world.home[0]) > 0.25


def test_what_is_out_of_reach_is_clipped_and_told():
    world = AlohaWorld()
    sent = world.command(np.full(len(JOINTS), 9.0))
    assert sent[1] == pytest.approx(1.25664)  # the shoulder's end
    assert sent[6] < 1.0  # the actuator opens a gripper a little less than its joint could


def test_a_robot_left_alone_stays_about_where_it_is():
    world = AlohaWorld()
    world.advance(1.0)
    assert world.joints() == pytest.approx(world.home, abs=0.1)


def test_the_camera_sees_the_red_cube_and_the_world_goes_on():
    world = AlohaWorld()
    camera = AlohaCamera(world, 160, 120)
    try:
        before = camera.read()
        assert before.shape == (120, 160, 3)
        red = (before[..., 0] > 150) & (before[..., 1] < 90)
        assert 3 < red.sum() < 300
        moved = world.home
        moved[0] += 1.0
        world.command(moved)
        world.advance(1.0)
        after = camera.read()
    finally:
        camera.close()
    assert np.abs(after.astype(int) - before).max() > 50


def test_the_robot_speaks_lerobots_interface(tmp_path):
    robot = Aloha(AlohaConfig(calibration_dir=tmp_path, width=64, height=48))
    assert not robot.is_connected
    with robot:
        assert robot.is_connected
        assert robot.is_calibrated
        observation = robot.get_observation()
        sent = robot.send_action({name: observation[name] for name in robot.action_features})
        robot.close_camera()
    assert not robot.is_connected
    assert set(observation) == set(robot.observation_features)
    assert observation[CAMERA].shape == robot.observation_features[CAMERA] == (48, 64, 3)
    assert set(sent) == set(robot.action_features)
    assert robot.sensed_at > 0
