"""A robot arm follows a ball that it observes through a camera: a control loop of 100 ticks per second.

Everything is simulated, but all numbers are computed. Three problems are planted for a profile to show:

- `resize` shrinks each picture pixel by pixel in Python, although `picture[::2, ::2]` would suffice;
- once, half way, `send` waits for an answer that comes far too late, and the loop misses ticks;
- the camera is a thread: its time is concurrent to the loop's, and both share one interpreter.
"""

from __future__ import annotations

import argparse
import math
import threading
import time

import numpy as np
from numpy.typing import NDArray

import ticktree

HZ = 100
CAMERA_HZ = 50
PIXELS = 192
VIEW_M = 2.0  # side of the camera's view: a square with the arm's shoulder in the middle
LINKS_M = (0.5, 0.4)
STALL_S = 0.045

Array = NDArray[np.float64]


def ball_position(now_s: float) -> Array:
    """Return the position of the ball, in metres: on a flat figure of eight."""
    return np.array([0.6 * math.cos(0.9 * now_s), 0.3 * math.sin(1.8 * now_s) + 0.25])


class Camera(threading.Thread):
    """Takes pictures, and stores the last one with its time."""

    def __init__(self) -> None:
        super().__init__(name="camera", daemon=True)
        self.noise = np.random.default_rng(0)
        self.axis = np.linspace(-VIEW_M / 2, VIEW_M / 2, PIXELS)
        self.stopped = threading.Event()
        self.latest = self.take_picture(0.0), 0.0

    def run(self) -> None:
        """Take pictures until it is stopped."""
        started_s = time.monotonic()
        while not self.stopped.wait(1 / CAMERA_HZ):
            with ticktree.section("camera"):
                taken_s = time.monotonic() - started_s
                self.latest = self.take_picture(taken_s), taken_s

    def take_picture(self, now_s: float) -> Array:
        """Return the picture of a moment: a bright spot in the dark, and noise."""
        x, y = ball_position(now_s)
        with ticktree.section("expose") as section:
            picture = np.exp(-((self.axis - x) ** 2) / 0.01) * np.exp(-((self.axis - y) ** 2) / 0.01)[:, None]
            section.work(items=picture.size)
        with ticktree.section("noise"):
            return np.asarray(picture + self.noise.normal(0.0, 0.02, picture.shape))


class Arm:
    """Two joints that turn at the commanded speeds."""

    def __init__(self) -> None:
        self.angles = np.array([0.4, 0.6])

    def hand_position(self) -> Array:
        """Return the position of the hand, in metres."""
        upper, lower = LINKS_M
        shoulder_angle, total = self.angles[0], self.angles.sum()
        x = upper * math.cos(shoulder_angle) + lower * math.cos(total)
        return np.array([x, upper * math.sin(shoulder_angle) + lower * math.sin(total)])

    def jacobian(self) -> Array:
        """Return the derivative of the hand's position by the angles: one column per joint."""
        upper, lower = LINKS_M
        shoulder_angle, total = self.angles[0], self.angles.sum()
        elbow_column = np.array([-lower * math.sin(total), lower * math.cos(total)])
        shoulder = elbow_column + np.array(
            [-upper * math.sin(shoulder_angle), upper * math.cos(shoulder_angle)]
        )
        return np.stack([shoulder, elbow_column], axis=1)

    def send(self, speeds: Array, stall: bool) -> None:
        """Turn the joints for one tick."""
        self.angles = self.angles + np.clip(speeds, -6.0, 6.0) / HZ
        if stall:
            with ticktree.section("wait for an answer"):
                time.sleep(STALL_S)


def shrink(picture: Array) -> Array:
    """Return the picture with half as many pixels in both directions."""
    half = PIXELS // 2
    return np.array([[float(picture[2 * row, 2 * column]) for column in range(half)] for row in range(half)])


def find_ball(picture: Array) -> Array:
    """Return the centre of the bright pixels, in metres."""
    bright = np.where(picture > 0.2, picture, 0.0)
    axis = np.linspace(-VIEW_M / 2, VIEW_M / 2, len(picture))
    moments = np.array([bright.sum(axis=0) @ axis, bright.sum(axis=1) @ axis])
    return moments / max(float(bright.sum()), 1e-9)


@ticktree.timed("plan")
def plan(arm: Arm, target: Array) -> Array:
    """Return joint speeds that bring the hand nearer to the target; damped, so that a stretched arm stays calm."""
    jacobian = arm.jacobian()
    damped = jacobian @ jacobian.T + 0.01 * np.eye(2)
    return np.asarray(jacobian.T @ np.linalg.solve(damped, 12.0 * (target - arm.hand_position())))


def follow(seconds: float) -> float:
    """Follow the ball, and return the mean distance of the hand from it, in metres."""
    camera, arm = Camera(), Arm()
    camera.start()
    started_s = time.monotonic()
    ticks = round(seconds * HZ)
    distance = 0.0
    for tick in ticktree.loop("control", range(ticks), hz=HZ, pace=True):
        ticktree.stage("observe")
        picture, taken_s = camera.latest
        with ticktree.section("resize") as section:
            picture_small = shrink(picture)
            section.work(items=picture_small.size, bytes=picture_small.nbytes)
        with ticktree.section("find the ball"):
            target = find_ball(picture_small)
        ticktree.stage("decide")
        speeds = plan(arm, target)
        ticktree.stage("send")
        arm.send(speeds, stall=tick == ticks // 2)
        error_m = float(np.linalg.norm(target - arm.hand_position()))
        ticktree.gauge("distance, cm", 100 * error_m)
        ticktree.gauge("age of the picture, ms", 1000 * (time.monotonic() - started_s - taken_s))
        distance += error_m
    camera.stopped.set()
    camera.join()
    return distance / max(1, ticks)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="An arm follows a ball.")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long (default: %(default)s)")
    distance = follow(parser.parse_args().seconds)
    print(f"The hand was {100 * distance:.1f} cm from the ball on average.")


if __name__ == "__main__":
    main()
