"""Imbalance: how unevenly equal workers share their work, and how the workers of a role spent their time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ticktree.analysis.context import Context
from ticktree.analysis.workers.roles import Role, Worker
from ticktree.analysis.workers.stragglers import comparable_groups, long_lived_workers
from ticktree.profile.stats import rounded_ratio


@dataclass(frozen=True, slots=True)
class Imbalance:
    """How unevenly workers share their work.

    Time lost and its share are those of DeRose, Homer and Johnson (Detecting Application Load Imbalance on High
    End Massively Parallel Systems, Euro-Par 2007): the others wait while the busiest continues alone, and with
    even shares all would end after the mean.

    Attributes:
        workers: number of workers that share the work.
        busiest: the worker with the most work.
        busiest_ns: its busy time.
        mean_ns: mean busy time of the workers.
    """

    workers: int
    busiest: Worker
    busiest_ns: int
    mean_ns: int

    @property
    def lost_ns(self) -> int:
        """How much sooner all would finish with equal work."""
        return self.busiest_ns - self.mean_ns

    @property
    def share(self) -> float:
        """The share of their time that is lost: 0 if all have equal work, 1 if one worker has all of it."""
        # The mean is a whole number: of few nanoseconds, slightly more than all may seem lost.
        return min(1.0, self.lost_ns / self.busiest_ns * self.workers / (self.workers - 1))


def imbalance(workers: Sequence[Worker], context: Context) -> Imbalance | None:
    """Return how unevenly `workers` share their work; None if there are fewer than two, or almost no work."""
    if len(workers) < 2:
        return None
    busy = {worker: context.worked_ns(worker) for worker in workers}
    busiest = max(busy, key=lambda worker: busy[worker])
    mean_ns = rounded_ratio(sum(busy.values()), len(busy))
    # A mean below half a nanosecond rounds to 0, and no ratio to it exists.
    return Imbalance(len(busy), busiest, busy[busiest], mean_ns) if mean_ns else None


@dataclass(frozen=True, slots=True)
class Presence:
    """How the workers of a role spent their time.

    Attributes:
        role: the role.
        in_sections_ns: sum of their times in any section.
        waited_ns: the part of it spent waiting.
        is_instrumented: whether any of them was in a section that is not a wait.
        imbalance: how unevenly they share the rest, in the run with the largest imbalance; None without equals.
    """

    role: Role
    in_sections_ns: int
    waited_ns: int
    is_instrumented: bool
    imbalance: Imbalance | None

    @property
    def waited_share(self) -> float | None:
        """The share of their time in sections that they spent waiting; None if only their waits are known."""
        is_known = self.is_instrumented and self.in_sections_ns > 0
        return self.waited_ns / self.in_sections_ns if is_known else None


def presence(role: Role, context: Context) -> Presence:
    """Return how the processes or threads of `role` spent their time."""
    imbalances = [imbalance(long_lived_workers(workers), context) for workers in comparable_groups(role)]
    return Presence(
        role=role,
        in_sections_ns=sum(map(context.present_ns, role.workers)),
        waited_ns=sum(map(context.waited_ns, role.workers)),
        is_instrumented=any(map(context.is_instrumented, role.workers)),
        imbalance=max(filter(None, imbalances), key=lambda entry: entry.share, default=None),
    )
