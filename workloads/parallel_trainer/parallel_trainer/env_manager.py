"""Many environments, each in a separate process, stepped by one policy."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import NamedTuple

import numpy as np

import ticktree

from .ppo import ActionInfo, TorchPolicy
from .worker import Connection, EnvSpec, Failure, Reply, Request, Reset, Step, StepResult, WorkerConfig, serve

START_METHODS = ("spawn", "fork", "forkserver")
JOIN_TIMEOUT_S = 5.0  # for a worker that should end


class WorkerError(Exception):
    """An environment process failed or has ended."""


class EnvManagerConfig(NamedTuple):
    """How many environments there are, and how they are stepped."""

    env_id: str
    workers: int
    steps: int  # in total
    seed: int = 0
    start_method: str = "spawn"
    lockstep: bool = False  # wait for every worker's step instead of the first's
    batched: bool = False  # choose the actions of all workers that are ready at once
    delays_ms: tuple[tuple[int, float], ...] = ()  # (worker, delay of each of its steps)


class EnvironmentStep(NamedTuple):
    """An action and its result."""

    action: ActionInfo
    result: StepResult


class EnvWorker:
    """The trainer's side of one environment process."""

    def __init__(self, number: int, process: BaseProcess, connection: Connection) -> None:
        self.number = number
        self.process = process
        self.connection = connection
        self.last: StepResult | None = None
        self.action: ActionInfo | None = None  # the action in progress

    def send(self, request: Request) -> None:
        """Send a request.

        Raises:
            WorkerError: The process is gone.
        """
        try:
            self.connection.send(request)
        except ConnectionError:
            raise self._dead_worker() from None

    def receive(self) -> EnvSpec | StepResult:
        """Wait for a reply.

        Raises:
            WorkerError: Its environment failed, or the process is gone.
        """
        try:
            reply: Reply = self.connection.recv()
        except (EOFError, ConnectionError):
            raise self._dead_worker() from None
        if isinstance(reply, Failure):
            raise WorkerError(f"env worker {self.number}: {reply.reason}")
        return reply

    def end(self) -> None:
        """Tell it to end, wait until it has, and make sure of it."""
        with suppress(OSError):  # it may have ended already
            self.connection.send(None)
        for stop in (self.process.terminate, self.process.kill):
            self.process.join(JOIN_TIMEOUT_S)
            if self.process.is_alive():
                stop()
        self.process.join()
        self.connection.close()
        self.process.close()

    def _dead_worker(self) -> WorkerError:
        self.process.join(JOIN_TIMEOUT_S)
        status = self.process.exitcode
        if status is not None and status < 0:
            return WorkerError(f"env worker {self.number} was killed by {signal.Signals(-status).name}")
        return WorkerError(f"env worker {self.number} ended with exit status {status}")


class SubprocessEnvManager:
    """Starts environment processes and steps them, each as soon as its last step is in."""

    def __init__(self, config: EnvManagerConfig) -> None:
        self.config = config
        self.policy: TorchPolicy | None = None  # must be set before the first step
        self._workers: list[EnvWorker] = []
        self._steps_sent = 0

    def start(self) -> EnvSpec:
        """Start the processes and return what the task looks like.

        Raises:
            WorkerError: One of them could not make its environment.
        """
        with ticktree.section("workers"):
            for number in range(self.config.workers):
                self._workers.append(self._start_worker(number))
            with ticktree.section("ready", wait=True):
                specs = [worker.receive() for worker in self._workers]
        assert isinstance(specs[0], EnvSpec)
        return specs[0]

    def reset(self) -> None:
        """Begin an episode in every environment, all at the same time."""
        for worker in self._workers:
            seed = np.random.SeedSequence([self.config.seed, worker.number]).generate_state(1)[0]
            worker.send(Reset(int(seed)))
        with ticktree.section("reset_wait", wait=True):
            for worker in self._workers:
                result = worker.receive()
                assert isinstance(result, StepResult)
                worker.last = result

    def get_steps(self) -> list[EnvironmentStep]:
        """Give every idle worker an action, and return the steps that are in, at least one, by worker.

        Without any only where all steps have been taken.
        """
        self._queue_steps()
        busy = [worker for worker in self._workers if worker.action is not None]
        if not busy:
            return []
        with ticktree.section("communicator.exchange"), ticktree.section("step_wait", wait=True):
            ready = busy if self.config.lockstep else self._ready(busy)
            return [self._receive_step(worker) for worker in ready]

    def close(self) -> None:
        """End every process, in any state."""
        with ticktree.section("SubprocessEnvManager.close"):
            while self._workers:
                self._workers.pop().end()

    def _start_worker(self, number: int) -> EnvWorker:
        context = multiprocessing.get_context(self.config.start_method)
        connection, worker_connection = context.Pipe()
        delay_ms = dict(self.config.delays_ms).get(number, 0.0)
        is_fork = self.config.start_method == "fork"
        inherited = [connection, *(worker.connection for worker in self._workers)] if is_fork else []
        process = context.Process(  # type: ignore[attr-defined]  # every context has it, the base class does not say so
            target=serve,
            args=(worker_connection, WorkerConfig(self.config.env_id, number, delay_ms), inherited),
            name=f"env worker {number}",
            daemon=True,
        )
        process.start()
        worker_connection.close()  # else its end would never be noticed
        return EnvWorker(number, process, connection)

    def _queue_steps(self) -> None:
        idle = [worker for worker in self._workers if worker.action is None]
        idle = idle[: self.config.steps - self._steps_sent]
        groups = [idle] if self.config.batched else [[worker] for worker in idle]
        for group in filter(None, groups):
            actions = self._take_step(group)
            with ticktree.section("communicator.exchange"), ticktree.section("step_async"):
                for worker, action in zip(group, actions, strict=True):
                    worker.send(Step(action.env_action))
                    worker.action = action
        self._steps_sent += len(idle)

    @ticktree.timed
    def _take_step(self, workers: Sequence[EnvWorker]) -> list[ActionInfo]:
        assert self.policy is not None
        return self.policy.evaluate([worker.last.observation for worker in workers if worker.last])

    @staticmethod
    def _ready(busy: list[EnvWorker]) -> list[EnvWorker]:
        ready = wait([worker.connection for worker in busy])
        return [worker for worker in busy if worker.connection in ready]

    @staticmethod
    def _receive_step(worker: EnvWorker) -> EnvironmentStep:
        result, action = worker.receive(), worker.action
        assert isinstance(result, StepResult)
        assert action is not None
        worker.last, worker.action = result, None
        return EnvironmentStep(action, result)
