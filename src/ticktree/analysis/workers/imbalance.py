"""Imbalance: how unevenly work is shared among equals, and what those of a role did with their time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ticktree.analysis.context import Context
from ticktree.analysis.workers.roles import Role, Unit
from ticktree.analysis.workers.stragglers import equals, whole_lives
from ticktree.profile.stats import rounded_ratio


@dataclass(frozen=True, slots=True)
class Imbalance:
    """How unevenly work is shared.

    Time lost and its share are those of DeRose, Homer and Johnson (Detecting Application Load Imbalance on High
    End Massively Parallel Systems, Euro-Par 2007): the others wait while the busiest continues alone, and with
    even shares all would end after the mean.

    Attributes:
        units: number of workers that share it.
        busiest: the worker with the most work.
        busiest_ns: its busy time.
        mean_ns: their mean busy time.
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


def imbalance(units: Sequence[Unit], context: Context) -> Imbalance | None:
    """Return how unevenly work is shared among `units`; None if there are fewer than two, or almost no work."""
    if len(units) < 2:
        return None
    worked = {unit: context.worked_ns(unit) for unit in units}
    busiest = max(worked, key=lambda unit: worked[unit])
    mean_ns = rounded_ratio(sum(worked.values()), len(worked))
    # Of a mean below half a nanosecond nothing is a multiple.
    return Imbalance(len(worked), busiest, worked[busiest], mean_ns) if mean_ns else None


@dataclass(frozen=True, slots=True)
class Presence:
    """How a role spent its time.

    Attributes:
        role: the role.
        in_sections_ns: sum of their times in any section.
        waited_ns: the part of it spent waiting.
        is_instrumented: whether any of them was in a section that does not wait.
        imbalance: how unevenly the rest is shared, in the run with the largest imbalance; None if nothing is shared.
    """

    role: Role
    in_sections_ns: int
    waited_ns: int
    is_instrumented: bool
    imbalance: Imbalance | None

    @property
    def waited_share(self) -> float | None:
        """The share of their time in sections spent waiting; None if only their waits are known."""
        is_known = self.is_instrumented and self.in_sections_ns > 0
        return self.waited_ns / self.in_sections_ns if is_known else None


def presence(role: Role, context: Context) -> Presence:
    """Return what the processes or threads of `role` did with their time."""
    uneven = [each for units in equals(role) if (each := imbalance(whole_lives(units), context)) is not None]
    return Presence(
        role=role,
        in_sections_ns=sum(map(context.present_ns, role.units)),
        waited_ns=sum(map(context.waited_ns, role.units)),
        is_instrumented=any(map(context.is_instrumented, role.units)),
        imbalance=max(uneven, key=lambda each: each.share, default=None),
    )
