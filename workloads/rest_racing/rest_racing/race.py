"""The two programs: train the policies, and race with them."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

import torch

import ticktree

from .driver import CheckpointedDriver, Driver
from .env import CARS, RestClient, RestVisionEnv
from .policies import Policy, PolicySet, PretrainConfig, pretrain
from .server import DRAW, game_server


def parse_race_args(argv: list[str] | None = None) -> argparse.Namespace:
    """Read eval.py's command line."""
    parser = argparse.ArgumentParser(
        prog="eval.py",
        description="Race a car that lives in another process, behind HTTP.",
        epilog="Run it as `ticktree run --focus Driver.step --depth 4 eval.py ...` to get the tree of its calls "
        "at the end.",
    )
    add = parser.add_argument
    add(
        "--variant",
        choices=("many", "sliced", "one"),
        default="many",
        help="many policies whose actions are merged, each given the whole input; the same, each given only the "
        "slice that it was trained on; or one policy (default: %(default)s)",
    )
    add(
        "--draw", choices=DRAW, default="all", help="draw all frames, or the last of an action (default: all)"
    )
    add("--steps", type=int, help="of the driver (default: 400)")
    add("--policies", type=Path, metavar="FILE", help="what train.py wrote (default: train first)")
    add("--checkpoints", action="store_true", help="time each part of a step by hand, print running means")
    add("--after", type=int, default=100, help="steps that the means leave out (default: %(default)s)")
    add("--print-every", type=int, default=50, help="steps between lines of means (default: %(default)s)")
    add(
        "--server",
        metavar="ADDRESS",
        help="a running server, such as http://127.0.0.1:8737 (default: start one)",
    )
    add("--no-server-timing", action="store_true", help="the server does not report its sections")
    add_training_args(parser)
    args = parser.parse_args(argv)
    if args.steps is None:
        args.steps = 130 if args.quick else 400
    check_least(parser, args, steps=1, after=0, print_every=1)
    if args.policies and not args.policies.is_file():
        parser.error(f"--policies {args.policies}: there is no such file; train.py makes one")
    if args.server and not args.server.startswith(("http://", "https://")):
        parser.error(f"--server {args.server}: an address begins with http://")
    return args


def parse_train_args(argv: list[str] | None = None) -> argparse.Namespace:
    """Read train.py's command line."""
    parser = argparse.ArgumentParser(
        prog="train.py",
        description="Train the policies that eval.py drives with, from an expert, one car each.",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("policies.pt"), metavar="FILE", help="(default: %(default)s)"
    )
    add_training_args(parser)
    args = parser.parse_args(argv)
    check_least(parser, args)
    if not args.out.absolute().parent.is_dir():
        parser.error(f"--out {args.out}: there is no such directory")
    return args


def add_training_args(parser: argparse.ArgumentParser) -> None:
    """Add the options that both programs have."""
    add = parser.add_argument
    add("--quick", action="store_true", help="a run of under a minute, after short training")
    add("--models", type=int, default=CARS, help="policies to merge (default: %(default)s)")
    add("--frames", type=int, default=5, help="of the game per action (default: %(default)s)")
    add("--lesson", type=int, help="steps of the expert's drive in each car (default: 60)")
    add("--epochs", type=int, help="of training on them (default: 150)")
    add("--threads", type=int, default=1, help="torch threads; on busy cores one is fastest (default: 1)")
    add("--seed", type=int, default=0, help="(default: %(default)s)")


def check_least(parser: argparse.ArgumentParser, args: argparse.Namespace, **least: int) -> None:
    """Fill in presets, end the program in one line where a number is too small, and set `args.pretrain`."""
    if args.lesson is None:
        args.lesson = 16 if args.quick else 60
    if args.epochs is None:
        args.epochs = 40 if args.quick else 150
    least = {**least, "models": 1, "frames": 1, "lesson": 2, "epochs": 1, "threads": 1, "seed": 0}
    for name, value in least.items():
        if getattr(args, name) < value:
            parser.error(f"--{name.replace('_', '-')} {getattr(args, name)} is less than {value}")
    args.pretrain = PretrainConfig(args.models, args.lesson, args.epochs, args.frames, args.seed)


def train(argv: list[str] | None = None) -> int:
    """Train the policies and save them."""
    args = parse_train_args(argv)
    set_up(args.threads)
    start = time.perf_counter()
    policies = pretrain(args.pretrain)
    policies.save(args.out)
    print(f"taught {len(policies.many)} models, and one, in {time.perf_counter() - start:.1f} s: {args.out}")
    return 0


@contextmanager
def set_up_race(
    argv: list[str] | None = None,
) -> Iterator[tuple[argparse.Namespace, RestVisionEnv, Sequence[Policy]]]:
    """Read the command line; yield it with an environment and the policies that drive in it."""
    args = parse_race_args(argv)
    set_up(args.threads)
    with ticktree.section("policies"):
        policy_set = PolicySet.load(args.policies) if args.policies else pretrain(args.pretrain)
        policies = [policy_set.one] if args.variant == "one" else policy_set.many
        if args.variant == "many":
            policies = [policy.widen() for policy in policies]
    server = nullcontext(args.server) if args.server else game_server(server_timing=not args.no_server_timing)
    with server as address:
        client = RestClient(address)
        try:
            yield args, RestVisionEnv(client, args.frames, args.draw), policies
        finally:
            client.close()


def drive(driver: Driver, env: RestVisionEnv, args: argparse.Namespace) -> None:
    """Drive, over as many games as it takes, and print the result."""
    driver.reset(args.seed)
    games, tiles, reward = 1, 0, 0.0
    start = time.perf_counter()
    for step in range(1, args.steps + 1):
        _, obs = driver.step()
        tiles, reward = obs["tiles"], obs["reward"]
        if isinstance(driver, CheckpointedDriver) and step > args.after and step % args.print_every == 0:
            print(driver.cps, flush=True)
        if obs["over"] and step < args.steps:
            games += 1
            driver.reset(args.seed + games - 1)
    seconds = time.perf_counter() - start
    print(
        f"{args.variant}: {args.steps} steps in {seconds:.1f} s, {1e3 * seconds / args.steps:.1f} ms each; "
        f"game {games}: {tiles} of {env.course_length} tiles, reward {reward:.1f}"
    )


def set_up(threads: int) -> None:
    """Set torch's threads, and let pygame draw without a screen."""
    torch.set_num_threads(threads)
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
