"""The two programs: one teaches the models, the other drives with them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

import torch

import ticktree

from .checkpointed_driver import CheckpointedDriver
from .driver import Driver
from .env import RestVisionEnv
from .options import Driving, parse_driving, parse_training
from .pilot import Pilot
from .pretraining import Pilots, pretrain
from .rest_client import RestClient
from .server_process import game_server


def train(arguments: list[str] | None = None) -> int:
    """Teach the models, write them to a file, and return the exit status."""
    options = parse_training(arguments)
    _prepare(options.threads)
    began = time.perf_counter()
    pilots = pretrain(options.plan)
    pilots.save(options.out)
    print(f"taught {len(pilots.many)} models, and one, in {time.perf_counter() - began:.1f} s: {options.out}")
    return 0


@contextmanager
def ready(arguments: list[str] | None = None) -> Iterator[tuple[Driving, RestVisionEnv, Sequence[Pilot]]]:
    """Read the command line; what comes out is that, a game to play, and the models that play it."""
    options = parse_driving(arguments)
    _prepare(options.threads)
    with ticktree.section("policies"):
        pilots = _chosen(
            Pilots.load(options.policies) if options.policies else pretrain(options.plan), options
        )
    started = (
        nullcontext(options.server) if options.server else game_server(server_timing=options.server_timing)
    )
    with started as address:
        rest = RestClient(address)
        try:
            yield options, RestVisionEnv(rest, options.frames, options.draw), pilots
        finally:
            rest.close()


def drive(driver: Driver, env: RestVisionEnv, options: Driving) -> None:
    """Drive that many steps, over as many games as they last, and say how it went."""
    driver.reset(options.seed)
    games, tiles, reward = 1, 0, 0.0
    began = time.perf_counter()
    for step in range(1, options.steps + 1):
        _, observation = driver.step()
        tiles, reward = observation["tiles"], observation["reward"]
        if (
            isinstance(driver, CheckpointedDriver)
            and step > options.after
            and step % options.print_every == 0
        ):
            print(driver.cps, flush=True)
        if observation["over"] and step < options.steps:
            games += 1
            driver.reset(options.seed + games - 1)
    seconds = time.perf_counter() - began
    print(
        f"{options.variant}: {options.steps} steps in {seconds:.1f} s, {1e3 * seconds / options.steps:.1f} ms each; "
        f"game {games}: {tiles} of {env.course_length} tiles, reward {reward:.1f}"
    )


def _chosen(pilots: Pilots, options: Driving) -> Sequence[Pilot]:
    if options.variant == "one":
        return [pilots.one]
    return pilots.many if options.variant == "sliced" else [pilot.widened() for pilot in pilots.many]


def _prepare(threads: int) -> None:
    torch.set_num_threads(threads)
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
