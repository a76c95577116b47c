"""The robot and its policy as two processes, over lerobot's gRPC: `robot_client.py` and `policy_server.py`."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent import futures
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import grpc
import torch
from lerobot.async_inference.configs import PolicyServerConfig, RobotClientConfig
from lerobot.transport import services_pb2_grpc

import ticktree
import ticktree.remote.grpc

from .aloha import AlohaConfig
from .control import LOOP
from .evaluation import (
    add_robot_args,
    add_shared_args,
    check_least,
    check_robot_args,
    positive,
    record_anyway,
    table,
)
from .policy import PolicySettings, build_policy

HOST = "127.0.0.1"  # what arrives is unpickled: no other machine may reach it unless asked
PORT = 8080
READY = "serving on port"
SCRIPT = Path(__file__).resolve().parents[1] / "policy_server.py"
ENDS_WITHIN_S = 20
ROWS = (
    "robot.get_observation",
    "/transport.AsyncInference/SendObservations",
    "/transport.AsyncInference/GetActions",
    "server",
    "network",
    "get_actions.preprocessing",
    "get_actions.policy_inference",
    "get_actions.postprocessing",
    "robot.send_action",
)
DEPTH = "action queue depth"


def add_remote_args(parser: argparse.ArgumentParser) -> None:
    """Add the options that both programs have."""
    parser.add_argument(
        "--host",
        default=HOST,
        help="loopback by default: what arrives is unpickled, so let no other machine reach it "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--port",
        type=int,
        default=PORT,
        metavar="N",
        help="(default: %(default)s; of the server, 0: any that is free)",
    )
    parser.add_argument(
        "--similar_within",
        type=positive,
        default=1.0,
        metavar="X",
        help="remedy: the server ignores an observation whose joints are nearer than that to those of the last "
        "chunk, while actions are left; joints here are in radians (default: %(default)g, lerobot's)",
    )


def parse_server_args(argv: list[str] | None = None) -> argparse.Namespace:
    """Parse policy_server.py's command line."""
    parser = argparse.ArgumentParser(
        prog="policy_server.py",
        description="lerobot's policy server over gRPC, which reports its durations to its callers.",
        epilog="robot_client.py talks to it. Run both under `ticktree run`.",
    )
    add_remote_args(parser)
    add_shared_args(parser)
    args = parser.parse_args(argv)
    check_least(parser, args, port=0)
    return args


def parse_client_args(argv: list[str] | None = None) -> argparse.Namespace:
    """Parse robot_client.py's command line."""
    parser = argparse.ArgumentParser(
        prog="robot_client.py",
        description="The simulated ALOHA robot with its policy in another process: lerobot's robot client.",
        epilog="Run it as `ticktree run robot_client.py --start_server` to get the tree of both processes at the end.",
    )
    add = parser.add_argument
    add(
        "--start_server", action="store_true", help="start policy_server.py as well, as a process of this run"
    )
    add(
        "--checkpoint",
        metavar="DIR",
        help="where the policy's checkpoint is written, which the server then loads (default: a temporary directory)",
    )
    add(
        "--fps",
        type=int,
        default=30,
        metavar="HZ",
        help="rate of the control loop in Hz (default: %(default)s)",
    )
    add(
        "--chunk_size_threshold",
        type=positive,
        default=0.5,
        metavar="X",
        help="an observation is sent when so large a part of a chunk is left, or less (default: %(default)g)",
    )
    add(
        "--actions_per_chunk",
        type=int,
        default=50,
        metavar="N",
        help="requested from the server (default: %(default)s)",
    )
    add_remote_args(parser)
    add_robot_args(parser)
    args = parser.parse_args(argv)
    check_robot_args(parser, args)
    check_least(parser, args, port=0, fps=1, actions_per_chunk=1)
    if args.chunk_size_threshold > 1:
        parser.error(f"--chunk_size_threshold {args.chunk_size_threshold:g} is more than 1")
    return args


class ServerProcess:
    """Starts the server on any free port and ends it; otherwise one is running already."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> int:
        """Return the server's port."""
        if not self._args.start_server:
            port: int = self._args.port
            return port
        command = [sys.executable, str(SCRIPT), "--port", "0", "--threads", str(self._args.threads)]
        command += ["--similar_within", str(self._args.similar_within)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(READY):
                return int(line.removeprefix(READY))
        raise ConnectionError(f"the policy server ended with exit status {self._process.wait()}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.communicate(timeout=ENDS_WITHIN_S)


def serve(argv: list[str] | None = None) -> int:
    """Run policy_server.py with this command line and return its exit status."""
    args = parse_server_args(argv)
    torch.set_num_threads(args.threads)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    logging.disable(logging.INFO)  # lerobot logs each observation
    ticktree.enable()
    ticktree.role("policy server")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # lerobot's server makes a directory `logs` where it stands
        server = _server(args)
        ended.wait()
        server.stop(grace=1).wait()
    return 0


def _server(args: argparse.Namespace) -> Any:
    # Imported here, because lerobot's module opens its log when it is imported.
    from lerobot.async_inference import policy_server

    similar = policy_server.observations_similar
    policy_server.observations_similar = partial(similar, atol=args.similar_within)
    prepare = policy_server.raw_observation_to_observation
    policy_server.raw_observation_to_observation = ticktree.timed("get_actions.prepare")(prepare)
    # `inference_latency` is the least that a chunk takes: its sleep would be no part of the policy.
    config = PolicyServerConfig(host=args.host, port=max(1, args.port), inference_latency=0)
    servicer = policy_server.PolicyServer(config)
    _name_steps(servicer)
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=4), interceptors=[ticktree.remote.grpc.server_timing()]
    )
    services_pb2_grpc.add_AsyncInferenceServicer_to_server(servicer, server)
    port = server.add_insecure_port(f"{args.host}:{args.port}")
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


