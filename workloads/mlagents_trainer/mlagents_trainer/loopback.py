"""The trainer's end of the talk with a player, on the loopback interface alone."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor

import grpc
from mlagents_envs.communicator_objects.unity_to_external_pb2_grpc import (
    add_UnityToExternalProtoServicer_to_server,
)
from mlagents_envs.rpc_communicator import RpcCommunicator, UnityToExternalServicerImplementation

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
