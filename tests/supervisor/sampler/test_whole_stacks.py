"""Stacks of generators and of deep calls are complete."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.sampled_runs import of_root, run_sampled, share_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets one process read another")


@pytest.mark.slow
def test_a_generator_suspended_during_a_read_does_not_cut_the_stack(tmp_path: Path) -> None:
    source = """
def inner():
    while True: yield sum(range(30))
def outer(): yield from inner()
def drain():
    end = time.perf_counter() + 2
    for _ in outer():
        if time.perf_counter() > end: return
drain()
"""
    profile, _ = run_sampled(tmp_path, source, "--sample", "200")
    functions = [[line.function for line in stack.lines] for stack in of_root(profile).stacks]
    generator_stacks = [names for names in functions if "inner" in names or "outer" in names]
    assert generator_stacks
    assert all("drain" in names for names in generator_stacks)


def test_generators_and_deep_recursion_are_walked(tmp_path: Path) -> None:
    source = """
def numbers():
    while True:
        work(0.01)
        yield 1
def take(n):
    for _, number in zip(range(n), numbers()): pass
def deep(n):
    return work(0.6) if not n else deep(n - 1)
sys.setrecursionlimit(5000)
take(60)
deep(900)
"""
    profile, _ = run_sampled(tmp_path, source, "--sample", "200")
    time = of_root(profile)
    # Stacks of a hundred lines take longer to read, so that more of them change meanwhile and are dropped.
    shares = share_of(time, ["numbers"]), share_of(time, ["deep"])
    assert min(shares) > 0.1
    assert sum(shares) > 0.8
    max_depth = max(len(stack.lines) for stack in time.stacks)
    assert 100 < max_depth <= 128  # the middle is left out
