"""The two loops of a run: filling the buffer, and training."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import ticktree

from .agent import Metrics, SacAgent
from .buffers import ReplayBuffer
from .episode import Episodes

Report = Callable[[int, Metrics], None]

# Updates in which memory is claimed and kernels are chosen: not what the rest of a run looks like.
WARMUP = 3


def fill(episodes: Episodes, steps: int, actions: int, seed: int) -> None:
    """Take that many random steps, so that the first update has something to draw from."""
    random = np.random.default_rng(seed)
    for _ in ticktree.loop("fill", range(steps)):
        episodes.advance(random.uniform(-1.0, 1.0, actions).astype(np.float32))


def train(
    episodes: Episodes, agent: SacAgent, buffer: ReplayBuffer, updates: int, batch_size: int, report: Report
) -> float:
    """One environment step and one update, again and again; return the seconds it took.

    `report` is called after each update with its number, from 1, and what it measured.
    """
    began = time.perf_counter()
    for update in ticktree.loop("train", range(1, updates + 1), warmup=WARMUP):
        episodes.advance(agent.act(episodes.observation))
        metrics = agent.update(buffer, batch_size)
        with ticktree.section("report"):
            report(update, metrics)
    return time.perf_counter() - began
