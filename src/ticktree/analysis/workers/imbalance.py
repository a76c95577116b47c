"""Imbalance: how unevenly work is shared among equals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ticktree.analysis.survey import Survey
from ticktree.analysis.workers.roles import Unit
from ticktree.profile.stats import rounded_ratio


@dataclass(frozen=True, slots=True)
class Imbalance:
    """How unevenly work is shared.

    Time lost and its share are those of DeRose, Homer and Johnson (Detecting Application Load Imbalance on High
    End Massively Parallel Systems, Euro-Par 2007): the others wait while the busiest works on alone, and with
    even shares all would end after the mean.

    Attributes:
        units: how many share it.
        busiest: who has most to do.
        busiest_ns: how long it works, waits not counted.
        mean_ns: how long they work on average.
    """

    units: int
    busiest: Unit
    busiest_ns: int
    mean_ns: int

    @property
    def lost_ns(self) -> int:
        """How much sooner all would be done, had all as much to do."""
        return self.busiest_ns - self.mean_ns

    @property
    def share(self) -> float:
        """What part of their time is lost: 0 where all have as much to do, 1 where one has everything."""
        # The mean is a whole number: of few nanoseconds, what is lost may look like a little more than all.
        return min(1.0, self.lost_ns / self.busiest_ns * self.units / (self.units - 1))


def imbalance(crew: Sequence[Unit], seen: Survey) -> Imbalance | None:
    """Return how unevenly work is shared among `crew`; None where they are fewer than two, or did next to nothing."""
    if len(crew) < 2:
        return None
    worked = {unit: seen.worked_ns(unit) for unit in crew}
    busiest = max(worked, key=lambda unit: worked[unit])
    mean_ns = rounded_ratio(sum(worked.values()), len(worked))
    # Of a mean below half a nanosecond nothing is a multiple.
    return Imbalance(len(worked), busiest, worked[busiest], mean_ns) if mean_ns else None
