"""Blocks of ticks: the intervention in each block, and its measurements."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

# The recorder's numbers for them.
NOTHING, FASTER, SLOWER = range(3)

Intervention = tuple[int, int, int]  # one of these, the number of the section, the percentage

# One block in four has no intervention, as in Coz (Curtsinger and Berger, SOSP 2015).
_UNTOUCHED = 4
# How much slower a section is made: small enough not to change how the loop behaves, large enough to measure.
SLOWER_PERCENT = 50


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive ticks of the loop under one intervention, without the first ones, in which the program settled.

    Attributes:
        intervention: `NOTHING`, `FASTER` or `SLOWER`.
        target: the number of the section.
        percent: how much faster or slower the section was made.
        ticks: number of ticks.
        began_ns: when the first tick began.
        ended_ns: when the last tick ended.
        owed_ns: how long all other threads were delayed to make the section appear faster.
        delayed_ns: how long the section that was made slower was delayed.
        forgiven_ns: delay that was owed and never paid; if there is any, the block is not valid.
        half_ns: duration of the first half of the ticks.
        half_owed_ns: the part of `owed_ns` in the first half.
        spent_ns: time in each section, on all threads.
    """

    intervention: int
    target: int
    percent: int
    ticks: int
    began_ns: int
    ended_ns: int
    owed_ns: int
    delayed_ns: int
    forgiven_ns: int
    half_ns: int
    half_owed_ns: int
    spent_ns: tuple[int, ...]

    @property
    def what(self) -> Intervention:
        """The intervention, the number of its section, and its percentage."""
        return self.intervention, self.target, self.percent

    @property
    def tick_ns(self) -> float:
        """The mean tick without the delays: its duration if the section had really been faster."""
        return (self.ended_ns - self.began_ns - self.owed_ns) / self.ticks

    @property
    def is_valid(self) -> bool:
        """Whether the block can be used: every delay was paid."""
        return not self.forgiven_ns and self.tick_ns > 0

    @property
    def drift(self) -> float | None:
        """The logarithm of the ratio of the mean ticks, second half to first half; None if unknown."""
        first = self.half_ns - self.half_owed_ns
        second = self.ended_ns - self.began_ns - self.owed_ns - first
        halves = self.ticks // 2, self.ticks - self.ticks // 2
        if first <= 0 or second <= 0 or not halves[0]:
            return None
        return math.log(second / halves[1]) - math.log(first / halves[0])


def plans(targets: int, speedups: Sequence[int], blocks: int, seed: int) -> list[Intervention]:
    """Return one intervention per block, in random order.

    They come in rounds that contain each intervention once, so that a run that ends early has blocks of all of them.
    The order is random because a fixed one may coincide with a period of the program.

    Args:
        targets: number of sections.
        speedups: by how many percent the sections are made faster.
        blocks: number of blocks to plan.
        seed: seed of the random order.
    """
    shuffled = random.Random(seed)
    changes: list[Intervention] = [(FASTER, at, percent) for at in range(targets) for percent in speedups]
    changes += [(SLOWER, at, SLOWER_PERCENT) for at in range(targets)]
    untouched: list[Intervention] = [(NOTHING, 0, 0)] * -(-len(changes) // (_UNTOUCHED - 1))
    planned: list[Intervention] = []
    while len(planned) < blocks:
        one_round = changes + untouched
        shuffled.shuffle(one_round)
        planned += one_round
    return planned[:blocks]
