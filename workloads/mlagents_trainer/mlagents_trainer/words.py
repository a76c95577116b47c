"""What a player says to the trainer, in the toolkit's own messages."""

from __future__ import annotations

from typing import Any

from mlagents_envs.communicator_objects.agent_info_pb2 import AgentInfoProto
from mlagents_envs.communicator_objects.unity_message_pb2 import UnityMessageProto
from mlagents_envs.environment import UnityEnvironment

from .task import Observation, Task

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
