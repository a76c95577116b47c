"""The run: everything built, filled, trained and told."""

from __future__ import annotations

import time
from pathlib import Path

import cv2
import torch

import ticktree

from .agent import Metrics, SacAgent, Settings, seed_everything
from .breakdown import declare_breakdown
from .budget import Budget
from .buffers import BUFFERS, make_buffer
from .environment import make_environment
from .episode import Episodes
from .memcpy import measure_memcpy
from .options import Options, parse
from .training import fill, train

TELL_EVERY = 10


def main(arguments: list[str] | None = None) -> int:
    """Run the program with this command line and return its exit status."""
    options = parse(arguments)
    torch.set_num_threads(options.threads)
    cv2.setNumThreads(options.threads)
    seed_everything(options.seed)
    if options.verbose_every:
        ticktree.enable()  # a budget is asked for, so something must be recorded even without `ticktree run`

    measure_memcpy()
    with ticktree.section("build"):
        buffer = make_buffer(options.buffer, options.room, options.device, options.seed)
        settings = Settings(freeze_critics=options.freeze_critics, synchronize=options.sync)
        agent = SacAgent(options.room.shape, options.room.actions, options.device, settings)
        environment = make_environment(normalize=buffer.normalized)
        episodes = Episodes(environment, buffer, options.seed)
    if options.declare_breakdown:
        declare_breakdown(agent.actor.encoder, options.room)
    print(_describe(options))

    began = time.perf_counter()
    fill(episodes, options.fill, options.room.actions, options.seed)
    print(f"filled: {_rate(options.fill, time.perf_counter() - began, 'steps')}")
    seconds = train(episodes, agent, buffer, options.updates, options.batch, _Reporter(options.verbose_every))
    print(f"trained: {_rate(options.updates, seconds, 'updates')}")
    if episodes.returns:
        print(f"episodes: {len(episodes.returns)}, return of the last {episodes.returns[-1]:.1f}")
    environment.close()
    if options.save:
        _save(agent, options.save)
    return 0


class _Reporter:
    """Prints how training goes, and the budget where it was asked for."""

    def __init__(self, verbose_every: int) -> None:
        self._verbose_every = verbose_every
        self._budget = Budget()

    def __call__(self, update: int, metrics: Metrics) -> None:
        if update == 1 or update % TELL_EVERY == 0:
            critics = f"{metrics.critic_1_loss:.4f} {metrics.critic_2_loss:.4f}"
            rest = f"actor {metrics.actor_loss:.3f}  alpha {metrics.alpha:.4f}"
            print(f"update {update}: critics {critics}  {rest}", flush=True)
        if self._verbose_every and update % self._verbose_every == 0:
            print(self._budget.render(update), flush=True)


def _describe(options: Options) -> str:
    gigabytes = BUFFERS[options.buffer].bytes_needed(options.room) / 1e9
    return (
        f"visual SAC: batch {options.batch} from a {options.buffer} buffer of {options.room.capacity} "
        f"({gigabytes:.2f} GB full), {options.device}, torch threads {options.threads}, seed {options.seed}"
    )


def _rate(count: int, seconds: float, unit: str) -> str:
    return f"{count} {unit} in {seconds:.1f} s" + (f", {count / seconds:.2f} {unit}/s" if seconds else "")


def _save(agent: SacAgent, path: Path) -> None:
    networks = {"actor": agent.actor, "critic_1": agent.critics[0], "critic_2": agent.critics[1]}
    torch.save({name: network.state_dict() for name, network in networks.items()}, path)
