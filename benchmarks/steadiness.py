"""How often a trend or a change point is reported for a steady loop, and for a loop that has one.

Loops are made up: ticks around 10 ms whose logarithms are an AR(1) process, with or without bursts of noise, booked in
windows as the recorder books them. Nothing is timed, so the machine's speed changes no figure.

    python benchmarks/steadiness.py [--trials N] [--steady]
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ticktree.analysis.drift import loop_change
from ticktree.profile import Node, Stats, Windows

Ticks = npt.NDArray[np.float64]

TICK_NS = 10_000_000
SPREAD = 0.1
MAX_WINDOWS = 64
COUNTS = (100, 1000, 10_000)
CORRELATIONS = (0.0, 0.5, 0.9)
# Now and then a few ticks take three times as long; in a short run fewer, or they were a phase of it.
BURST_EVERY, BURST_TICKS, BURST_SHARE, BURST_FACTOR = 200, 12, 0.03, 3.0


class Row(NamedTuple):
    """What is reported for loops of one sort, as parts of all of them.

    Attributes:
        loop: what was done to it.
        ticks: how many.
        correlation: of neighbours.
        bursts: whether there were any.
        drift: drift reported.
        phase_change: change reported.
    """

    loop: str
    ticks: int
    correlation: float
    bursts: bool
    drift: float
    phase_change: float


def ticks_of(random: np.random.Generator, count: int, correlation: float, bursts: bool = False) -> Ticks:
    """Durations of a steady loop, in ns."""
    noise = random.normal(size=count)
    levels = np.empty(count)
    level = noise[0]
    for index in range(count):
        level = correlation * level + math.sqrt(1 - correlation**2) * noise[index] if index else noise[0]
        levels[index] = level
    ticks = TICK_NS * np.exp(SPREAD * levels)
    if bursts:
        for begin in np.flatnonzero(random.random(count) < 1 / BURST_EVERY):
            ticks[begin : begin + min(BURST_TICKS, round(BURST_SHARE * count))] *= BURST_FACTOR
    return ticks


def node_of(ticks: Ticks) -> Node:
    """A loop's node with windows as wide as the recorder makes them: so many at most."""
    ends = np.cumsum(ticks).astype(np.int64)
    width_ns = 10_000_000
    while ends[-1] // width_ns >= MAX_WINDOWS:
        width_ns *= 2
    counts: Counter[int] = Counter()
    totals: Counter[int] = Counter()
    for end, tick in zip((ends // width_ns).tolist(), ticks.astype(np.int64).tolist(), strict=True):
        counts[end] += 1
        totals[end] += tick
    every = ticks.astype(np.int64).tolist()
    return Node(
        name="loop", self_ns=sum(every), steady=Stats.of(every), windows=Windows(width_ns, counts, totals)
    )


def rising(ticks: Ticks, factor: float) -> Ticks:
    """The same loop, slower by `factor` at its end than at its beginning."""
    return ticks * np.linspace(1, factor, len(ticks))


def stepping(ticks: Ticks, factor: float) -> Ticks:
    """The same loop, slower by `factor` in its last third."""
    return np.where(np.arange(len(ticks)) < 2 * len(ticks) // 3, ticks, ticks * factor)


def passing(ticks: Ticks, factor: float) -> Ticks:
    """The same loop, slower by `factor` in its middle third."""
    index = np.arange(len(ticks))
    inside = (index >= len(ticks) // 3) & (index < 2 * len(ticks) // 3)
    return np.where(inside, ticks * factor, ticks)


def shares(trials: int, seed: int, make: Callable[[np.random.Generator], Ticks]) -> tuple[float, float]:
    """The parts of so many loops for which drift, and change, are reported."""
    random = np.random.default_rng(seed)
    counts: Counter[str] = Counter()
    for _ in range(trials):
        course = loop_change(node_of(make(random)))
        if course is not None:
            counts[course.kind] += 1
    return counts["trend"] / trials, counts["step"] / trials


def cases() -> Iterator[tuple[str, Callable[[Ticks], Ticks]]]:
    """What is done to a steady loop."""
    yield "steady", lambda ticks: ticks
    yield "slower by 10% at its end", lambda ticks: rising(ticks, 1.1)
    yield "slower by 20% at its end", lambda ticks: rising(ticks, 1.2)
    yield "slower by 10% in its last third", lambda ticks: stepping(ticks, 1.1)
    yield "slower by 20% in its last third", lambda ticks: stepping(ticks, 1.2)
    yield "slower by 20% in its middle third", lambda ticks: passing(ticks, 1.2)


def rows(trials: int, only_steady: bool) -> Iterator[Row]:
    """Ask of every case, and yield what was found."""
    for name, change in list(cases())[: 1 if only_steady else None]:
        for count, correlation, bursts in product(COUNTS, CORRELATIONS, (False, True)):
            seed = round(1000 * correlation) + count + bursts
            make = partial(_made, change, count, correlation, bursts)
            yield Row(name, count, correlation, bursts, *shares(trials, seed, make))


def _made(
    change: Callable[[Ticks], Ticks],
    count: int,
    correlation: float,
    bursts: bool,
    random: np.random.Generator,
) -> Ticks:
    return change(ticks_of(random, count, correlation, bursts))


def main() -> None:
    """Print a row for each case, as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=300, help="loops a case (default: %(default)s)")
    parser.add_argument("--steady", action="store_true", help="only loops that are steady")
    parser.add_argument("--quick", action="store_true", help="20 loops a case")
    parser.add_argument("--json", action="store_true", help="one document with every number unrounded")
    chosen = parser.parse_args()
    table = rows(20 if chosen.quick else chosen.trials, chosen.steady)
    if chosen.json:
        print(json.dumps([row._asdict() for row in table], indent=1))
        return
    print(f"{'loop':34} {'ticks':>6} {'AR(1)':>6} {'bursts':>6} {'drift':>7} {'phase change':>13}")
    for row in table:
        print(
            f"{row.loop:34} {row.ticks:6} {row.correlation:6} {'yes' if row.bursts else 'no':>6}"
            f" {row.drift:7.1%} {row.phase_change:13.1%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
