"""What the workload replaces in the toolkit: where it listens, what it exports, and with --patient how it waits."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import wait

import grpc
from mlagents.trainers import learn
from mlagents.trainers.env_manager import EnvironmentStep
from mlagents.trainers.settings import SerializationSettings
from mlagents.trainers.subprocess_env_manager import SubprocessEnvManager
from mlagents.trainers.torch_entities.model_serialization import ModelSerializer
from mlagents_envs.communicator_objects.unity_to_external_pb2_grpc import (
    add_UnityToExternalProtoServicer_to_server,
)
from mlagents_envs.environment import UnityEnvironment
from mlagents_envs.rpc_communicator import RpcCommunicator, UnityToExternalServicerImplementation
from mlagents_envs.timers import hierarchical_timer

HOST = "127.0.0.1"


class LoopbackCommunicator(RpcCommunicator):  # type: ignore[misc]  # unknown to who checks
    """The toolkit's, but only on loopback: the toolkit's listens on all interfaces, without authentication."""

    def create_server(self) -> None:
        """Listen for the player."""
        self.check_port(self.port)
        self.server = grpc.server(ThreadPoolExecutor(max_workers=10))
        self.unity_to_external = UnityToExternalServicerImplementation()
        add_UnityToExternalProtoServicer_to_server(self.unity_to_external, self.server)
        self.server.add_insecure_port(f"{HOST}:{self.port}")
        self.server.start()
        self.is_open = True


def free_ports(count: int) -> int:
    """Return the first of so many consecutive free ports."""
    while True:
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            first: int = probe.getsockname()[1]
        if first + count <= 65536 and all(_is_free(first + number) for number in range(count)):
            return first


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


class PatientEnvManager(SubprocessEnvManager):  # type: ignore[misc]  # unknown to who checks
    """The toolkit's, which otherwise asks its queue for a step as often as a core lets it, until one is there."""

    def _step(self) -> list[EnvironmentStep]:
        self._queue_steps()
        with hierarchical_timer("step_wait"):
            wait([self.step_queue._reader])
        steps: list[EnvironmentStep] = super()._step()
        return steps


def prepare(patient: bool) -> None:
    """Put the replacements in place, for the processes of its players as well, which are forked."""
    UnityEnvironment._get_communicator = staticmethod(LoopbackCommunicator)
    # The model's way into its editor asks for an exporter that this torch has no more. The weights are saved.
    ModelSerializer.export_policy_model = lambda _serializer, _path: None
    SerializationSettings.convert_to_onnx = False
    if patient:
        learn.SubprocessEnvManager = PatientEnvManager
