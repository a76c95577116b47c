"""The part of a trainer that is the same whatever it learns with: trajectories in, policies out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, Queue, SimpleQueue

import torch

import ticktree

from .policy import Weights
from .stats import StatsReporter
from .trajectory import Trajectory


class RLTrainer(ABC):
    """Takes trajectories from a queue, and puts the weights of a better policy into another.

    Args:
        behavior: What is learned, as gauges are named.
        backlog: Trajectories that may wait before whoever brings more has to wait, too; 0: any number.
        threaded: Whether `advance` runs in a thread of its own and may wait for trajectories.
    """

    def __init__(self, behavior: str, backlog: int, threaded: bool) -> None:
        self.step = 0  # steps taken in
        self.threaded = threaded
        self.ended = False  # whether the end of all trajectories has come
        self.trajectories: Queue[Trajectory | None] = Queue(backlog)  # None: no more will come
        self.policies: SimpleQueue[Weights] = SimpleQueue()
        self.stats = StatsReporter(behavior)

    def put(self, trajectory: Trajectory | None) -> None:
        """Bring a trajectory; waits while too many wait already."""
        with ticktree.section("trajectory_queue.put", wait=True):
            self.trajectories.put(trajectory)

    def advance(self) -> None:
        """Take in what has come, and learn if that is enough."""
        with ticktree.section("process_trajectory"):
            for trajectory in self._arrived():
                self.step += trajectory.steps
                self._process_trajectory(trajectory)
        if self._is_ready_update():
            with ticktree.section("_update_policy"):
                self.policies.put(self._update_policy())
            self.stats.write(self.step)

    def save_model(self, path: Path) -> None:
        """Write the weights."""
        self._checkpoint(path)

    @abstractmethod
    def weights(self) -> dict[str, Weights]:
        """Those of each network."""

    @abstractmethod
    def _process_trajectory(self, trajectory: Trajectory) -> None:
        """Work out what learning needs to know of it, and keep it."""

    @abstractmethod
    def _is_ready_update(self) -> bool:
        """Whether enough is kept."""

    @abstractmethod
    def _update_policy(self) -> Weights:
        """Learn from what is kept; return what the policy should act by from now on."""

    @ticktree.timed
    def _checkpoint(self, path: Path) -> None:
        torch.save(self.weights(), path)

    def _arrived(self) -> Iterator[Trajectory]:
        # No more than were there at first: an update must not be put off for as long as others keep coming.
        waiting = max(self.trajectories.qsize(), 1 if self.threaded else 0)
        for _ in range(waiting):
            trajectory = self._next()
            if trajectory is None:
                self.ended = True
                return
            yield trajectory

    def _next(self) -> Trajectory | None:
        try:
            return self.trajectories.get_nowait()
        except Empty:
            with ticktree.section("trajectory_queue.get", wait=True):
                return self.trajectories.get()
