"""Many environments, each in a process of its own, stepped by one policy."""

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

from .messages import Connection, Failure, Outcome, Reply, Request, Reset, Spec, Step
from .policy import ActionInfo, TorchPolicy
from .worker import Task, serve

START_METHODS = ("spawn", "fork", "forkserver")
PATIENCE_S = 5.0  # how long a worker may take to end after it was told to


class WorkerError(Exception):
    """An environment process failed or is gone: there is nothing to train on."""


class Plan(NamedTuple):
    """How many environments there are, and how they are stepped."""

    environment: str
    workers: int
    steps: int  # in all; not one more is taken
    seed: int = 0
    start_method: str = "spawn"
    lockstep: bool = False  # wait for every worker's step instead of the first's
    batched: bool = False  # choose the actions of all workers that are ready at once
    delays_ms: tuple[tuple[int, float], ...] = ()  # (worker, how much slower each of its steps is)


class EnvironmentStep(NamedTuple):
    """What an action led to."""

    action: ActionInfo
    outcome: Outcome


class EnvWorker:
    """The trainer's side of one environment process."""

    def __init__(self, number: int, process: BaseProcess, connection: Connection) -> None:
        self.number = number
        self.process = process
        self.connection = connection
        self.last: Outcome | None = None  # what the next action answers
        self.action: ActionInfo | None = None  # the action being carried out

    def send(self, request: Request) -> None:
        """Ask for something.

        Raises:
            WorkerError: The process is gone.
        """
        try:
            self.connection.send(request)
        except ConnectionError:
            raise self._gone() from None

    def receive(self) -> Spec | Outcome:
        """Take what it says, waiting for it.

        Raises:
            WorkerError: Its environment failed, or the process is gone.
        """
        try:
            reply: Reply = self.connection.recv()
        except (EOFError, ConnectionError):
            raise self._gone() from None
        if isinstance(reply, Failure):
            raise WorkerError(f"env worker {self.number}: {reply.reason}")
        return reply

    def end(self) -> None:
        """Tell it to end, wait until it has, and make sure of it."""
        with suppress(OSError):  # it may have ended already
            self.connection.send(None)
        for stop in (self.process.terminate, self.process.kill):
            self.process.join(PATIENCE_S)
            if self.process.is_alive():
                stop()
        self.process.join()
        self.connection.close()
        self.process.close()

    def _gone(self) -> WorkerError:
        self.process.join(PATIENCE_S)
        status = self.process.exitcode
        if status is not None and status < 0:
            return WorkerError(f"env worker {self.number} was killed by {signal.Signals(-status).name}")
        return WorkerError(f"env worker {self.number} ended with exit status {status}")


class SubprocessEnvManager:
    """Starts environment processes and steps them, each as soon as its last step is in."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.policy: TorchPolicy | None = None  # must be set before the first step
        self._workers: list[EnvWorker] = []
        self._asked = 0

    def start(self) -> Spec:
        """Start the processes and return what the task looks like.

        Raises:
            WorkerError: One of them could not make its environment.
        """
        with ticktree.section("workers"):
            for number in range(self.plan.workers):
                self._workers.append(self._start_worker(number))
            with ticktree.section("ready", wait=True):
                specs = [worker.receive() for worker in self._workers]
        assert isinstance(specs[0], Spec)
        return specs[0]

    def reset(self) -> None:
        """Begin an episode in every environment, all at the same time."""
        for worker in self._workers:
            seed = np.random.SeedSequence([self.plan.seed, worker.number]).generate_state(1)[0]
            worker.send(Reset(int(seed)))
        with ticktree.section("reset_wait", wait=True):
            for worker in self._workers:
                outcome = worker.receive()
                assert isinstance(outcome, Outcome)
                worker.last = outcome

    def get_steps(self) -> list[EnvironmentStep]:
        """Give every idle worker an action, and return the steps that are in, at least one, by worker.

        Without any only where all steps have been taken.
        """
        self._queue_steps()
        busy = [worker for worker in self._workers if worker.action is not None]
        if not busy:
            return []
        with ticktree.section("communicator.exchange"), ticktree.section("step_wait", wait=True):
            ready = busy if self.plan.lockstep else self._first_in(busy)
            return [self._take_in(worker) for worker in ready]

    def close(self) -> None:
        """End every process, whatever state it is in."""
        with ticktree.section("SubprocessEnvManager.close"):
            while self._workers:
                self._workers.pop().end()

    def _start_worker(self, number: int) -> EnvWorker:
        context = multiprocessing.get_context(self.plan.start_method)
        ours, theirs = context.Pipe()
        delay_ms = dict(self.plan.delays_ms).get(number, 0.0)
        forked = self.plan.start_method == "fork"
        inherited = [ours, *(worker.connection for worker in self._workers)] if forked else []
        process = context.Process(  # type: ignore[attr-defined]  # every context has it, the base class does not say so
            target=serve,
            args=(theirs, Task(self.plan.environment, number, delay_ms), inherited),
            name=f"env worker {number}",
            daemon=True,
        )
        process.start()
        theirs.close()  # else its end would never be seen
        return EnvWorker(number, process, ours)

    def _queue_steps(self) -> None:
        idle = [worker for worker in self._workers if worker.action is None]
        idle = idle[: self.plan.steps - self._asked]
        groups = [idle] if self.plan.batched else [[worker] for worker in idle]
        for group in filter(None, groups):
            actions = self._take_step(group)
            with ticktree.section("communicator.exchange"), ticktree.section("step_async"):
                for worker, action in zip(group, actions, strict=True):
                    worker.send(Step(action.for_environment))
                    worker.action = action
        self._asked += len(idle)

    @ticktree.timed
    def _take_step(self, workers: Sequence[EnvWorker]) -> list[ActionInfo]:
        assert self.policy is not None
        return self.policy.evaluate([worker.last.observation for worker in workers if worker.last])

    @staticmethod
    def _first_in(busy: list[EnvWorker]) -> list[EnvWorker]:
        ready = wait([worker.connection for worker in busy])
        return [worker for worker in busy if worker.connection in ready]

    @staticmethod
    def _take_in(worker: EnvWorker) -> EnvironmentStep:
        outcome, action = worker.receive(), worker.action
        assert isinstance(outcome, Outcome)
        assert action is not None
        worker.last, worker.action = outcome, None
        return EnvironmentStep(action, outcome)
