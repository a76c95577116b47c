"""A robot arm follows a ball it sees through a camera: a control loop of 100 ticks a second.

Everything is simulated, but every number is worked for. Three things are planted for a profile to find:

- `resize` shrinks each picture pixel by pixel in Python, where `picture[::2, ::2]` would do;
- once, half way, `send` waits for an answer that comes far too late, and ticks are missed;
- the camera is a thread: its time is concurrent to the loop's, and the two share one interpreter.
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
VIEW_M = 2.0  # what the camera sees: a square of two metres, the arm's shoulder in the middle
LINKS_M = (0.5, 0.4)
STALL_S = 0.045

Array = NDArray[np.float64]


def ball(now_s: float) -> Array:
    """Where the ball is, in metres: on a flat figure of eight."""
    return np.array([0.6 * math.cos(0.9 * now_s), 0.3 * math.sin(1.8 * now_s) + 0.25])


class Camera(threading.Thread):
    """Takes pictures, and keeps the last one with the time it was taken at."""

    def __init__(self) -> None:
        super().__init__(name="camera", daemon=True)
        self.noise = np.random.default_rng(0)
        self.axis = np.linspace(-VIEW_M / 2, VIEW_M / 2, PIXELS)
        self.stopped = threading.Event()
        self.latest = self.shoot(0.0), 0.0

    def run(self) -> None:
        """Take pictures until it is stopped."""
        begun = time.monotonic()
        while not self.stopped.wait(1 / CAMERA_HZ):
            with ticktree.section("camera"):
                taken = time.monotonic() - begun
                self.latest = self.shoot(taken), taken

    def shoot(self, now_s: float) -> Array:
        """The picture of a moment: a bright spot in the dark, and noise."""
        x, y = ball(now_s)
        with ticktree.section("expose") as section:
            spot = np.exp(-((self.axis - x) ** 2) / 0.01) * np.exp(-((self.axis - y) ** 2) / 0.01)[:, None]
            section.work(items=spot.size)
        with ticktree.section("noise"):
            return np.asarray(spot + self.noise.normal(0.0, 0.02, spot.shape))


class Arm:
    """Two joints that turn at the commanded speed."""

    def __init__(self) -> None:
        self.angles = np.array([0.4, 0.6])

    def hand(self) -> Array:
        """Where the hand is, in metres."""
        upper, lower = LINKS_M
        first, both = self.angles[0], self.angles.sum()
        x = upper * math.cos(first) + lower * math.cos(both)
        return np.array([x, upper * math.sin(first) + lower * math.sin(both)])

    def jacobian(self) -> Array:
        """How the hand moves when the joints turn: a column a joint."""
        upper, lower = LINKS_M
        first, both = self.angles[0], self.angles.sum()
        elbow = np.array([-lower * math.sin(both), lower * math.cos(both)])
        shoulder = elbow + np.array([-upper * math.sin(first), upper * math.cos(first)])
        return np.stack([shoulder, elbow], axis=1)

    def send(self, speeds: Array, stall: bool) -> None:
        """Turn the joints for one tick."""
        self.angles = self.angles + np.clip(speeds, -6.0, 6.0) / HZ
        if stall:
            with ticktree.section("wait for an answer"):
                time.sleep(STALL_S)


def shrink(picture: Array) -> Array:
    """Half as many pixels each way."""
    half = PIXELS // 2
    return np.array([[float(picture[2 * row, 2 * column]) for column in range(half)] for row in range(half)])


def find_ball(picture: Array) -> Array:
    """The centre of what is bright, in metres."""
    bright = np.where(picture > 0.2, picture, 0.0)
    axis = np.linspace(-VIEW_M / 2, VIEW_M / 2, len(picture))
    moments = np.array([bright.sum(axis=0) @ axis, bright.sum(axis=1) @ axis])
    return moments / max(float(bright.sum()), 1e-9)


@ticktree.timed("plan")
def plan(arm: Arm, target: Array) -> Array:
    """Joint speeds that bring the hand nearer to the target; damped, so that a stretched arm stays calm."""
    turning = arm.jacobian()
    damped = turning @ turning.T + 0.01 * np.eye(2)
    return np.asarray(turning.T @ np.linalg.solve(damped, 12.0 * (target - arm.hand())))


def follow(seconds: float) -> float:
    """Follow the ball, and return how far from it the hand was on average, in metres."""
    camera, arm = Camera(), Arm()
    camera.start()
    begun = time.monotonic()
    ticks = round(seconds * HZ)
    distance = 0.0
    for tick in ticktree.loop("control", range(ticks), hz=HZ, pace=True):
        ticktree.stage("observe")
        picture, taken = camera.latest
        with ticktree.section("resize") as section:
            small = shrink(picture)
            section.work(items=small.size, bytes=small.nbytes)
        with ticktree.section("find the ball"):
            target = find_ball(small)
        ticktree.stage("decide")
        speeds = plan(arm, target)
        ticktree.stage("send")
        arm.send(speeds, stall=tick == ticks // 2)
        away = float(np.linalg.norm(target - arm.hand()))
        ticktree.gauge("distance, cm", 100 * away)
        ticktree.gauge("age of the picture, ms", 1000 * (time.monotonic() - begun - taken))
        distance += away
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
