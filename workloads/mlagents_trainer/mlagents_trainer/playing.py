"""The player: asks the trainer again and again what to do, as the toolkit's executables do, and does it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import grpc
from mlagents_envs.communicator_objects.command_pb2 import RESET
from mlagents_envs.communicator_objects.unity_to_external_pb2_grpc import UnityToExternalProtoStub

from .task import Observation, Task
from .words import BEHAVIOR, OK, acknowledgement, greeting, observations_message

PATIENCE_S = 60  # how long the trainer's first answer may take

Exchange = Callable[[Any], Any]  # a message to the trainer, and its answer


def main(arguments: list[str] | None = None) -> int:
    """Play until the trainer has had enough, and return the program's exit status."""
    options = _parse(arguments)
    with grpc.insecure_channel(f"127.0.0.1:{options.mlagents_port}") as channel:
        exchange = UnityToExternalProtoStub(channel).Exchange
        request = exchange(greeting(), wait_for_ready=True, timeout=PATIENCE_S).unity_input
        task = Task(options.env, request.rl_initialization_input.seed)
        try:
            _play(task, exchange)
        except grpc.RpcError:
            return 1  # it is gone without a word
        finally:
            task.close()
    return 0


def _play(task: Task, exchange: Exchange) -> None:
    introduced = False
    answer = exchange(acknowledgement())
    while answer.header.status == OK:
        request = answer.unity_input.rl_input
        agents = task.reset() if request.command == RESET else _stepped(task, request)
        answer = exchange(observations_message(task, agents, introduced))
        introduced = True


def _stepped(task: Task, request: Any) -> list[Observation]:
    (action,) = request.agent_actions[BEHAVIOR].value
    return task.step(list(action.continuous_actions), list(action.discrete_actions))


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="player.py",
        description="Play a gymnasium task for a trainer of the ML-Agents toolkit, which starts this program.",
    )
    parser.add_argument("--mlagents-port", type=int, required=True, metavar="PORT", help="the trainer's")
    parser.add_argument("--env", required=True, metavar="ID", help="gymnasium's name of the task")
    # Other options of executables: whether to draw, where to log.
    return parser.parse_known_args(arguments)[0]
