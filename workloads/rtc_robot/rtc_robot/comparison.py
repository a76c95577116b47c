"""The comparison: the same policy with and without chunking, chunk by chunk in turn: `compare_rtc.py`."""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lerobot.policies.rtc.action_queue import ActionQueue

import ticktree
from ticktree import Profile
from ticktree.profile import Stats

from .aloha import CAMERA, JOINTS, AlohaWorld
from .control import ChunkSource, all_time_maximum
from .evaluation import (
    ROWS,
    Row,
    add_shared_args,
    check_actions,
    check_least,
    device,
    record_anyway,
    row,
    table,
)
from .policy import CHUNK, Policy, PolicySettings, build_policy, parameters, time_methods

PLAIN, GUIDED = WAYS = ("without RTC", "with RTC")
FPS = 30.0
TASK = "pick up the red cube"
ITERATIONS, QUICK_ITERATIONS = 50, 12
WARMUP, QUICK_WARMUP = 5, 2
# A difference of at least this many standard errors is significant.
ERRORS = 3.0
# The quartiles of a normal distribution lie so far apart, in deviations; and its median is so much less certain than
# its mean.
_QUARTILES, _MEDIAN = 1.349, 1.2533


@dataclass(frozen=True, slots=True)
class Verdict:
    """What two ways take, in nanoseconds.

    Attributes:
        plain: median without.
        guided: median with.
        error: standard error of their difference.
    """

    plain: float
    guided: float
    error: float

    @property
    def ratio(self) -> float:
        """How many times as long it takes with."""
        return self.guided / self.plain

    @property
    def word(self) -> str:
        """`slower`, `faster` or `cannot tell`."""
        difference = self.guided - self.plain
        if abs(difference) <= ERRORS * self.error:
            return "cannot tell"
        return "slower" if difference > 0 else "faster"

    def __str__(self) -> str:
        if self.word == "cannot tell":
            return (
                f"cannot tell: {self.ratio:.2f} times as long with chunking, but that is within the noise of "
                f"+-{ERRORS * self.error / self.plain:.0%}; more iterations, or a quieter machine"
            )
        return f"inference is {self.word} with real-time chunking: {self.ratio:.2f} times as long"


def judge(plain: Stats, guided: Stats) -> Verdict | None:
    """Return the verdict; None where one of them has no calls."""
    if plain.p50_ns is None or guided.p50_ns is None:
        return None
    return Verdict(plain.p50_ns, guided.p50_ns, math.hypot(_median_error(plain), _median_error(guided)))


def _median_error(stats: Stats) -> float:
    """Return the standard error of a median, from the quartiles: a stall or two leave those alone."""
    low, high = stats.quantile_ns(0.25), stats.quantile_ns(0.75)
    if low is None or high is None or stats.count < 2:
        return math.inf
    return _MEDIAN * (high - low) / _QUARTILES / math.sqrt(stats.count)


MIN_ITERATIONS = 10  # and the first chunks are slow: so many are to be left out at least
MIN_WARMUP = 2
MIN_HORIZON = 10
MAX_MERGE_SHARE = 0.05  # a merge that takes more than that of its inference is worth a look


@dataclass(frozen=True, slots=True)
class Answer:
    """One line of the checklist.

    Attributes:
        is_well: whether nothing is to be done about it; None where this run cannot tell.
        question: as users ask it.
        text: the answer, of this run's numbers.
    """

    is_well: bool | None
    question: str
    text: str

    def __str__(self) -> str:
        mark = {True: "x", False: " ", None: "?"}[self.is_well]
        return f"[{mark}] {self.question} {self.text}"


def answers(
    profile: Profile, args: argparse.Namespace, verdict: Verdict | None, ways: tuple[str, str]
) -> list[Answer]:
    """Return the checklist's answers, in its order."""
    return [
        *_inference(verdict),
        *_merge(profile, ways[1]),
        _iterations(profile, args, ways[1]),
        _compilation(args),
        _horizon(args),
        Answer(True, "Same hardware and device?", f"yes: one process, both in turn on {args.device}"),
    ]


def _inference(verdict: Verdict | None) -> Iterator[Answer]:
    if verdict is not None:
        well, answer = {
            "slower": (False, "yes"),
            "faster": (True, "no"),
            "cannot tell": (None, "cannot tell"),
        }[verdict.word]
        yield Answer(well, "Is policy_inference higher with RTC?", f"{answer}: {verdict.ratio:.2f} times")


def _merge(profile: Profile, way: str) -> Iterator[Answer]:
    merge, model = (
        row(profile, f"get_actions.{name}", way, steady=True)
        for name in ("action_queue_merge", "policy_inference")
    )
    if merge is not None and model is not None:
        share = merge.total / model.total
        answer = "yes" if share > MAX_MERGE_SHARE else "no"
        yield Answer(
            share <= MAX_MERGE_SHARE,
            "Does action_queue_merge take long?",
            f"{answer}: {merge.mean:.2f} ms, {share:.2%} of the inference before it",
        )


def _iterations(profile: Profile, args: argparse.Namespace, way: str) -> Answer:
    question = "Enough iterations, and a warm-up before them?"
    enough = args.num_iterations >= MIN_ITERATIONS and args.warmup >= MIN_WARMUP
    answer = f"{'yes' if enough else 'no'}: {args.num_iterations} after {args.warmup}"
    steady = row(profile, "get_actions.policy_inference", way, steady=True)
    every = row(profile, "get_actions.policy_inference", way)
    return Answer(enough, question, answer + _first(steady, every))


