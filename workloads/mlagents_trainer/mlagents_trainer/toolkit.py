"""What of the toolkit is replaced here: where it listens, what it exports, and with --patient how it waits."""

from __future__ import annotations

from mlagents.trainers import learn
from mlagents.trainers.settings import SerializationSettings
from mlagents.trainers.torch_entities.model_serialization import ModelSerializer
from mlagents_envs.environment import UnityEnvironment

from .loopback import LoopbackCommunicator
from .patience import PatientEnvManager


def prepare(patient: bool) -> None:
    """Put the replacements in place, for the processes of its players as well, which are forked."""
    UnityEnvironment._get_communicator = staticmethod(LoopbackCommunicator)
    # The model's way into its editor asks for an exporter that this torch has no more. The weights are saved.
    ModelSerializer.export_policy_model = lambda _serializer, _path: None
    SerializationSettings.convert_to_onnx = False
    if patient:
        learn.SubprocessEnvManager = PatientEnvManager
