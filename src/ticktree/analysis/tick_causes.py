"""Causes of slow ticks: system events in a usual tick, and the sections that took longer in missed ticks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Literal, TypeAlias

from ticktree.analysis.loops import MIN_TICKS, PRECISE_SHARE, outermost
from ticktree.profile import Causes, Loop, Node, Profile
from ticktree.profile import path as paths

Cause: TypeAlias = Literal["voluntary_switches", "minor_faults"]

# The cost of the first access to a page: the kernel finds one and fills it with zeros. On a virtual machine, copying
# 64 MiB in 16,384 pages took 6 to 10 ms onto used memory and 39 to 75 ms into fresh memory
# (docs/workloads/visual_sac.md): 1.8 to 4.2 µs per page, and this is near the lower end.
FAULT_NS = 2_000
# The recorder keeps the longest ticks: only those that are not much longer than the mean count. Our own choice.
USUAL_FACTOR = 2.0


def usual_per_tick(loop: Loop, cause: Cause) -> float | None:
    """Return the usual number of `cause` events per steady tick of `loop`; None if the system does not report them.

    It is the smaller of the mean over all steady ticks and the median of the recorded longest ticks: a few ticks with
    very many events dominate the mean, and the longest ticks have more events of every kind.
    """
    estimates: list[float] = []
    if loop.causes is not None and loop.causes.ticks >= MIN_TICKS:
        estimates.append(getattr(loop.causes, cause) / loop.causes.ticks)
    max_ns = USUAL_FACTOR * (loop.stats.mean_ns or 0)
    per_tick = [
        tick.causes[cause] for tick in loop.worst if tick.duration_ns <= max_ns and cause in tick.causes
    ]
    if per_tick:
        estimates.append(median(per_tick))
    return min(estimates, default=None)


# With fewer calls, a third of them is too small a sample.
GROWTH_CALLS = 30


def growth(node: Node) -> float | None:
    """Return the ratio of the mean calls in the last and in the first third of calls; None if unknown.

    Calls are divided by the windows in which they ended, so the thirds are only as equal as windows allow.
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


# A section that explains a smaller share of the excess is not reported.
EXPLAINED_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class TickCost:
    """A section's mean busy time, without the waits in it, in missed ticks and in ticks that were not missed.

    Attributes:
        path: path of the node; the loop's path for its self time.
        missed_ns: time per missed tick.
        kept_ns: time per tick that was not missed.
    """

    path: str
    missed_ns: float
    kept_ns: float

    @property
    def excess_ns(self) -> float:
        """How much longer it takes in a missed tick."""
        return self.missed_ns - self.kept_ns


class MissedTicks:
    """The missed ticks of a loop that missed at least one."""

    def __init__(self, profile: Profile, loop: Loop) -> None:
        self.loop = loop
        self._node = profile.root.at(loop.path)

    @property
    def share(self) -> float:
        """The share of the steady ticks that was missed."""
        return self.loop.missed / self.loop.stats.count

    @property
    def kept(self) -> int:
        """The number of steady ticks that were not missed."""
        return self.loop.stats.count - self.loop.missed

    @cached_property
    def busy(self) -> TickCost | None:
        """The busy time of a tick; None if the times in missed ticks are unknown."""
        if self.loop.missed_ns is None:
            return None
        return self._tick_cost(self.loop.path, self.loop.missed_ns, self.loop.stats.sum_ns)

    @cached_property
    def largest(self) -> TickCost | None:
        """The child of the loop that takes most of a missed tick's busy time; None if unknown."""
        return max(self._children_costs(self.loop.path), key=lambda cost: cost.missed_ns, default=None)

    @cached_property
    def blamed(self) -> list[TickCost]:
        """The deepest sections that explain why missed ticks took longer, the largest excess first."""
        if self.busy is None or not self.kept or self.busy.excess_ns <= 0:
            return []
        min_excess_ns = EXPLAINED_SHARE * self.busy.excess_ns
        children = list(self._children_costs(self.loop.path))
        self_time = TickCost(
            self.loop.path,
            self.busy.missed_ns - sum(cost.missed_ns for cost in children),
            self.busy.kept_ns - sum(cost.kept_ns for cost in children),
        )
        costs = [self._deepest(cost) for cost in children if cost.excess_ns >= min_excess_ns]
        is_complete = self._loop_only_paths >= self._nodes.keys()  # otherwise the excess may be a section's
        if is_complete and self_time.excess_ns >= min_excess_ns:
            costs.append(self_time)
        return sorted(costs, key=lambda cost: -cost.excess_ns)

    def causes(self) -> tuple[Causes, Causes] | None:
        """The system's events in missed ticks and in the others; None if unknown, or if one group has no ticks."""
        total, missed = self.loop.causes, self.loop.missed_causes
        if total is None or missed is None or not 0 < missed.ticks < total.ticks:
            return None
        kept = total - missed
        return (missed, kept) if min(kept.amounts()) >= 0 else None

    def _deepest(self, cost: TickCost) -> TickCost:
        while True:
            child = max(
                self._children_costs(cost.path), key=lambda child_cost: child_cost.excess_ns, default=None
            )
            if child is None or child.excess_ns < PRECISE_SHARE * cost.excess_ns:
                return cost
            cost = child

    def _children_costs(self, parent: str) -> Iterator[TickCost]:
        """Yield the known times of a node's children that work."""
        for path in self._children.get(parent, ()):
            if path not in self._outermost_waits and path in self._loop_only_paths:
                yield self._tick_cost(path, *self._node_ns(path))

    def _node_ns(self, path: str) -> tuple[int, int]:
        """Return the time of a node in missed ticks, and in all ticks."""
        return self.loop.missed_breakdown[path], self.loop.calls_of(self._nodes[path]).sum_ns

    def _tick_cost(self, path: str, missed_ns: int, all_ns: int) -> TickCost:
        for wait in self._outermost_waits:
            if paths.is_descendant(wait, path):
                waited_missed_ns, waited_ns = self._node_ns(wait)
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
    def _loop_only_paths(self) -> frozenset[str]:
        """The nodes that only the loop's threads entered: calls on other threads belong to no tick."""
        loop_threads = self._node.by_thread.keys()
        return frozenset(path for path, node in self._nodes.items() if node.by_thread.keys() <= loop_threads)

    @cached_property
    def _outermost_waits(self) -> frozenset[str]:
        waits = {path for path, node in self._nodes.items() if node.wait and path != self.loop.path}
        return self._loop_only_paths.intersection(outermost(waits))


def missed_ticks(profile: Profile) -> list[MissedTicks]:
    """Return the missed ticks of each loop that has any, the loop that missed the largest share first."""
    loops = (loop for loop in profile.loops.values() if loop.missed and loop.stats.count)
    missed = (MissedTicks(profile, loop) for loop in loops)
    return sorted(missed, key=lambda ticks: (-ticks.share, ticks.loop.path))
