"""The run with a robot: `eval_with_robot.py`."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from lerobot.policies.rtc.action_queue import ActionQueue

import ticktree
from ticktree import Profile
from ticktree.profile import Stats

from .aloha import Aloha, AlohaConfig
from .control import (
    LOOP,
    ChunkSource,
    Course,
    InferenceThread,
    all_time_maximum,
    control,
    predict,
    recent_p95,
)
from .policy import CHUNK, Policy, PolicySettings, build_policy, parameters

SECONDS, QUICK_SECONDS = 30.0, 8.0
TASK = "pick up the red cube and move it to the other arm"
ESTIMATES = {"max": all_time_maximum, "p95": recent_p95}


def positive(text: str) -> float:
    """Parse a number above 0."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def boolean(text: str) -> bool:
    """Parse true or false, as lerobot's command lines write it."""
    if text.lower() not in ("true", "1", "yes", "false", "0", "no"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return text.lower() in ("true", "1", "yes")


def device(text: str) -> str:
    """Parse a torch device that this machine has: cpu, cuda, mps."""
    try:
        kind = torch.device(text).type
    except RuntimeError:
        raise argparse.ArgumentTypeError(f"no such device: {text}") from None
    if kind == "cuda" and not torch.cuda.is_available():
        raise argparse.ArgumentTypeError("no CUDA device here")
    if kind == "mps" and not torch.backends.mps.is_available():
        raise argparse.ArgumentTypeError("no MPS device here")
    return text


def add_shared_args(parser: argparse.ArgumentParser) -> None:
    """Add the options that all four programs have."""
    parser.add_argument(
        "--threads",
        type=int,
        default=1,
        metavar="N",
        help="torch threads; on busy cores more are slower than one (default: %(default)s)",
    )


def add_robot_args(parser: argparse.ArgumentParser) -> None:
    """Add the options of the two programs that drive the robot."""
    add = parser.add_argument
    add("--duration", type=positive, metavar="S", help=f"seconds of control (default: {SECONDS:g})")
    add("--quick", action="store_true", help=f"a run of under a minute: {QUICK_SECONDS:g} seconds of control")
    add("--task", default=TASK, help="the robot's task (default: %(default)s)")
    add(
        "--policy.device",
        "--device",
        dest="device",
        type=device,
        default="cpu",
        help="where the policy runs: cpu, cuda, mps (default: %(default)s)",
    )
    for side, pixels in (("width", 640), ("height", 480)):
        add(
            f"--camera_{side}",
            type=int,
            default=pixels,
            metavar="N",
            help="of the camera's pictures, in pixels (default: %(default)s)",
        )
    add("--seed", type=int, default=0, metavar="N", help="of the policy's weights (default: %(default)s)")
    add_shared_args(parser)


def check_least(parser: argparse.ArgumentParser, args: argparse.Namespace, **least: int) -> None:
    """End the program with one line if a number is too small."""
    for name, value in {"threads": 1, **least}.items():
        if getattr(args, name) < value:
            parser.error(f"--{name} {getattr(args, name)} is less than {value}")


def check_actions(parser: argparse.ArgumentParser, name: str, value: int, least: int, most: int) -> None:
    """End the program with one line if a number of actions is out of range."""
    if not least <= value <= most:
        parser.error(f"--{name} {value} is not from {least} to {most}: a chunk has {CHUNK} actions")


def check_robot_args(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Check `add_robot_args`' options, fill in the preset, and set `args.ticks`: how many ticks that is."""
    check_least(parser, args, camera_width=16, camera_height=16, seed=0)
    if args.duration is None:
        args.duration = QUICK_SECONDS if args.quick else SECONDS
    args.ticks = max(1, round(args.duration * args.fps))


# What these programs' tables need of ticktree's own instruments: the queue's depth, and the calls over gRPC.
INSTRUMENTS = ("lerobot", "grpc")


def record_anyway() -> None:
    """Record even without `ticktree run`, which would do this by itself: the programs tell what they recorded."""
    ticktree.enable()
    ticktree.instrument(*INSTRUMENTS)


# In the order in which a chunk meets them; what a run does not have is left out.
ROWS = (
    "robot.get_observation",
    "get_actions.preprocessing",
    "get_actions.policy_inference",
    "rtc.guidance_computation",
    "rtc.denoise",
    "get_actions.postprocessing",
    "get_actions.action_queue_merge",
    "robot.send_action",
)
HEAD = f"{'':<34} {'calls':>6} {'total s':>8} {'mean ms':>8} {'p50 ms':>8} {'min ms':>8} {'max ms':>8}"


@dataclass(frozen=True, slots=True)
class Row:
    """What all calls of one name took, wherever in the tree they were made; milliseconds."""

    name: str
    calls: int
    total: float
    p50: float
    min: float
    max: float

    @property
    def mean(self) -> float:
        """Of a call."""
        return self.total / self.calls

    def __str__(self) -> str:
        numbers = f"{self.mean:>8.2f} {self.p50:>8.2f} {self.min:>8.2f} {self.max:>8.2f}"
        return f"{self.name:<34} {self.calls:>6} {self.total / 1000:>8.2f} {numbers}"


def row(profile: Profile, name: str, below: str = "", *, steady: bool = False) -> Row | None:
    """Return the row of `name`; None where it was never recorded.

    Args:
        profile: what was recorded.
        name: of the section.
        below: count only what was recorded below this section.
        steady: leave the calls of a loop's warm-up out.
    """
    stats = [
        node.steady if steady else node.stats
        for path, _, node in profile.root.walk()
        if node.name == name and (not below or below in path.split("/"))
    ]
    total = sum(stats, Stats())
    if not total.count:
        return None
    return Row(name, total.count, *map(_ms, (total.sum_ns, total.p50_ns, total.min_ns, total.max_ns)))


def table(
    profile: Profile, names: Iterable[str] = ROWS, below: str = "", *, steady: bool = False
) -> list[str]:
    """Return the lines of the table of `names`: those of them that there are."""
    rows = [row(profile, name, below, steady=steady) for name in names]
    return [HEAD, *(str(row) for row in rows if row is not None)]


def _ms(ns: float | None) -> float:
    return 0.0 if ns is None else ns / 1e6


DEPTH = "ActionQueue depth"
LATENCY = "chunk latency, ms"
ESTIMATED, REAL = "delay estimated, actions", "delay real, actions"
AGE = f"{LOOP}/sensor to action"


def describe(profile: Profile, course: Course, fps: float) -> list[str]:
    """Return the lines about a run's deadlines."""
    return [*_ticks(profile, course, fps), *_queue(profile), *_delays(profile, fps), *_age(profile)]


def _ticks(profile: Profile, course: Course, fps: float) -> Iterator[str]:
    loop = profile.loops.get(LOOP)
    if loop is None:
        return
    yield f"ticks of {1000 / fps:.1f} ms   {loop.ticks}, of which {loop.missed} missed their deadline"
    possible = course.ticks - course.before_first
    share = course.starved / possible if possible else 0.0
    starved = f"{course.starved} of {possible} ({share:.1%})"
    yield f"starved ticks      {starved}, and {course.before_first} before the first chunk"


def _queue(profile: Profile) -> Iterator[str]:
    depth = profile.gauges.get(DEPTH)
    if depth is not None and depth.p50 is not None:
        yield f"queue depth        {depth.min:.0f} to {depth.max:.0f}, p50 {depth.p50:.0f}"


def _delays(profile: Profile, fps: float) -> Iterator[str]:
    latency, estimated, real = (profile.gauges.get(name) for name in (LATENCY, ESTIMATED, REAL))
    if latency is not None and latency.p50 is not None:
        in_actions = latency.p50 * fps / 1000
        yield (
            f"chunk latency      p50 {latency.p50:.0f} ms ({in_actions:.1f} actions), "
            f"{latency.min:.0f} to {latency.max:.0f} ms"
        )
    if estimated is not None and real is not None and estimated.p50 is not None and real.p50 is not None:
        yield (
            f"delay, actions     estimated p50 {estimated.p50:.0f}, at last {estimated.last:.0f}; "
            f"executed meanwhile p50 {real.p50:.0f}, at most {real.max:.0f}"
        )


def _age(profile: Profile) -> Iterator[str]:
    nodes = (node for path, _, node in profile.root.walk() if path.endswith(AGE))
    for node in nodes:
        stats = node.stats
        if stats.p50_ns is not None and stats.max_ns is not None:
            yield (
                f"age when acted on  p50 {stats.p50_ns / 1e6:.0f} ms, at most {stats.max_ns / 1e6:.0f} ms "
                "after it was seen"
            )


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    """Parse eval_with_robot.py's command line."""
    parser = argparse.ArgumentParser(
        prog="eval_with_robot.py",
        description="Let a policy drive the simulated ALOHA robot, and see where the time of control goes.",
        epilog="Run it as `ticktree run eval_with_robot.py ...` to get the tree of the whole run at the end.",
    )
    add = parser.add_argument
    add(
        "--fps",
        type=positive,
        default=30.0,
        metavar="HZ",
        help="rate of the control loop in Hz (default: %(default)g)",
    )
    add(
        "--rtc.enabled",
        dest="rtc_enabled",
        type=boolean,
        default=True,
        metavar="BOOL",
        help="guide each chunk by the one before, and predict it in advance (default: %(default)s)",
    )
    add(
        "--rtc.execution_horizon",
        dest="execution_horizon",
        type=int,
        default=20,
        metavar="N",
        help="actions of the old chunk that guide the new one (default: %(default)s)",
    )
    add(
        "--rtc.max_guidance_weight",
        dest="guidance_weight",
        type=positive,
        default=10.0,
        metavar="X",
        help="how strongly at most (default: %(default)g)",
    )
    add(
        "--policy.freeze",
        dest="freeze",
        action="store_true",
        help="remedy: no gradients of the policy's parameters, which guidance computes and are never used",
    )
    add("--use_torch_compile", action="store_true", help="remedy: compile the policy's denoising step")
    add(
        "--action_queue_size_to_get_new_actions",
        dest="refill_at",
        type=int,
        default=30,
        metavar="N",
        help="with chunking, predict the next chunk when so few actions are left (default: %(default)s); "
        "without, when none is",
    )
    add(
        "--delay_estimate",
        choices=list(ESTIMATES),
        default="max",
        help="remedy: what the next delay is estimated by: max of all, or the 95th percentile of the last 20 "
        "(default: %(default)s)",
    )
    add(
        "--warmup_chunks",
        type=int,
        default=0,
        metavar="N",
        help="remedy: chunks predicted before control begins, so that a cold start is no part of it "
        "(default: %(default)s)",
    )
    add(
        "--slow_drawing",
        action="store_true",
        help="draw with shadows, reflections and multisampling, as MuJoCo does by default",
    )
    add_robot_args(parser)
    args = parser.parse_args(argv)
    check_robot_args(parser, args)
    check_least(parser, args, warmup_chunks=0)
    check_actions(parser, "rtc.execution_horizon", args.execution_horizon, 1, CHUNK)
    check_actions(parser, "action_queue_size_to_get_new_actions", args.refill_at, 0, CHUNK - 1)
    return args


def main(argv: list[str] | None = None) -> int:
    """Run the program with this command line and return its exit status."""
    args = parse_args(argv)
    torch.set_num_threads(args.threads)
    record_anyway()
    with ticktree.section("build"):
        with tempfile.TemporaryDirectory() as folder:
            policy = build_policy(Path(folder), _settings(args))
        robot = Aloha(
            AlohaConfig(
                width=args.camera_width,
                height=args.camera_height,
                fast_drawing=not args.slow_drawing,
            )
        )
    print(_describe(args, policy), flush=True)
    torch.manual_seed(args.seed)
    began = time.perf_counter()
    course = _drive(args, policy, robot)
    seconds = time.perf_counter() - began
    profile = ticktree.snapshot()
    print(f"\ncontrol: {course.ticks} ticks in {seconds:.1f} s\n")
    print("\n".join(table(profile)))
    print()
    print("\n".join(describe(profile, course, args.fps)), flush=True)
    return 0


def _drive(args: argparse.Namespace, policy: Policy, robot: Aloha) -> Course:
    queue = ActionQueue(policy.model.config.rtc_config)
    source = ChunkSource(policy, queue, args.task, args.fps, ESTIMATES[args.delay_estimate])
    # Without chunking a new chunk is appended to what is left: the policy is called when nothing is.
    inference = InferenceThread(robot, source, args.refill_at if args.rtc_enabled else 0)
    with robot:
        _warm_up(args, policy, robot)
        inference.start()
        try:
            return control(robot, queue, inference, args.fps, args.ticks)
        finally:
            inference.end()


def _warm_up(args: argparse.Namespace, policy: Policy, robot: Aloha) -> None:
    """Predict some chunks that are not executed: two of them, so that the second is guided by the first."""
    left_over = None
    with ticktree.section("warm up"):
        for _ in range(args.warmup_chunks):
            observation = robot.get_observation()
            delays = {"inference_delay": 1, "prev_chunk_left_over": left_over}
            left_over = predict(policy, observation, args.task, **delays).original
        robot.close_camera()  # its pictures are taken by the inference thread from here on


def _settings(args: argparse.Namespace) -> PolicySettings:
    return PolicySettings(
        device=args.device,
        rtc=args.rtc_enabled,
        execution_horizon=args.execution_horizon,
        guidance_weight=args.guidance_weight,
        freeze=args.freeze,
        compiled=args.use_torch_compile,
        seed=args.seed,
    )


def _describe(args: argparse.Namespace, policy: Policy) -> str:
    rtc = (
        f"with real-time chunking, horizon {args.execution_horizon}"
        if args.rtc_enabled
        else "without real-time chunking"
    )
    return (
        f"ALOHA in MuJoCo at {args.fps:g} Hz for {args.duration:g} s, camera {args.camera_width} x "
        f"{args.camera_height}; SmolVLA of {parameters(policy.model) / 1e6:.1f} M random parameters on "
        f"{args.device}, {rtc}; seed {args.seed}"
    )
