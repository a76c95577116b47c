"""The control loop: an action from the queue to the robot, thirty times a second, independent of inference."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from lerobot.policies.rtc.action_queue import ActionQueue

import ticktree

from .aloha_robot import AlohaRobot
from .inference import InferenceThread

LOOP = "control"


@dataclass(slots=True)
class Course:
    """How a run went.

    Attributes:
        ticks: of the control loop, all.
        before_first: of them, without an action because there had not been a chunk yet.
        starved: of them, without an action because the queue had run dry. The robot stays where it is.
    """

    ticks: int = 0
    before_first: int = 0
    starved: int = 0


def control(
    robot: AlohaRobot, queue: ActionQueue, inference: InferenceThread, fps: float, ticks: int
) -> Course:
    """Execute actions for so many ticks.

    Raises:
        RuntimeError: the inference thread ended with an error, which is its cause.
    """
    course = Course()
    names = list(robot.action_features)
    loop = ticktree.loop(LOOP, range(ticks), hz=fps, pace=True)
    for _ in loop:
        if inference.error is not None:
            raise RuntimeError("inference failed") from inference.error
        course.ticks += 1
        ticktree.stage("take action")
        action: torch.Tensor | None = queue.get()
        if action is None:
            if inference.sensed_at is None:
                course.before_first += 1
            else:
                course.starved += 1
            continue
        ticktree.stage("act")
        robot.send_action(dict(zip(names, action.tolist(), strict=True)))
        if inference.sensed_at is not None:
            loop.origin(inference.sensed_at)
            loop.acted()
    return course
