"""The control step that `step.py` measures: a two-joint arm reaches for a target, with a policy and physics.

About forty microseconds on the machine it was written on, spent in numpy and a few hundred small calls: the
mix of a real control loop, and short enough that a profiler shows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

SUBSTEPS = 19
DT = 0.02 / SUBSTEPS
MAX_TORQUE = 4.0
MAX_SPEED = 12.0
MAX_ANGLE = math.pi
HIDDEN = 32


class Joint:
    """One revolute joint with friction, an end stop and a limit on its speed."""

    __slots__ = ("angle", "damping", "inertia", "speed")

    def __init__(self, inertia: float, damping: float) -> None:
        self.inertia = inertia
        self.damping = damping
        self.angle = 0.0
        self.speed = 0.0

    def friction(self) -> float:
        """Torque against the movement, newton metres."""
        return self.damping * self.speed

    def accelerate(self, torque: float) -> None:
        """One substep of the speed."""
        self.speed = clamp(self.speed + DT * (torque - self.friction()) / self.inertia, MAX_SPEED)

    def turn(self) -> None:
        """One substep of the angle."""
        self.angle = clamp(self.angle + DT * self.speed, MAX_ANGLE)


class Arm:
    """The arm, its policy (a fixed random two-layer network) and its score."""

    def __init__(self, seed: int = 7) -> None:
        draw = np.random.default_rng(seed)
        self.joints = (Joint(1.2, 0.4), Joint(0.5, 0.2))
        self.first = draw.normal(0.0, 0.5, (HIDDEN, 6))
        self.second = draw.normal(0.0, 0.5, (2, HIDDEN))
        self.scale = np.array([MAX_ANGLE, MAX_ANGLE, MAX_SPEED, MAX_SPEED, 2.0, 2.0])
        self.target = (0.8, -0.6)
        self.score = 0.0

    def reset(self) -> None:
        """Back to rest, so that every block of steps does the same work."""
        for joint in self.joints:
            joint.angle = joint.speed = 0.0
        self.score = 0.0

    def observe(self) -> Vector:
        """Angles, speeds and the way to the target, each scaled to about one."""
        x, y = self.hand()
        upper, lower = self.joints
        way = self.target[0] - x, self.target[1] - y
        observation = np.array([upper.angle, lower.angle, upper.speed, lower.speed, *way])
        scaled: Vector = np.clip(observation / self.scale, -1.0, 1.0)
        return scaled

    def decide(self, observation: Vector) -> Vector:
        """The policy's torques, from -1 to 1."""
        hidden = np.tanh(self.first @ observation)
        torques: Vector = np.tanh(self.second @ hidden)
        return torques

    def limit(self, action: Vector) -> list[float]:
        """Torques that the motors can give, in newton metres."""
        return [clamp(torque * MAX_TORQUE, MAX_TORQUE) for torque in action.tolist()]

    def simulate(self, torques: list[float]) -> None:
        """Twenty milliseconds of physics."""
        for _ in range(SUBSTEPS):
            for joint, torque in zip(self.joints, torques, strict=True):
                joint.accelerate(torque - self.gravity(joint))
                joint.turn()

    def judge(self) -> float:
        """A running mean of the distance to the target, in metres."""
        x, y = self.hand()
        distance = math.hypot(self.target[0] - x, self.target[1] - y)
        self.score += 0.01 * (distance - self.score)
        return self.score

    def hand(self) -> tuple[float, float]:
        """Where the hand is, in metres."""
        upper, lower = self.joints
        bend = upper.angle + lower.angle
        return math.cos(upper.angle) + math.cos(bend), math.sin(upper.angle) + math.sin(bend)

    def gravity(self, joint: Joint) -> float:
        """Torque of the arm's own weight, newton metres."""
        return 0.5 * joint.inertia * math.cos(joint.angle)


def clamp(value: float, limit: float) -> float:
    return max(-limit, min(limit, value))
