"""Blocks of ticks: what is done in each, and what was measured."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

# As the recorder knows them.
NOTHING, FASTER, SLOWER = range(3)

Intervention = tuple[int, int, int]  # which of these, the number of the section, and by how many percent

# One block in four is left as it is, as in Coz (Curtsinger and Berger, SOSP 2015).
_UNTOUCHED = 4
# A section is made this much slower: so little that a loop stays the loop it is, so much that it can be seen.
SLOWER_PERCENT = 50


@dataclass(frozen=True, slots=True)
class Block:
    """Some ticks of the loop in which one thing was done, without the first, in which the program settled.

    Attributes:
        intervention: nothing, or a section made faster or slower.
        target: the number of the section.
        percent: how much faster or slower.
        ticks: how many ticks.
        began_ns: when they began.
        ended_ns: when they ended.
        owed_ns: how long all other threads were delayed in place of the section that was made faster.
        delayed_ns: how long the section that was made slower was delayed.
        forgiven_ns: what was owed and never paid: then the block says nothing.
        half_ns: how long the first half of the ticks took.
        half_owed_ns: what of `owed_ns` belongs to them.
        spent_ns: what each section took, on all threads.
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
        """What was done in it."""
        return self.intervention, self.target, self.percent

    @property
    def tick_ns(self) -> float:
        """The mean tick, as it would have been had the section really been faster: without the delays."""
        return (self.ended_ns - self.began_ns - self.owed_ns) / self.ticks

    @property
    def is_valid(self) -> bool:
        """Whether it says anything."""
        return not self.forgiven_ns and self.tick_ns > 0

    @property
    def drift(self) -> float | None:
        """The logarithm of how much longer the ticks of its second half were; None where that is not known."""
        first = self.half_ns - self.half_owed_ns
        second = self.ended_ns - self.began_ns - self.owed_ns - first
        halves = self.ticks // 2, self.ticks - self.ticks // 2
        if first <= 0 or second <= 0 or not halves[0]:
            return None
        return math.log(second / halves[1]) - math.log(first / halves[0])


def plans(targets: int, speedups: Sequence[int], blocks: int, seed: int) -> list[Intervention]:
    """Return what to do in each of so many blocks, in random order.

    Round after round, in each of which everything is done once, so that a run that ends early has some of all.
    Whatever is done in a fixed order may be in step with what the program does.

    Args:
        targets: how many sections there are.
        speedups: by how many percent they are made faster.
        blocks: how many blocks to plan.
        seed: of the order.
    """
    shuffled = random.Random(seed)
    each: list[Intervention] = [(FASTER, at, percent) for at in range(targets) for percent in speedups]
    each += [(SLOWER, at, SLOWER_PERCENT) for at in range(targets)]
    untouched: list[Intervention] = [(NOTHING, 0, 0)] * -(-len(each) // (_UNTOUCHED - 1))
    planned: list[Intervention] = []
    while len(planned) < blocks:
        some = each + untouched
        shuffled.shuffle(some)
        planned += some
    return planned[:blocks]
