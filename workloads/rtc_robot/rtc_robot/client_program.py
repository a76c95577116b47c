"""The robot with its policy elsewhere: lerobot's robot client over gRPC, its two loops under ticktree's names."""

from __future__ import annotations

import logging
import os
import tempfile
import threading
from pathlib import Path
from typing import Any

import torch
from lerobot.async_inference.configs import RobotClientConfig

import ticktree

from .config_aloha_robot import AlohaRobotConfig
from .control import LOOP
from .policy import PolicySettings, build_policy
from .recording import record_anyway
from .remote_options import ClientOptions, parse_client
from .rows import table
from .server_process import ServerProcess

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


def main(arguments: list[str] | None = None) -> int:
    """Run the program with this command line and return its exit status."""
    options = parse_client(arguments)
    torch.set_num_threads(options.threads)
    logging.disable(logging.INFO)  # lerobot logs each observation
    record_anyway()
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(options.checkpoint or Path(folder, "checkpoint")).resolve()
        with ticktree.section("build"):
            _save(options, checkpoint)
        os.chdir(folder)  # lerobot's client makes a directory `logs` where it stands
        with ServerProcess(options) as port:
            starved = _drive(options, checkpoint, port)
    profile = ticktree.snapshot()
    print(f"\ncontrol: {options.ticks} ticks, {starved} of them starved after the first chunk\n")
    print("\n".join(table(profile, ROWS)), flush=True)
    return 0


def _drive(options: ClientOptions, checkpoint: Path, port: int) -> int:
    # Imported where it stands: its import opens the log.
    from .dated_client import DatedClient

    client = DatedClient(_config(options, checkpoint, port))
    if not client.start():
        client.stop()
        raise ConnectionError(f"no policy server at {options.host}:{port}")
    receiver = threading.Thread(target=_receive, args=(client,), name="receiver", daemon=True)
    receiver.start()
    try:
        client.start_barrier.wait()
        return _control(options, client)
    finally:
        client.robot.close_camera()
        logging.disable(logging.ERROR)  # ending closes the channel on which the receiver waits, which it logs
        client.stop()
        receiver.join()


def _receive(client: Any) -> None:
    ticktree.role("receiver")
    client.receive_actions()


def _control(options: ClientOptions, client: Any) -> int:
    """Lerobot's loop, tick by tick: act, and send an observation where the server should predict again."""
    starved = 0
    for _ in (loop := ticktree.loop(LOOP, range(options.ticks), hz=options.fps, pace=True)):
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
            client.control_loop_observation(options.task)
    return starved


def _save(options: ClientOptions, checkpoint: Path) -> None:
    """Write what the server loads: weights and both processors, as lerobot's training would."""
    policy = build_policy(
        checkpoint / "vlm", PolicySettings(device=options.device, rtc=False, seed=options.seed)
    )
    for part in (policy.model, policy.preprocessor, policy.postprocessor):
        part.save_pretrained(checkpoint)


def _config(options: ClientOptions, checkpoint: Path, port: int) -> RobotClientConfig:
    return RobotClientConfig(
        policy_type="smolvla",
        pretrained_name_or_path=str(checkpoint),
        # lerobot makes the robot itself, from the module next to that of its configuration.
        robot=AlohaRobotConfig(width=options.camera_width, height=options.camera_height),
        actions_per_chunk=options.actions_per_chunk,
        task=options.task,
        server_address=f"{options.host}:{port}",
        policy_device=options.device,
        chunk_size_threshold=options.chunk_size_threshold,
        fps=options.fps,
        aggregate_fn_name="latest_only",
    )
