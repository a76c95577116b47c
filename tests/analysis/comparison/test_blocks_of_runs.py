"""Blocks of a run: independent as far as can be, and none where the run says too little."""

from __future__ import annotations

import numpy as np
import pytest

from ticktree.analysis.comparison.blocks import FEWEST, block_means
from ticktree.profile import Node, Stats
from ticktree.profile.windows import Windows


def correlated(count: int, memory: float, seed: int) -> np.ndarray:
    """A series in which each value keeps the share `memory` of the one before: time (1 + memory) / (1 - memory)."""
    rng = np.random.default_rng(seed)
    values = np.empty(count)
    value = rng.normal()
    for at in range(count):
        values[at] = value
        value = memory * value + np.sqrt(1 - memory**2) * rng.normal()
    return values


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


def test_the_more_a_run_remembers_the_fewer_its_blocks():
    few, many = (
        np.mean([len(block_means(node_of(2e7 * np.exp(0.1 * correlated(400, m, s))))) for s in range(20)])
        for m in (0.95, 0.0)
    )
    assert few < 0.7 * many


def test_a_run_too_short_for_any_memory_has_no_blocks_to_compare():
    assert len(block_means(node_of(np.full(3, 2e7)))) < FEWEST
    assert block_means(Node(name="never")) == []


def test_the_warm_up_is_in_no_block():
    durations = np.concatenate([np.full(20, 2e8), np.full(400, 2e7)])
    steady = block_means(node_of(durations, warmup=20))
    assert len(steady) >= FEWEST
    assert steady == pytest.approx([2e7] * len(steady))
    whole = node_of(durations)
    assert sum(whole.windows.totals.values()) / whole.windows.count > 2.5e7
