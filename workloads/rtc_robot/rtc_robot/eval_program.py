"""The run with a robot: everything built, driven, and reported."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import torch
from lerobot.policies.rtc.action_queue import ActionQueue

import ticktree

from .aloha_robot import AlohaRobot
from .chunks import ChunkSource, all_time_maximum, predict, recent_p95
from .config_aloha_robot import AlohaRobotConfig
from .control import Course, control
from .deadlines import describe
from .eval_options import EvalOptions, parse
from .inference import InferenceThread
from .policy import Policy, PolicySettings, build_policy, parameters
from .recording import record_anyway
from .rows import table

ESTIMATES = {"max": all_time_maximum, "p95": recent_p95}


def main(arguments: list[str] | None = None) -> int:
    """Run the program with this command line and return its exit status."""
    options = parse(arguments)
    torch.set_num_threads(options.threads)
    record_anyway()
    with ticktree.section("build"):
        with tempfile.TemporaryDirectory() as folder:
            policy = build_policy(Path(folder), _settings(options))
        robot = AlohaRobot(
            AlohaRobotConfig(
                width=options.camera_width,
                height=options.camera_height,
                fast_drawing=not options.slow_drawing,
            )
        )
    print(_describe(options, policy), flush=True)
    torch.manual_seed(options.seed)
    began = time.perf_counter()
    course = _drive(options, policy, robot)
    seconds = time.perf_counter() - began
    profile = ticktree.snapshot()
    print(f"\ncontrol: {course.ticks} ticks in {seconds:.1f} s\n")
    print("\n".join(table(profile)))
    print()
    print("\n".join(describe(profile, course, options.fps)), flush=True)
    return 0


def _drive(options: EvalOptions, policy: Policy, robot: AlohaRobot) -> Course:
    queue = ActionQueue(policy.model.config.rtc_config)
    source = ChunkSource(policy, queue, options.task, options.fps, ESTIMATES[options.delay_estimate])
    # Without chunking a new chunk is appended to what is left: the policy is called when nothing is.
    inference = InferenceThread(robot, source, options.refill_at if options.rtc_enabled else 0)
    with robot:
        _warm_up(options, policy, robot)
        inference.start()
        try:
            return control(robot, queue, inference, options.fps, options.ticks)
        finally:
            inference.end()


def _warm_up(options: EvalOptions, policy: Policy, robot: AlohaRobot) -> None:
    """Predict some chunks that are not executed: two of them, so that the second is guided by the first."""
    left_over = None
    with ticktree.section("warm up"):
        for _ in range(options.warmup_chunks):
            observation = robot.get_observation()
            delays = {"inference_delay": 1, "prev_chunk_left_over": left_over}
            left_over = predict(policy, observation, options.task, **delays).original
        robot.close_camera()  # its pictures are taken by the inference thread from here on


def _settings(options: EvalOptions) -> PolicySettings:
    return PolicySettings(
        device=options.device,
        rtc=options.rtc_enabled,
        execution_horizon=options.execution_horizon,
        guidance_weight=options.guidance_weight,
        freeze=options.freeze,
        compiled=options.use_torch_compile,
        seed=options.seed,
    )


def _describe(options: EvalOptions, policy: Policy) -> str:
    rtc = (
        f"with real-time chunking, horizon {options.execution_horizon}"
        if options.rtc_enabled
        else "without real-time chunking"
    )
    return (
        f"ALOHA in MuJoCo at {options.fps:g} Hz for {options.duration:g} s, camera {options.camera_width} x "
        f"{options.camera_height}; SmolVLA of {parameters(policy.model) / 1e6:.1f} M random parameters on "
        f"{options.device}, {rtc}; seed {options.seed}"
    )
