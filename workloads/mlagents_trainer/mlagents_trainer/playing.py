"""The player: a gymnasium task that asks the trainer what to do, in the toolkit's own messages."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import grpc
import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from mlagents_envs.communicator_objects.agent_info_pb2 import AgentInfoProto
from mlagents_envs.communicator_objects.command_pb2 import RESET
from mlagents_envs.communicator_objects.unity_message_pb2 import UnityMessageProto
from mlagents_envs.communicator_objects.unity_to_external_pb2_grpc import UnityToExternalProtoStub
from mlagents_envs.environment import UnityEnvironment
from numpy.typing import NDArray

Array = NDArray[np.float32]


class Observation(NamedTuple):
    """What an agent has to say after a step.

    Attributes:
        agent: its number; another one for each episode.
        observation: what it sees.
        reward: what the step earned.
        done: whether the episode ended with the step.
        interrupted: whether it ended because its time was over.
    """

    agent: int
    observation: Array
    reward: float = 0.0
    done: bool = False
    interrupted: bool = False


class Task:
    """The task, stepped by what the trainer sends."""

    def __init__(self, name: str, seed: int) -> None:
        self._env = gymnasium.make(name)
        if not isinstance(self._env.observation_space, Box) or len(self._env.observation_space.shape) != 1:
            raise ValueError(f"{name} has no vector to observe")
        if not isinstance(self._env.action_space, Box | Discrete):
            raise ValueError(f"{name} takes neither one of several actions nor a vector")
        self._seed: int | None = seed
        self._agent = -1

    @property
    def continuous(self) -> int:
        """How many numbers an action has; 0 where it is one of several."""
        space = self._env.action_space
        return int(np.prod(space.shape)) if isinstance(space, Box) else 0

    @property
    def choices(self) -> int:
        """Of how many actions one is chosen; 0 where an action is a vector."""
        space = self._env.action_space
        return int(space.n) if isinstance(space, Discrete) else 0

    def reset(self) -> list[Observation]:
        """Begin an episode."""
        observation, _ = self._env.reset(seed=self._seed)
        self._seed = None  # the episodes that follow go on with the same random numbers
        self._agent += 1
        return [Observation(self._agent, observation.astype(np.float32))]

    def step(self, continuous: list[float], discrete: list[int]) -> list[Observation]:
        """Take a step; where it ends the episode, the next one begins, and both have something to say."""
        observation, reward, terminated, truncated, _ = self._env.step(self._action(continuous, discrete))
        done = terminated or truncated
        observed = Observation(self._agent, observation.astype(np.float32), float(reward), done, truncated)
        return [observed, *self.reset()] if done else [observed]

    def close(self) -> None:
        """Put the task away."""
        self._env.close()

    def _action(self, continuous: list[float], discrete: list[int]) -> Any:
        space = self._env.action_space
        if isinstance(space, Box):
            # The toolkit's actions are in [-1, 1].
            middle, half = (space.high + space.low) / 2, (space.high - space.low) / 2
            return (middle + half * np.array(continuous, np.float32).reshape(space.shape)).astype(space.dtype)
        return discrete[0]


BEHAVIOR = "Gymnasium?team=0"
OK = 200  # what a message's header says; anything else ends the talk


def greeting() -> Any:
    """The first word: who it is and what it understands."""
    message = _message()
    about = message.unity_output.rl_initialization_output
    about.name = "a player in Python"
    about.communication_version = UnityEnvironment.API_VERSION
    about.capabilities.baseRLCapabilities = True
    about.capabilities.hybridActions = True
    return message


def acknowledgement() -> Any:
    """The second word, which the trainer expects and does not read."""
    return _message()


def observations_message(task: Task, agents: list[Observation], introduced: bool) -> Any:
    """What the agents see.

    Args:
        task: What they do.
        agents: What each has to say.
        introduced: Whether the trainer knows already what their actions look like.
    """
    message = _message()
    output = message.unity_output
    output.rl_output.agentInfos[BEHAVIOR].value.extend(_agent(observed) for observed in agents)
    if not introduced:
        behavior = output.rl_initialization_output.brain_parameters.add()
        behavior.brain_name = BEHAVIOR
        behavior.is_training = True
        behavior.action_spec.num_continuous_actions = task.continuous
        if task.choices:
            behavior.action_spec.num_discrete_actions = 1
            behavior.action_spec.discrete_branch_sizes.append(task.choices)
    return message


def _message() -> Any:
    message = UnityMessageProto()
    message.header.status = OK
    return message


def _agent(observed: Observation) -> Any:
    agent = AgentInfoProto()
    agent.id, agent.reward = observed.agent, observed.reward
    agent.done, agent.max_step_reached = observed.done, observed.interrupted
    observation = agent.observations.add()
    observation.shape.append(len(observed.observation))
    observation.float_data.data.extend(observed.observation.tolist())
    return agent


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
