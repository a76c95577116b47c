"""The thread that keeps the queue filled: it observes, predicts and merges whenever few actions are left."""

from __future__ import annotations

import threading
import time

import ticktree

from .aloha_robot import AlohaRobot
from .chunks import ChunkSource

POLL_S = 0.005  # how often it looks whether few actions are left


class InferenceThread(threading.Thread):
    """Makes chunks until it is ended. `sensed_at` is when the newest chunk's observation was made.

    Args:
        robot: which it observes; the camera's pictures are taken by this thread.
        source: of the chunks.
        refill_at: it makes the next chunk when so few actions are left, or fewer.
    """

    def __init__(self, robot: AlohaRobot, source: ChunkSource, refill_at: int) -> None:
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