def drive(argv: list[str] | None = None) -> int:
    """Run robot_client.py with this command line and return its exit status."""
    args = parse_client_args(argv)
    torch.set_num_threads(args.threads)
    logging.disable(logging.INFO)  # lerobot logs each observation
    record_anyway()
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(args.checkpoint or Path(folder, "checkpoint")).resolve()
        with ticktree.section("build"):
            _save(args, checkpoint)
        os.chdir(folder)  # lerobot's client makes a directory `logs` where it stands
        with ServerProcess(args) as port:
            starved = _drive(args, checkpoint, port)
    profile = ticktree.snapshot()
    print(f"\ncontrol: {args.ticks} ticks, {starved} of them starved after the first chunk\n")
    print("\n".join(table(profile, ROWS)), flush=True)
    return 0


def _drive(args: argparse.Namespace, checkpoint: Path, port: int) -> int:
    client = _dated_client(_config(args, checkpoint, port))
    if not client.start():
        client.stop()
        raise ConnectionError(f"no policy server at {args.host}:{port}")
    receiver = threading.Thread(target=_receive, args=(client,), name="receiver", daemon=True)
    receiver.start()
    try:
        client.start_barrier.wait()
        return _control(args, client)
    finally:
        client.robot.close_camera()
        logging.disable(logging.ERROR)  # ending closes the channel on which the receiver waits, which it logs
        client.stop()
        receiver.join()


def _dated_client(config: RobotClientConfig) -> Any:
    """Return lerobot's robot client, which also knows the age of what it acts on."""
    # Imported here, because lerobot's module opens its log when it is imported.
    from lerobot.async_inference.robot_client import RobotClient

    class DatedClient(RobotClient):  # type: ignore[misc,unused-ignore]
        """Keeps the time of each observation until a chunk comes of it.

        Attributes:
            sensed_at: When the observation of the newest chunk was made.
        """

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.sensed_at: float | None = None
            self._sent_at: dict[int, float] = {}

        def send_observation(self, obs: Any) -> bool:
            """Send it. Of several of one step the first counts: the server answers each step once."""
            self._sent_at.setdefault(obs.get_timestep(), self.robot.sensed_at)
            return bool(super().send_observation(obs))

        def _aggregate_action_queues(
            self, incoming_actions: list[Any], aggregate_fn: Callable[..., Any] | None = None
        ) -> None:
            """Take a chunk in: its first action has the step of its observation. Older steps get no answer."""
            super()._aggregate_action_queues(incoming_actions, aggregate_fn)
            step = incoming_actions[0].get_timestep()
            self.sensed_at = self._sent_at.get(step, self.sensed_at)
            self._sent_at = {sent: at for sent, at in list(self._sent_at.items()) if sent > step}

    return DatedClient(config)


def _receive(client: Any) -> None:
    ticktree.role("receiver")
    client.receive_actions()


def _control(args: argparse.Namespace, client: Any) -> int:
    """Lerobot's loop, tick by tick: act, and send an observation where the server should predict again."""
    starved = 0
    for _ in (loop := ticktree.loop(LOOP, range(args.ticks), hz=args.fps, pace=True)):
        ticktree.stage("act")
        ticktree.gauge(DEPTH, client.action_queue.qsize())
        if client.actions_available():
            client.control_loop_action()
            if client.sensed_at is not None:
                loop.origin(client.sensed_at)
                loop.acted()
        elif client.action_chunk_size > 0:
            starved += 1
        ticktree.stage("observe")
        if client._ready_to_send_observation():
            client.control_loop_observation(args.task)
    return starved


def _save(args: argparse.Namespace, checkpoint: Path) -> None:
    """Write what the server loads: weights and both processors, as lerobot's training would."""
    policy = build_policy(checkpoint / "vlm", PolicySettings(device=args.device, rtc=False, seed=args.seed))
    for part in (policy.model, policy.preprocessor, policy.postprocessor):
        part.save_pretrained(checkpoint)


def _config(args: argparse.Namespace, checkpoint: Path, port: int) -> RobotClientConfig:
    return RobotClientConfig(
        policy_type="smolvla",
        pretrained_name_or_path=str(checkpoint),
        # lerobot makes the robot itself: it finds the class by the name of its configuration.
        robot=AlohaConfig(width=args.camera_width, height=args.camera_height),
        actions_per_chunk=args.actions_per_chunk,
        task=args.task,
        server_address=f"{args.host}:{port}",
        policy_device=args.device,
        chunk_size_threshold=args.chunk_size_threshold,
        fps=args.fps,
        aggregate_fn_name="latest_only",
    )
