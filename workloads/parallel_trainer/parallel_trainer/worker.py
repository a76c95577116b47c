"""The environment process and its messages.

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
from numpy.typing import NDArray

import ticktree

Array = NDArray[np.float32]


class EnvSpec(NamedTuple):
    """Sizes of observations and actions; a worker's first message."""

    observations: int
    low: Array
    high: Array


class Reset(NamedTuple):
    """Request for a new episode."""

    seed: int


class Step(NamedTuple):
    """Request for one step."""

    action: Array


class StepResult(NamedTuple):
    """Result of a step or a reset."""

    worker: int
    observation: Array  # of a new episode, where this step ended one
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    final_obs: Array | None = None  # of the episode that this step ended

    @property
    def done(self) -> bool:
        """Whether the episode ended with this step."""
        return self.terminated or self.truncated


class Failure(NamedTuple):
    """A worker's last message: what its environment raised."""

    reason: str


Request = Reset | Step | None  # None: end
Reply = EnvSpec | StepResult | Failure
Connection = Any  # multiprocessing's, whose class differs between platforms


class WorkerConfig(NamedTuple):
    """One worker's environment."""

    env_id: str
    worker: int
    delay_ms: float = 0.0  # added to each step, for a straggler


class UnsupportedEnvError(Exception):
    """The environment is not one that this trainer can learn."""


def serve(connection: Connection, config: WorkerConfig, inherited: Sequence[Connection] = ()) -> None:
    """Run a worker.

    Args:
        connection: Where requests come from and outcomes go to.
        config: Its environment.
        inherited: The trainer's ends of pipes that a forked child holds too; while it does, no worker could see
            the trainer's end.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the trainer's, which ends its workers in order
    for inherited_connection in inherited:
        inherited_connection.close()
    try:
        with ticktree.section("worker_root"):
            _work(connection, config)
    except (EOFError, ConnectionError):
        pass  # the trainer has ended
    except Exception as error:
        with suppress(OSError):  # the trainer may have ended
            connection.send(Failure(f"{type(error).__name__}: {error}"))


def _work(connection: Connection, config: WorkerConfig) -> None:
    with ticktree.section("env.make"):
        env = gymnasium.make(config.env_id)
    try:
        connection.send(spec_of(env, config.env_id))
        while (request := _next(connection)) is not None:
            result = _answer(env, config, request)
            with ticktree.section("reply"):
                connection.send(result)
    finally:
        env.close()


def _next(connection: Connection) -> Request:
    with ticktree.section("request", wait=True):
        request: Request = connection.recv()
    return request


def _answer(env: gymnasium.Env[Any, Any], config: WorkerConfig, request: Reset | Any) -> StepResult:
    if isinstance(request, Reset):
        return StepResult(config.worker, _reset(env, request.seed))
    with ticktree.section("env.step"):
        if config.delay_ms:
            time.sleep(config.delay_ms / 1000.0)
        observation, reward, terminated, truncated, _ = env.step(request.action)
        after = _float32(observation)
    result = StepResult(config.worker, after, float(reward), terminated, truncated)
    if not result.done:
        return result
    return result._replace(observation=_reset(env, None), final_obs=after)


def _reset(env: gymnasium.Env[Any, Any], seed: int | None) -> Array:
    with ticktree.section("env.reset"):
        observation, _ = env.reset(seed=seed)
        return _float32(observation)


def spec_of(env: gymnasium.Env[Any, Any], name: str) -> EnvSpec:
    """Read the sizes of an environment's observations and actions.

    Raises:
        UnsupportedEnvError: They are no vectors, or actions have no bounds.
    """
    obs_space, action_space = env.observation_space, env.action_space
    if not all(
        isinstance(space, gymnasium.spaces.Box) and len(space.shape) == 1
        for space in (obs_space, action_space)
    ):
        raise UnsupportedEnvError(f"{name} has no vectors of numbers as observations and actions")
    assert isinstance(action_space, gymnasium.spaces.Box)
    if not action_space.is_bounded():
        raise UnsupportedEnvError(f"the actions of {name} have no bounds")
    assert obs_space.shape is not None
    return EnvSpec(obs_space.shape[0], _float32(action_space.low), _float32(action_space.high))


def _float32(values: Any) -> Array:
    # Half the bytes to send, and what the networks take.
    return np.asarray(values, dtype=np.float32)
