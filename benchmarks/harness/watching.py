"""Measure a program in adjacent windows, with and without a watcher: each pair of windows gives one ratio.

What watching does to the program takes a small part of a window, so a window counts as a whole; a median of its
blocks would leave out just that part. A loop with two `time.perf_counter_ns()` calls, block by block next to the
section, shows what the machine did to any code meanwhile.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Protocol

from harness.race import Block, empty_loop, settled_heap, two_clock_reads
from harness.report import Absent, Figure, options, progress
from harness.spread import Spread
from ticktree import section

TARGET = 1.03
BLOCK_NS = 4_000_000
GROUPS, SECTIONS = 12, 8  # nodes that are there to be read, entered now and then as a program's are
CLOCKS: dict[str, Callable[[], int]] = {
    "processor time": time.process_time_ns,
    "on the clock": time.perf_counter_ns,
}


def parsed_options(description: str | None) -> argparse.Namespace:
    """The options of a benchmark of this kind."""
    parser = options(description)
    parser.add_argument("--pairs", type=int, help="pairs of windows (default: 40, quick: 6)")
    parser.add_argument("--seconds", type=float, default=3.0, help="a window's length (default: %(default)s)")
    arguments = parser.parse_args()
    arguments.pairs = arguments.pairs or (6 if arguments.quick else 40)
    return arguments


def by_name(turns: int) -> None:
    for _ in repeat(None, turns):
        with section("x"):
            pass


def round_the_tree() -> None:
    """Enter every node once."""
    for group in range(GROUPS):
        with section(f"group {group}"):
            for index in range(SECTIONS):
                with section(f"section {index}"):
                    pass


BLOCKS: dict[str, Block] = {"section": by_name, "clock": two_clock_reads, "bare": empty_loop}


class Watcher(Protocol):
    """A program that watches this process."""

    def attach(self) -> None:
        """Let it watch."""

    def detach(self) -> None:
        """Let it stand still."""

    def readings(self) -> int:
        """How many times it has read so far, as far as is known here."""


@dataclass
class Window:
    """What all blocks of a window took together, by clock and block, and how often the watcher read."""

    took_ns: dict[tuple[str, str], int] = field(default_factory=dict)
    turns: int = 0
    readings: int = 0

    def cost_ns(self, clock: str, block: str) -> float:
        """Nanoseconds a turn of a block, less the empty loop's."""
        return (self.took_ns[clock, block] - self.took_ns[clock, "bare"]) / self.turns


def window(seconds: float, turns: int, watcher: Watcher) -> Window:
    """Run the blocks in turn for some seconds."""
    result = Window(dict.fromkeys(((clock, block) for clock in CLOCKS for block in BLOCKS), 0))
    until = time.monotonic() + seconds
    readings = watcher.readings()
    while time.monotonic() < until:
        for name, block in BLOCKS.items():
            before = {clock: read() for clock, read in CLOCKS.items()}
            block(turns)
            for clock, read in CLOCKS.items():
                result.took_ns[clock, name] += read() - before[clock]
        result.turns += turns
        watcher.readings()
        round_the_tree()
    result.readings = watcher.readings() - readings
    return result


def pairs_of(watcher: Watcher, count: int, seconds: float) -> list[tuple[Window, Window]]:
    """Neighbouring windows, one with the watcher and one without; which comes first alternates."""
    pairs = []
    with settled_heap():
        turns = turns_in(BLOCK_NS)
        for number in range(count):
            progress(f"pair {number + 1} of {count}")
            windows: dict[bool, Window] = {}
            for is_attached in (True, False) if number % 2 else (False, True):
                (watcher.attach if is_attached else watcher.detach)()
                windows[is_attached] = window(seconds, turns, watcher)
            pairs.append((windows[True], windows[False]))
    return pairs


def turns_in(block_ns: int) -> int:
    """How many turns of the section fill a block."""
    start = time.process_time_ns()
    by_name(10_000)
    return max(1000, 10_000 * block_ns // max(1, time.process_time_ns() - start))


def lines(pairs: Sequence[tuple[Window, Window]], looks: str) -> list[Figure | Absent]:
    """The figures; `looks` is what a look is called, several of them."""
    readings = sum(attached.readings for attached, _ in pairs)
    readings_detached = sum(detached.readings for _, detached in pairs)
    note = f"{readings} {looks} with it, {readings_detached} while it stood still"
    # On the clock alone, a busy machine's other programs count too, and more of them at times than at others.
    targets = {"processor time": TARGET, "on the clock": None}
    result: list[Figure | Absent] = []
    for clock in CLOCKS:
        ratios = {
            block: [a.cost_ns(clock, block) / d.cost_ns(clock, block) for a, d in pairs]
            for block in ("section", "clock")
        }
        relative = [
            ratio / clock_ratio for ratio, clock_ratio in zip(ratios["section"], ratios["clock"], strict=True)
        ]
        cost_ns = Spread.of([detached.cost_ns(clock, "section") for _, detached in pairs]).median
        result += [
            line(f"section, {clock}", ratios["section"], targets[clock], note, cost_ns),
            line(
                f"two perf_counter_ns() calls, {clock}",
                ratios["clock"],
                None,
                "what the machine did to any code",
            ),
            line(f"section by the two calls, {clock}", relative, TARGET, "free of what happened to both"),
        ]
    return result


def line(name: str, ratios: list[float], target: float | None, note: str, cost_ns: float = 0.0) -> Figure:
    spread = Spread.of(ratios)
    also = {"95% from": spread.sure_low, "to": spread.sure_high}
    if cost_ns:
        also["ns a section, alone"] = cost_ns
    return Figure.of_spread(name, spread, "x", target=target, also=also, note=note)
