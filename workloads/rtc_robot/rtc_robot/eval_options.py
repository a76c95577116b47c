"""The options of `eval_with_robot.py`."""

from __future__ import annotations

import argparse
from typing import NamedTuple

from .arguments import device, positive, whole_number, yes_or_no
from .policy import CHUNK

SECONDS, QUICK_SECONDS = 30.0, 8.0
TASK = "pick up the red cube and move it to the other arm"

HELP = {
    "duration": f"seconds of control (default: {SECONDS:g})",
    "quick": f"a run of under a minute: {QUICK_SECONDS:g} seconds of control",
    "fps": "rate of the control loop in Hz (default: %(default)g)",
    "task": "the robot's task (default: %(default)s)",
    "rtc.enabled": "guide each chunk by the one before, and predict it in advance (default: %(default)s)",
    "rtc.execution_horizon": "actions of the old chunk that guide the new one (default: %(default)s)",
    "rtc.max_guidance_weight": "how strongly at most (default: %(default)g)",
    "policy.device": "where the policy runs: cpu, cuda, mps (default: %(default)s)",
    "policy.freeze": "remedy: no gradients of the policy's parameters, which guidance computes and are never used",
    "use_torch_compile": "remedy: compile the policy's denoising step",
    "action_queue_size_to_get_new_actions": "with chunking, predict the next chunk when so few actions are left "
    "(default: %(default)s); without, when none is",
    "delay_estimate": "remedy: what the next delay is estimated by: max of all, or the 95th percentile of the last 20 "
    "(default: %(default)s)",
    "warmup_chunks": "remedy: chunks predicted before control begins, so that a cold start is no part of it "
    "(default: %(default)s)",
    "slow_drawing": "draw with shadows, reflections and multisampling, as MuJoCo does by default",
    "camera_width": "of the camera's pictures, in pixels (default: %(default)s)",
    "camera_height": "of the camera's pictures, in pixels (default: %(default)s)",
    "threads": "torch threads; on busy cores more are slower than one (default: %(default)s)",
    "seed": "of the policy's weights and its noise (default: %(default)s)",
}


class EvalOptions(NamedTuple):
    """A checked command line."""

    duration: float
    fps: float
    task: str
    rtc_enabled: bool
    execution_horizon: int
    guidance_weight: float
    device: str
    freeze: bool
    use_torch_compile: bool
    refill_at: int
    delay_estimate: str
    warmup_chunks: int
    slow_drawing: bool
    camera_width: int
    camera_height: int
    threads: int
    seed: int

    @property
    def ticks(self) -> int:
        """How many ticks of control that is."""
        return max(1, round(self.duration * self.fps))


def parse(arguments: list[str] | None = None) -> EvalOptions:
    """Read a command line; what makes no sense ends the program with one line and exit status 2."""
    parser = _parser()
    chosen = vars(parser.parse_args(arguments))
    quick = chosen.pop("quick")
    if chosen["duration"] is None:
        chosen["duration"] = QUICK_SECONDS if quick else SECONDS
    options = EvalOptions(**chosen)
    if options.execution_horizon > CHUNK:
        parser.error(f"--rtc.execution_horizon {options.execution_horizon} is more than a chunk of {CHUNK}")
    if options.refill_at >= CHUNK:
        parser.error(
            f"--action_queue_size_to_get_new_actions {options.refill_at} is a chunk of {CHUNK} or more"
        )
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="eval_with_robot.py",
        description="Let a policy drive the simulated ALOHA robot, and see where the time of control goes.",
        epilog="Run it as `ticktree run eval_with_robot.py ...` to get the tree of the whole run at the end.",
    )
    add = parser.add_argument
    add("--duration", type=positive, metavar="S", help=HELP["duration"])
    add("--quick", action="store_true", help=HELP["quick"])
    add("--fps", type=positive, default=30.0, metavar="HZ", help=HELP["fps"])
    add("--task", default=TASK, help=HELP["task"])
    add(
        "--rtc.enabled",
        dest="rtc_enabled",
        type=yes_or_no,
        default=True,
        metavar="BOOL",
        help=HELP["rtc.enabled"],
    )
    _add_number(parser, "rtc.execution_horizon", "execution_horizon", 1, 20)
    add(
        "--rtc.max_guidance_weight",
        dest="guidance_weight",
        type=positive,
        default=10.0,
        metavar="X",
        help=HELP["rtc.max_guidance_weight"],
    )
    add("--policy.device", "--device", dest="device", type=device, default="cpu", help=HELP["policy.device"])
    add("--policy.freeze", dest="freeze", action="store_true", help=HELP["policy.freeze"])
    add("--use_torch_compile", action="store_true", help=HELP["use_torch_compile"])
    _add_number(parser, "action_queue_size_to_get_new_actions", "refill_at", 0, 30)
    add("--delay_estimate", choices=("max", "p95"), default="max", help=HELP["delay_estimate"])
    _add_number(parser, "warmup_chunks", "warmup_chunks", 0, 0)
    add("--slow_drawing", action="store_true", help=HELP["slow_drawing"])
    _add_number(parser, "camera_width", "camera_width", 16, 640)
    _add_number(parser, "camera_height", "camera_height", 16, 480)
    _add_number(parser, "threads", "threads", 1, 1)
    _add_number(parser, "seed", "seed", 0, 0)
    return parser


def _add_number(parser: argparse.ArgumentParser, flag: str, name: str, least: int, default: int) -> None:
    parser.add_argument(
        f"--{flag}", dest=name, type=whole_number(least), default=default, metavar="N", help=HELP[flag]
    )