def _first(steady: Row | None, every: Row | None) -> str:
    """What the calls that were left out took, where any were."""
    if steady is None or every is None or every.calls == steady.calls:
        return ""
    mean = (every.total - steady.total) / (every.calls - steady.calls)
    return f"; those took {mean:.0f} ms, the others {steady.mean:.0f} ms"


def _compilation(args: argparse.Namespace) -> Answer:
    answer = "yes, in both ways" if args.use_torch_compile else "no, in neither way: --use_torch_compile"
    return Answer(args.use_torch_compile, "Is torch.compile enabled, for both?", answer)


def _horizon(args: argparse.Namespace) -> Answer:
    enough = args.execution_horizon >= MIN_HORIZON
    answer = (
        f"{'yes' if enough else 'no'}: {args.execution_horizon}, and {MIN_HORIZON} to 20 are wanted at least"
    )
    return Answer(enough, "Is the execution horizon large enough?", answer)


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    """Parse compare_rtc.py's command line."""
    parser = argparse.ArgumentParser(
        prog="compare_rtc.py",
        description="Compare inference with and without real-time chunking, chunk by chunk in turn, without a robot.",
        epilog="Run it as `ticktree run compare_rtc.py ...` to get the tree of the whole run at the end.",
    )
    add = parser.add_argument
    add(
        "--num_iterations",
        type=int,
        metavar="N",
        help=f"chunks predicted in each way (default: {ITERATIONS})",
    )
    add(
        "--warmup",
        type=int,
        metavar="N",
        help=f"chunks predicted before those, in each way (default: {WARMUP})",
    )
    add(
        "--quick",
        action="store_true",
        help=f"a run of under a minute: {QUICK_ITERATIONS} chunks after {QUICK_WARMUP}",
    )
    add(
        "--execution_horizon",
        type=int,
        default=20,
        metavar="N",
        help="actions of the old chunk that guide the new one, and that are executed of each (default: %(default)s)",
    )
    add("--device", type=device, default="cpu", help="where the policy runs: cpu, cuda, mps (default: cpu)")
    add("--enable_detailed_profiling", action="store_true", help="also time the methods within the policy")
    add(
        "--use_torch_compile",
        action="store_true",
        help="remedy: compile the policy's denoising step, in both ways",
    )
    add(
        "--freeze",
        action="store_true",
        help="remedy: no gradients of the policy's parameters, which guidance computes and are never used",
    )
    add(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="of weights, noise and the picture (default: %(default)s)",
    )
    add_shared_args(parser)
    args = parser.parse_args(argv)
    if args.num_iterations is None:
        args.num_iterations = QUICK_ITERATIONS if args.quick else ITERATIONS
    if args.warmup is None:
        args.warmup = QUICK_WARMUP if args.quick else WARMUP
    check_least(parser, args, num_iterations=1, warmup=0, seed=0)
    check_actions(parser, "execution_horizon", args.execution_horizon, 1, CHUNK)
    return args


def main(argv: list[str] | None = None) -> int:
    """Run the program with this command line and return its exit status."""
    args = parse_args(argv)
    torch.set_num_threads(args.threads)
    record_anyway()
    names = list(ROWS)
    with ticktree.section("build"):
        policies = {way: _build(args, rtc=way == GUIDED) for way in WAYS}
        if args.enable_detailed_profiling:
            for policy in policies.values():
                detail = time_methods(policy.model)
            names += detail
    print(_describe(args, policies[PLAIN]), flush=True)
    torch.manual_seed(args.seed)
    _predict_in_turn(args, policies)
    profile = ticktree.snapshot()
    for way in WAYS:
        print(f"\n{way}, {args.num_iterations} chunks after {args.warmup} of warm-up")
        print("\n".join(table(profile, names, way, steady=True)))
    verdict = _verdict(profile)
    print(f"\n{_throughput(profile)}\nverdict     {verdict or 'nothing was recorded'}\n")
    print("\n".join(str(answer) for answer in answers(profile, args, verdict, WAYS)), flush=True)
    return 0


def _predict_in_turn(args: argparse.Namespace, policies: dict[str, Policy]) -> None:
    """One chunk in each way an iteration: what disturbs the machine for a while disturbs both."""
    observation = _observation(args.seed)
    sources = {way: _source(policy) for way, policy in policies.items()}
    for _ in ticktree.loop("iteration", range(args.warmup + args.num_iterations), warmup=args.warmup):
        for way, source in sources.items():
            with ticktree.section(way):
                source.next_chunk(observation, time.perf_counter())
            with ticktree.section("execute"):
                for _ in range(args.execution_horizon):
                    source.queue.get()


def _source(policy: Policy) -> ChunkSource:
    return ChunkSource(policy, ActionQueue(policy.model.config.rtc_config), TASK, FPS, all_time_maximum)


def _build(args: argparse.Namespace, *, rtc: bool) -> Policy:
    settings = PolicySettings(
        device=args.device,
        rtc=rtc,
        execution_horizon=args.execution_horizon,
        freeze=args.freeze,
        compiled=args.use_torch_compile,
        seed=args.seed,
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


def _describe(args: argparse.Namespace, policy: Policy) -> str:
    return (
        f"SmolVLA of {parameters(policy.model) / 1e6:.1f} M random parameters on {args.device}, horizon "
        f"{args.execution_horizon}, {'compiled' if args.use_torch_compile else 'not compiled'}, parameters "
        f"{'frozen' if args.freeze else 'not frozen'}, torch threads {args.threads}, seed {args.seed}"
    )
