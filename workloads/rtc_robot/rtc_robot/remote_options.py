"""The options of `policy_server.py` and `robot_client.py`."""

from __future__ import annotations

import argparse
from typing import NamedTuple

from .arguments import device, positive, whole_number
from .eval_options import QUICK_SECONDS, SECONDS, TASK

HELP = {
    "host": "loopback by default: what arrives is unpickled, so let no other machine reach it "
    "(default: %(default)s)",
    "port": "(default: %(default)s; of the server, 0: any that is free)",
    "threads": "torch threads; on busy cores more are slower than one (default: %(default)s)",
    "checkpoint": "where the policy's checkpoint is written, which the server then loads (default: a temporary "
    "directory)",
    "duration": f"seconds of control (default: {SECONDS:g})",
    "quick": f"a run of under a minute: {QUICK_SECONDS:g} seconds of control",
    "fps": "rate of the control loop in Hz (default: %(default)s)",
    "chunk_size_threshold": "an observation is sent when so large a part of a chunk is left, or less "
    "(default: %(default)g)",
    "actions_per_chunk": "requested from the server (default: %(default)s)",
    "similar_within": "remedy: an observation whose joints are nearer than that to those of the last chunk is not "
    "looked at while actions are left; joints here are in radians (default: %(default)g, lerobot's)",
    "start_server": "start policy_server.py as well, as a process of this run",
}


class ServerOptions(NamedTuple):
    """A checked command line of the server's."""

    host: str
    port: int
    threads: int
    similar_within: float


class ClientOptions(NamedTuple):
    """A checked command line of the robot's."""

    host: str
    port: int
    start_server: bool
    checkpoint: str | None
    duration: float
    fps: int
    task: str
    device: str
    chunk_size_threshold: float
    actions_per_chunk: int
    camera_width: int
    camera_height: int
    threads: int
    similar_within: float
    seed: int

    @property
    def ticks(self) -> int:
        """How many ticks of control that is."""
        return max(1, round(self.duration * self.fps))


def parse_server(arguments: list[str] | None = None) -> ServerOptions:
    """Read the server's command line."""
    parser = argparse.ArgumentParser(
        prog="policy_server.py",
        description="lerobot's policy server over gRPC, which reports its durations to its callers.",
        epilog="robot_client.py talks to it. Run both under `ticktree run`.",
    )
    parser.add_argument("--host", default="127.0.0.1", help=HELP["host"])
    parser.add_argument("--port", type=whole_number(0), default=8080, metavar="N", help=HELP["port"])
    parser.add_argument("--threads", type=whole_number(1), default=1, metavar="N", help=HELP["threads"])
    _add_similar(parser)
    return ServerOptions(**vars(parser.parse_args(arguments)))


def parse_client(arguments: list[str] | None = None) -> ClientOptions:
    """Read the robot's command line; what makes no sense ends the program with one line and exit status 2."""
    parser = _client_parser()
    chosen = vars(parser.parse_args(arguments))
    quick = chosen.pop("quick")
    if chosen["duration"] is None:
        chosen["duration"] = QUICK_SECONDS if quick else SECONDS
    if chosen["chunk_size_threshold"] > 1:
        parser.error(f"--chunk_size_threshold {chosen['chunk_size_threshold']:g} is more than 1")
    return ClientOptions(**chosen)


def _client_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="robot_client.py",
        description="The simulated ALOHA robot with its policy in another process: lerobot's robot client.",
        epilog="Run it as `ticktree run robot_client.py --start_server` to get the tree of both processes at the end.",
    )
    add = parser.add_argument
    add("--host", default="127.0.0.1", help=HELP["host"])
    add("--port", type=whole_number(0), default=8080, metavar="N", help=HELP["port"])
    add("--start_server", action="store_true", help=HELP["start_server"])
    add("--checkpoint", metavar="DIR", help=HELP["checkpoint"])
    add("--duration", type=positive, metavar="S", help=HELP["duration"])
    add("--quick", action="store_true", help=HELP["quick"])
    add("--fps", type=whole_number(1), default=30, metavar="HZ", help=HELP["fps"])
    add("--task", default=TASK, help="the robot's task (default: %(default)s)")
    add(
        "--policy.device",
        "--device",
        dest="device",
        type=device,
        default="cpu",
        help="of the server's policy",
    )
    add("--chunk_size_threshold", type=positive, default=0.5, metavar="X", help=HELP["chunk_size_threshold"])
    add("--actions_per_chunk", type=whole_number(1), default=50, metavar="N", help=HELP["actions_per_chunk"])
    add(
        "--camera_width",
        type=whole_number(16),
        default=640,
        metavar="N",
        help="in pixels (default: %(default)s)",
    )
    add(
        "--camera_height",
        type=whole_number(16),
        default=480,
        metavar="N",
        help="in pixels (default: %(default)s)",
    )
    add("--threads", type=whole_number(1), default=1, metavar="N", help=HELP["threads"])
    _add_similar(parser)
    add("--seed", type=whole_number(0), default=0, metavar="N", help="of the weights (default: %(default)s)")
    return parser


def _add_similar(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--similar_within", type=positive, default=1.0, metavar="X", help=HELP["similar_within"]
    )
