"""Side: the runs on one side of a comparison, and the values that are compared: means of runs, or of its blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, reduce
from operator import add
from typing import Literal

from ticktree.analysis.drift.changes import joined, steady_stretches
from ticktree.profile import Node, Profile, Stats

# Blocks: one run's calls as a few values.
#
# Neighbouring ticks resemble each other: a test that takes them for independent finds a difference between two runs of
# the same program in most trials. So the unit is not the tick but a stretch of the run (batch means), and what a run
# is known by is how much its stretches scatter. So few of them, and so long, that what lasts for a while is in their
# scatter; so many that the scatter is known.

BLOCKS = 12


def block_means(node: Node) -> list[float]:
    """Mean durations, in ns, of equal stretches of a node's steady calls; none where the run was too short for them.

    Args:
        node: Of one run. What was merged from several has no one course over time.
    """
    stretches = steady_stretches(node)
    return [block.mean_ns for block in joined(stretches, BLOCKS)] if len(stretches) >= BLOCKS else []


_SECOND_NS = 10**9
_WORK = ("bytes", "flops", "items")


class Side:
    """One or several runs of the same program.

    Args:
        runs: Their profiles, at least one.
        known_as: What nodes are called on the other side, by their paths, where that is something else.
    """

    def __init__(self, runs: Sequence[Profile], known_as: Mapping[str, str] | None = None) -> None:
        self.runs = tuple(runs)
        names = known_as or {}
        self._nodes = [{names.get(path, path): node for path, _, node in run.root.walk()} for run in runs]
        self._loops = [{names.get(path, path): loop for path, loop in run.loops.items()} for run in runs]

    @cached_property
    def paths(self) -> set[str]:
        """Every node with steady calls in any run."""
        return {path for nodes in self._nodes for path, node in nodes.items() if node.steady.count}

    @cached_property
    def loops(self) -> set[str]:
        """Every loop with steady ticks in any run."""
        return {path for loops in self._loops for path, loop in loops.items() if loop.stats.count}

    def node(self, path: str) -> Node | None:
        """The node at a path in the first run that has it."""
        return next((nodes[path] for nodes in self._nodes if path in nodes), None)

    def stats(self, path: str) -> Stats:
        """The steady calls of a node over all runs."""
        return reduce(add, (nodes[path].steady for nodes in self._nodes if path in nodes), Stats())

    def loop_stats(self, path: str) -> Stats:
        """The steady ticks of a loop over all runs."""
        return reduce(add, (loops[path].stats for loops in self._loops if path in loops), Stats())

    def rates(self, kind: Literal["node", "loop"], path: str) -> dict[str, float]:
        """What got done a second: of a loop its steady ticks, of a node the work it declared, by what was done.

        Work is counted over the whole run, and so is the time it took.
        """
        found = [nodes[path] for nodes in self._nodes if path in nodes]
        spent_ns = sum(node.total_ns for node in found if node.work)
        rates = {}
        if kind == "loop":
            stats = self.loop_stats(path)
            if stats.sum_ns:
                rates["ticks"] = stats.count * _SECOND_NS / stats.sum_ns
        for what in _WORK:
            done = sum(getattr(node.work, what) for node in found if node.work)
            if done and spent_ns > 0:
                rates[what] = done * _SECOND_NS / spent_ns
        return rates

    def run_means(self, path: str) -> list[float]:
        """A node's mean steady call in each run that has it, in ns; at least 1, for there is no ratio to nothing."""
        found = (nodes[path].steady for nodes in self._nodes if path in nodes)
        return [max(1.0, stats.sum_ns / stats.count) for stats in found if stats.count]

    def block_means(self, path: str) -> list[float]:
        """A node's mean duration in each block of each run, in ns."""
        found = (nodes[path] for nodes in self._nodes if path in nodes)
        return [max(1.0, mean) for node in found for mean in block_means(node)]
