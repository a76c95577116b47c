"""Ticks: what the system did to a loop's thread in a usual one, and what took longer in those that were missed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Literal, TypeAlias

from ticktree.analysis.loops import LEAST_TICKS, TELLING_SHARE
from ticktree.profile import Causes, Loop, Node, Profile
from ticktree.profile import path as paths

Cause: TypeAlias = Literal["voluntary_switches", "minor_faults"]

# The cost of the first access to a page: the kernel finds one and fills it with zeros. Here, on a
# virtual machine, 64 MiB in 16,384 pages were copied onto used memory in 6 to 10 ms and into fresh memory in 39 to
# 75 (docs/workloads/visual_sac.md): 1.8 to 4.2 µs a page, of which this is near the lower end.
FAULT_NS = 2_000
# The ticks kept are the longest: only those count that were not much longer than the others. Our own choice.
USUAL_FACTOR = 2.0


def usual_per_tick(loop: Loop, cause: Cause) -> float | None:
    """Return the usual number of `cause` per steady tick of `loop`; None if the system does not report it.

    It is the smaller of the mean over all steady ticks and the median of the kept ones: a few ticks with very many
    dominate the mean, and the longest ticks, which are kept, have more of everything.
    """
    known: list[float] = []
    if loop.causes is not None and loop.causes.ticks >= LEAST_TICKS:
        known.append(getattr(loop.causes, cause) / loop.causes.ticks)
    most_ns = USUAL_FACTOR * (loop.stats.mean_ns or 0)
    usual = [
        tick.causes[cause] for tick in loop.worst if tick.duration_ns <= most_ns and cause in tick.causes
    ]
    if usual:
        known.append(median(usual))
    return min(known, default=None)


# A third of fewer calls is too small a sample.
GROWTH_CALLS = 30


def growth(node: Node) -> float | None:
    """Return the ratio of the mean calls in the last third of calls and in the first; None if unknown.

    Calls are divided by the windows in which they ended, so the thirds are as equal as windows allow.
    """
    windows = node.windows
    if node.count < GROWTH_CALLS or windows.count != node.count:
        return None
    first = _mean_ns(node, sorted(windows.counts))
    last = _mean_ns(node, sorted(windows.counts, reverse=True))
    return last / first if first and last is not None else None


def _mean_ns(node: Node, order: list[int]) -> float | None:
    """Return the mean of the first third of the calls, with windows in `order`; None if one window has too many."""
    count = total_ns = 0
    for index in order:
        count += node.windows.counts[index]
        total_ns += node.windows.totals.get(index, 0)
        if 3 * count >= node.count:
            return total_ns / count if 2 * count <= node.count else None
    return None


# What explains less of the excess is not worth naming.
EXPLAINED_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class TickCost:
    """What a section takes in a missed tick, and in a kept one, on average: busy time, without the waits in it.

    Attributes:
        path: of the node; the loop's own for its self time.
        missed_ns: in a missed tick.
        kept_ns: in a kept one.
    """

    path: str
    missed_ns: float
    kept_ns: float

    @property
    def excess_ns(self) -> float:
        """How much more it takes in a missed tick."""
        return self.missed_ns - self.kept_ns


class MissedTicks:
    """The missed ticks of one loop of a run, which missed some."""

    def __init__(self, profile: Profile, loop: Loop) -> None:
        self.loop = loop
        self._node = profile.root.at(loop.path)

    @property
    def share(self) -> float:
        """What part of the steady ticks was missed."""
        return self.loop.missed / self.loop.stats.count

    @property
    def kept(self) -> int:
        """How many were not."""
        return self.loop.stats.count - self.loop.missed

    @cached_property
    def busy(self) -> TickCost | None:
        """The busy time of a whole tick; None if the times in missed ticks are unknown."""
        if self.loop.missed_ns is None:
            return None
        return self._cost(self.loop.path, self.loop.missed_ns, self.loop.stats.sum_ns)

    @cached_property
    def largest(self) -> TickCost | None:
        """The child of the loop that takes most of a missed tick's busy time; None if unknown."""
        return max(self._children_costs(self.loop.path), key=lambda cost: cost.missed_ns, default=None)

    @cached_property
    def blamed(self) -> list[TickCost]:
        """The sections that took longer in missed ticks, each the deepest that explains it, the largest first."""
        if self.busy is None or not self.kept or self.busy.excess_ns <= 0:
            return []
        least_ns = EXPLAINED_SHARE * self.busy.excess_ns
        children = list(self._children_costs(self.loop.path))
        self_time = TickCost(
            self.loop.path,
            self.busy.missed_ns - sum(cost.missed_ns for cost in children),
            self.busy.kept_ns - sum(cost.kept_ns for cost in children),
        )
        blamed = [self._deepest(cost) for cost in children if cost.excess_ns >= least_ns]
        is_own = self._known >= self._nodes.keys()  # else it may be a section's
        if is_own and self_time.excess_ns >= least_ns:
            blamed.append(self_time)
        return sorted(blamed, key=lambda cost: -cost.excess_ns)

    def causes(self) -> tuple[Causes, Causes] | None:
        """The system's events in missed ticks and in ticks that were not missed; None if there were none."""
        every, missed = self.loop.causes, self.loop.missed_causes
        if every is None or missed is None or not 0 < missed.ticks < every.ticks:
            return None
        kept = every - missed
        return (missed, kept) if min(kept.amounts()) >= 0 else None

    def _deepest(self, cost: TickCost) -> TickCost:
        while True:
            below = max(self._children_costs(cost.path), key=lambda each: each.excess_ns, default=None)
            if below is None or below.excess_ns < TELLING_SHARE * cost.excess_ns:
                return cost
            cost = below

    def _children_costs(self, above: str) -> Iterator[TickCost]:
        """Yield the known times of a node's children that work."""
        for path in self._children.get(above, ()):
            if path not in self._outermost_waits and path in self._known:
                yield self._cost(path, *self._spent_ns(path))

    def _spent_ns(self, path: str) -> tuple[int, int]:
        """Return the time of a node in missed ticks, and in all ticks."""
        return self.loop.missed_breakdown[path], self.loop.calls_of(self._nodes[path]).sum_ns

    def _cost(self, path: str, missed_ns: int, all_ns: int) -> TickCost:
        for wait in self._outermost_waits:
            if paths.is_below(wait, path):
                waited_missed_ns, waited_ns = self._spent_ns(wait)
                missed_ns, all_ns = missed_ns - waited_missed_ns, all_ns - waited_ns
        kept_ns = max(0, all_ns - missed_ns)
        return TickCost(path, max(0, missed_ns) / self.loop.missed, kept_ns / self.kept if self.kept else 0.0)

    @cached_property
    def _nodes(self) -> Mapping[str, Node]:
        """The nodes that missed ticks were in, parents before their children."""
        nodes: dict[str, Node] = {self.loop.path: self._node}
        for path in sorted(self.loop.missed_breakdown, key=lambda path: len(paths.split(path))):
            *above, name = paths.split(path)
            parent = nodes.get(paths.join(above))
            if parent is not None and name in parent.children:
                nodes[path] = parent.children[name]
        return nodes

    @cached_property
    def _children(self) -> Mapping[str, list[str]]:
        children: dict[str, list[str]] = {}
        for path in self._nodes:
            children.setdefault(paths.parent(path), []).append(path)
        return children

    @cached_property
    def _known(self) -> frozenset[str]:
        """The nodes that only the loop's own threads were in: what others did there is in no tick."""
        own = self._node.by_writer.keys()
        return frozenset(path for path, node in self._nodes.items() if node.by_writer.keys() <= own)

    @cached_property
    def _outermost_waits(self) -> frozenset[str]:
        waits: set[str] = set()
        for path, node in self._nodes.items():
            if node.wait and path != self.loop.path and not any(paths.is_below(path, wait) for wait in waits):
                waits.add(path)
        return frozenset(waits & self._known)


def missed_ticks(profile: Profile) -> list[MissedTicks]:
    """Return the missed ticks of each loop that has some, the one that missed the largest part first."""
    missing = [loop for loop in profile.loops.values() if loop.missed and loop.stats.count]
    missed = [MissedTicks(profile, loop) for loop in missing]
    return sorted(missed, key=lambda each: (-each.share, each.loop.path))
