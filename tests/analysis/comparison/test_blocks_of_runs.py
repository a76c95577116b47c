"""Blocks of a run, and that two runs of one program are hardly ever called different."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ticktree.analysis.comparison.compare import BLOCKS, block_means, compare
from ticktree.profile import Node, Profile, Stats
from ticktree.profile.stats import Windows


def node_of(durations: np.ndarray, warmup: int = 0) -> Node:
    ends = np.cumsum(durations)
    width = 10_000_000
    while ends[-1] // width >= 64:
        width *= 2
    counts: dict[int, int] = {}
    totals: dict[int, int] = {}
    for end, duration in zip(ends, durations, strict=True):
        index = int(end // width)
        counts[index] = counts.get(index, 0) + 1
        totals[index] = totals.get(index, 0) + int(duration)
    return Node(
        name="x",
        steady=Stats.of([int(duration) for duration in durations[warmup:]]),
        warmup=Stats.of([int(duration) for duration in durations[:warmup]]) if warmup else None,
        windows=Windows(width, counts, totals),
    )


def test_every_run_has_the_same_number_of_blocks_or_none():
    assert len(block_means(node_of(np.full(400, 2e7)))) == BLOCKS
    assert len(block_means(node_of(np.full(BLOCKS, 2e7)))) == BLOCKS
    assert block_means(node_of(np.full(3, 2e7))) == []
    assert block_means(Node(name="never")) == []


def test_the_warm_up_is_in_no_block():
    durations = np.concatenate([np.full(20, 2e8), np.full(400, 2e7)])
    steady = block_means(node_of(durations, warmup=20))
    assert len(steady) == BLOCKS
    assert steady == pytest.approx([2e7] * len(steady))
    whole = node_of(durations)
    assert sum(whole.windows.totals.values()) / whole.windows.count > 2.5e7


def run_of(rng: np.random.Generator, memory: float, slower: float = 0.0) -> Profile:
    """A run of 2,000 ticks that scatter by 10% and keep `memory` of the tick before, at a level of its own."""
    waves, wave = np.empty(2000), rng.normal()
    for at, fresh in enumerate(np.sqrt(1 - memory**2) * rng.normal(size=len(waves))):
        waves[at] = wave = memory * wave + fresh
    level = (1 + slower) * np.exp(rng.normal(0, 0.015))
    node = replace(node_of(2e7 * level * np.exp(0.1 * waves)), name="train")
    return Profile(Node(name="root", children={"train": node}))


@pytest.mark.parametrize("memory", [0.0, 0.9, 0.99])
def test_two_runs_of_the_same_program_rarely_differ(memory):
    """Where the level differs by 1.5% from start to start, as it does: of the stretches alone 32 in 100 were."""
    rng = np.random.default_rng(7)
    alarms = sum(
        compare([run_of(rng, memory)], [run_of(rng, memory)]).entries[0].verdict != "inconclusive"
        for _ in range(60)
    )
    assert alarms <= 3


def test_one_run_per_side_detects_a_slowdown_of_a_quarter():
    rng = np.random.default_rng(11)
    found = [compare([run_of(rng, 0.9)], [run_of(rng, 0.9, 0.25)]).entries[0].verdict for _ in range(20)]
    assert found.count("slower") >= 18
