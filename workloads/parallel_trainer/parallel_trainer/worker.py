"""The environment process: it answers requests until there are no more.

Nothing of ticktree's is set up, passed on or sent home here: a section is recorded because the process was started
by one that records. Nor is torch imported, which would take longer than everything else a worker does at its start.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import gymnasium
import numpy as np

import ticktree

from .messages import Array, Connection, Failure, Outcome, Request, Reset, Spec


class Task(NamedTuple):
    """What one worker works on."""

    environment: str  # gymnasium's name
    worker: int
    delay_ms: float = 0.0  # what each step is slowed down by, to have a straggler


class UnsuitableError(Exception):
    """The environment is not one that this trainer can learn."""


def serve(connection: Connection, task: Task, inherited: Sequence[Connection] = ()) -> None:
    """Run a worker.

    Args:
        connection: Where requests come from and outcomes go to.
        task: What to work on.
        inherited: The trainer's ends of pipes that a forked child holds too; while it does, no worker could see
            the trainer go.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the trainer's, which ends its workers in order
    for other in inherited:
        other.close()
    try:
        with ticktree.section("worker_root"):
            _work(connection, task)
    except (EOFError, ConnectionError):
        pass  # the trainer is gone
    except Exception as error:
        with suppress(OSError):  # perhaps nobody is left to tell
            connection.send(Failure(f"{type(error).__name__}: {error}"))


def _work(connection: Connection, task: Task) -> None:
    with ticktree.section("env.make"):
        environment = gymnasium.make(task.environment)
    try:
        connection.send(spec_of(environment, task.environment))
        while (request := _next(connection)) is not None:
            outcome = _answer(environment, task, request)
            with ticktree.section("reply"):
                connection.send(outcome)
    finally:
        environment.close()


def _next(connection: Connection) -> Request:
    with ticktree.section("request", wait=True):
        request: Request = connection.recv()
    return request


def _answer(environment: gymnasium.Env[Any, Any], task: Task, request: Reset | Any) -> Outcome:
    if isinstance(request, Reset):
        return Outcome(task.worker, _reset(environment, request.seed))
    with ticktree.section("env.step"):
        if task.delay_ms:
            time.sleep(task.delay_ms / 1000.0)
        observation, reward, terminated, truncated, _ = environment.step(request.action)
        after = _single(observation)
    outcome = Outcome(task.worker, after, float(reward), terminated, truncated)
    if not outcome.ended:
        return outcome
    return outcome._replace(observation=_reset(environment, None), final=after)


def _reset(environment: gymnasium.Env[Any, Any], seed: int | None) -> Array:
    with ticktree.section("env.reset"):
        observation, _ = environment.reset(seed=seed)
        return _single(observation)


def spec_of(environment: gymnasium.Env[Any, Any], name: str) -> Spec:
    """What a task looks like.

    Raises:
        UnsuitableError: It is none for this trainer.
    """
    seen, done = environment.observation_space, environment.action_space
    if not all(isinstance(space, gymnasium.spaces.Box) and len(space.shape) == 1 for space in (seen, done)):
        raise UnsuitableError(f"{name} has no vectors of numbers as observations and actions")
    assert isinstance(done, gymnasium.spaces.Box)
    if not done.is_bounded():
        raise UnsuitableError(f"the actions of {name} have no bounds")
    assert seen.shape is not None
    return Spec(seen.shape[0], _single(done.low), _single(done.high))


def _single(values: Any) -> Array:
    # Half the bytes to send, and what the networks take.
    return np.asarray(values, dtype=np.float32)
