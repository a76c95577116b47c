"""The two threads: one predicts chunks of actions into lerobot's queue, one executes them at 30 Hz."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from lerobot.policies.rtc.action_queue import ActionQueue
from lerobot.policies.rtc.latency_tracker import LatencyTracker

import ticktree

from .aloha import CAMERA, JOINTS, Aloha
from .policy import PICTURE_KEY, STATE_KEY, Policy, delay_in_actions

Observation = dict[str, Any]


class DelayEstimate(Protocol):
    """How long inference will take, in seconds, estimated from how long it took."""

    def __call__(self, latencies: LatencyTracker) -> float:
        """Return the estimate."""
        ...


def all_time_maximum(latencies: LatencyTracker) -> float:
    """What lerobot's example asks for: it never forgets the slowest, which is the first."""
    return float(latencies.max())


def recent_p95(latencies: LatencyTracker) -> float:
    """Of the latencies still in the tracker's window."""
    return float(latencies.p95())


@dataclass(frozen=True, slots=True)
class Prediction:
    """A chunk before it is in the queue.

    Attributes:
        original: actions as the policy gives them: what the next chunk is guided by.
        processed: actions as the robot takes them.
    """

    original: torch.Tensor
    processed: torch.Tensor


def predict(policy: Policy, observation: Observation, task: str, **guided_by: Any) -> Prediction:
    """Turn an observation into a chunk, in the three steps that users of such loops time."""
    with ticktree.section("get_actions.preprocessing"):
        batch = policy.preprocessor(_batch(observation, task))
    with ticktree.section("get_actions.policy_inference"):
        actions = policy.model.predict_action_chunk(batch, **guided_by)
    with ticktree.section("get_actions.postprocessing"):
        original = actions.squeeze(0).clone()
        processed = policy.postprocessor(actions).squeeze(0)
    return Prediction(original, processed)


class ChunkSource:
    """Fills a queue with chunks.

    Args:
        policy: which predicts.
        queue: lerobot's, which they go into.
        task: the robot's task.
        fps: how many actions are executed a second.
        estimate: of the delay of the chunk to come.
    """

    def __init__(
        self, policy: Policy, queue: ActionQueue, task: str, fps: float, estimate: DelayEstimate
    ) -> None:
        self.queue = queue
        self._policy = policy
        self._task = task
        self._fps = fps
        self._estimate = estimate
        self._latencies = LatencyTracker(maxlen=20)

    def next_chunk(self, observation: Observation, began: float) -> int:
        """Predict a chunk from `observation` and merge it; return how many of its actions came too late.

        Args:
            observation: the robot's, as it returned it.
            began: when making this chunk began, on the clock of `time.perf_counter`: the observation is part of it.
        """
        before = self.queue.get_action_index()
        left_over = self.queue.get_left_over()
        estimated = delay_in_actions(self._estimate(self._latencies), self._fps)
        chunk = predict(
            self._policy, observation, self._task, inference_delay=estimated, prev_chunk_left_over=left_over
        )
        with ticktree.section("get_actions.action_queue_merge"):
            latency = time.perf_counter() - began
            delay = min(delay_in_actions(latency, self._fps), len(chunk.processed) - 1)
            executed = self.queue.get_action_index() - before
            # The index is not given: the queue would log each difference, which the gauges below keep.
            self.queue.merge(chunk.original, chunk.processed, delay, None)
        self._latencies.add(latency)
        ticktree.gauge("chunk latency, ms", 1000 * latency)
        ticktree.gauge("delay estimated, actions", estimated)
        ticktree.gauge("delay real, actions", executed)
        ticktree.gauge("delay overestimated, actions", max(0, estimated - executed))
        return delay


def _batch(observation: Observation, task: str) -> dict[str, Any]:
    """What lerobot's processors take: named tensors, the picture as floats of 0 to 1, channels first."""
    state = np.array([observation[f"{joint}.pos"] for joint in JOINTS], dtype=np.float32)
    picture = torch.from_numpy(observation[CAMERA]).permute(2, 0, 1).float().div_(255)
    return {STATE_KEY: torch.from_numpy(state), PICTURE_KEY: picture.contiguous(), "task": task}


POLL_S = 0.005  # how often it looks whether few actions are left


class InferenceThread(threading.Thread):
    """Makes chunks until it is ended. `sensed_at` is when the newest chunk's observation was made.

    Args:
        robot: which it observes; the camera's pictures are taken by this thread.
        source: of the chunks.
        refill_at: it makes the next chunk when so few actions are left, or fewer.
    """

    def __init__(self, robot: Aloha, source: ChunkSource, refill_at: int) -> None:
        super().__init__(name="inference", daemon=True)
        self.sensed_at: float | None = None
        self.error: BaseException | None = None
        self._robot = robot
        self._source = source
        self._refill_at = refill_at
        self._ended = threading.Event()

    def run(self) -> None:
        """Make chunks; an error is kept for the caller, and ends it."""
        ticktree.role("inference")
        try:
            for _ in ticktree.loop("get_actions"):
                with ticktree.section("wait for room", wait=True):
                    if not self._room():
                        break
                self._chunk()
        except BaseException as error:
            self.error = error
        finally:
            self._robot.close_camera()

    def end(self) -> None:
        """Let the chunk that is being made be the last."""
        self._ended.set()
        if self.is_alive():
            self.join()

    def _chunk(self) -> None:
        began = time.perf_counter()
        observation = self._robot.get_observation()
        sensed_at = self._robot.sensed_at
        self._source.next_chunk(observation, began)
        # An action taken between the merge and this line is dated with the chunk before: one of fifty, at most.
        self.sensed_at = sensed_at

    def _room(self) -> bool:
        """Wait until few actions are left; False where it ended before."""
        while self._source.queue.qsize() > self._refill_at:
            if self._ended.wait(POLL_S):
                return False
        return not self._ended.is_set()


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


def control(robot: Aloha, queue: ActionQueue, inference: InferenceThread, fps: float, ticks: int) -> Course:
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
