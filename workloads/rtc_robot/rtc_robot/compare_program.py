"""The comparison: the same policy in two ways, chunk by chunk in turn, and what follows from it."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lerobot.policies.rtc.action_queue import ActionQueue

import ticktree
from ticktree.profile import Stats

from .aloha_robot import CAMERA
from .aloha_world import JOINTS, AlohaWorld
from .checklist import answers
from .chunks import ChunkSource, all_time_maximum
from .compare_options import CompareOptions, parse
from .detail import time_methods
from .policy import Policy, PolicySettings, build_policy, parameters
from .recording import record_anyway
from .rows import ROWS, row, table
from .verdict import Verdict, judge

PLAIN, GUIDED = WAYS = ("without RTC", "with RTC")
FPS = 30.0
TASK = "pick up the red cube"


def main(arguments: list[str] | None = None) -> int:
    """Run the program with this command line and return its exit status."""
    options = parse(arguments)
    torch.set_num_threads(options.threads)
    record_anyway()
    names = list(ROWS)
    with ticktree.section("build"):
        policies = {way: _build(options, rtc=way == GUIDED) for way in WAYS}
        if options.enable_detailed_profiling:
            for policy in policies.values():
                detail = time_methods(policy.model)
            names += detail
    print(_describe(options, policies[PLAIN]), flush=True)
    torch.manual_seed(options.seed)
    _predict_in_turn(options, policies)
    profile = ticktree.snapshot()
    for way in WAYS:
        print(f"\n{way}, {options.num_iterations} chunks after {options.warmup} of warm-up")
        print("\n".join(table(profile, names, way, steady=True)))
    verdict = _verdict(profile)
    print(f"\n{_throughput(profile)}\nverdict     {verdict or 'nothing was recorded'}\n")
    print("\n".join(str(answer) for answer in answers(profile, options, verdict, WAYS)), flush=True)
    return 0


def _predict_in_turn(options: CompareOptions, policies: dict[str, Policy]) -> None:
    """One chunk in each way an iteration: what disturbs the machine for a while disturbs both."""
    observation = _observation(options.seed)
    sources = {way: _source(policy) for way, policy in policies.items()}
    for _ in ticktree.loop(
        "iteration", range(options.warmup + options.num_iterations), warmup=options.warmup
    ):
        for way, source in sources.items():
            with ticktree.section(way):
                source.next_chunk(observation, time.perf_counter())
            with ticktree.section("execute"):
                for _ in range(options.execution_horizon):
                    source.queue.get()


def _source(policy: Policy) -> ChunkSource:
    return ChunkSource(policy, ActionQueue(policy.model.config.rtc_config), TASK, FPS, all_time_maximum)


def _build(options: CompareOptions, *, rtc: bool) -> Policy:
    settings = PolicySettings(
        device=options.device,
        rtc=rtc,
        execution_horizon=options.execution_horizon,
        freeze=options.freeze,
        compiled=options.use_torch_compile,
        seed=options.seed,
    )
    with tempfile.TemporaryDirectory() as folder:
        return build_policy(Path(folder), settings)


def _observation(seed: int) -> dict[str, Any]:
    """What a robot at home would see, were its camera only noise."""
    noise = np.random.default_rng(seed)
    joints = {f"{joint}.pos": at for joint, at in zip(JOINTS, AlohaWorld().home.tolist(), strict=True)}
    return {**joints, CAMERA: noise.integers(0, 256, (480, 640, 3), dtype=np.uint8)}


def _verdict(profile: ticktree.Profile) -> Verdict | None:
    nodes = {path: node for path, _, node in profile.root.walk()}
    inferences = [nodes.get(f"iteration/{way}/get_actions.policy_inference") for way in WAYS]
    plain, guided = (Stats() if node is None else node.steady for node in inferences)
    return judge(plain, guided)


def _throughput(profile: ticktree.Profile) -> str:
    lines = ["throughput"]
    for way in WAYS:
        chunk = row(profile, way, steady=True)
        if chunk is not None and chunk.p50:
            lines.append(f"  {way:<12} {1000 / chunk.p50:.2f} chunks a second")
    return "\n".join(lines)


def _describe(options: CompareOptions, policy: Policy) -> str:
    return (
        f"SmolVLA of {parameters(policy.model) / 1e6:.1f} M random parameters on {options.device}, horizon "
        f"{options.execution_horizon}, {'compiled' if options.use_torch_compile else 'not compiled'}, parameters "
        f"{'frozen' if options.freeze else 'not frozen'}, torch threads {options.threads}, seed {options.seed}"
    )
