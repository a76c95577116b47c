"""lerobot's policy server, serving until it is ended, with each step of a chunk under its name."""

from __future__ import annotations

import logging
import os
import signal
import tempfile
import threading
from concurrent import futures
from functools import partial
from typing import Any

import grpc
import torch
from lerobot.async_inference.configs import PolicyServerConfig
from lerobot.transport import services_pb2_grpc

import ticktree
import ticktree.remote.grpc

from .remote_options import ServerOptions, parse_server
from .server_process import READY


def main(arguments: list[str] | None = None) -> int:
    """Run the program with this command line and return its exit status."""
    options = parse_server(arguments)
    torch.set_num_threads(options.threads)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    logging.disable(logging.INFO)  # lerobot logs each observation
    ticktree.enable()
    ticktree.role("policy server")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # lerobot's server makes a directory `logs` where it stands
        server = _server(options)
        ended.wait()
        server.stop(grace=1).wait()
    return 0


def _server(options: ServerOptions) -> Any:
    # Imported where it stands: its import opens the log.
    from lerobot.async_inference import policy_server

    similar = policy_server.observations_similar
    policy_server.observations_similar = partial(similar, atol=options.similar_within)
    prepare = policy_server.raw_observation_to_observation
    policy_server.raw_observation_to_observation = ticktree.timed("get_actions.prepare")(prepare)
    # `inference_latency` is the least that a chunk takes: its sleep would be no part of the policy.
    config = PolicyServerConfig(host=options.host, port=max(1, options.port), inference_latency=0)
    servicer = policy_server.PolicyServer(config)
    _name_steps(servicer)
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=4), interceptors=[ticktree.remote.grpc.server_timing()]
    )
    services_pb2_grpc.add_AsyncInferenceServicer_to_server(servicer, server)
    port = server.add_insecure_port(f"{options.host}:{options.port}")
    server.start()
    print(f"{READY} {port}", flush=True)
    return server


def _name_steps(servicer: Any) -> None:
    """Give the server's own steps the names that they have in one process."""
    servicer._get_action_chunk = ticktree.timed("get_actions.policy_inference")(servicer._get_action_chunk)
    servicer._time_action_chunk = ticktree.timed("time actions")(servicer._time_action_chunk)
    servicer._predict_action_chunk = ticktree.timed("get_actions")(servicer._predict_action_chunk)
    load = servicer.SendPolicyInstructions

    def send_policy_instructions(request: Any, context: Any) -> Any:
        with ticktree.section("load policy"):
            answer = load(request, context)
        # Processors there are only now. The one after the model is called for each action of a chunk.
        for name in ("preprocessor", "postprocessor"):
            step = getattr(servicer, name)
            timed = ticktree.timed(f"get_actions.{name.replace('processor', 'processing')}")(step.__call__)
            setattr(servicer, name, timed)
        return answer

    servicer.SendPolicyInstructions = send_policy_instructions
