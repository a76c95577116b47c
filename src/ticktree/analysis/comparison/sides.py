"""Side: the runs of one side of a comparison, and its values: means of runs, or of blocks of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, reduce
from operator import add
from typing import Literal

from ticktree.analysis.drift.changes import joined, steady_stretches
from ticktree.profile import Node, Profile, Stats

# Blocks: one run's calls as a few values.
#
# Neighbouring ticks are correlated: a test that assumes independence finds a difference between two runs of the same
# program in most trials. So the unit is not the tick but a stretch of the run (batch means), and the scatter of these
# stretches is the noise of the run. They are few, so that each is long and their scatter includes disturbances that
# last for a while, but enough to estimate the scatter.

BLOCKS = 12


def block_means(node: Node) -> list[float]:
    """Return the mean durations, in ns, of equal stretches of a node's steady calls; none if the run is too short.

    Args:
        node: Of one run: a node merged from several has no single course over time.
    """
    stretches = steady_stretches(node)
    return [block.mean_ns for block in joined(stretches, BLOCKS)] if len(stretches) >= BLOCKS else []


_SECOND_NS = 10**9
_WORK = ("bytes", "flops", "items")


class Side:
    """One or several runs of the same program.

    Args:
        runs: Their profiles, at least one.
        aliases: The paths of nodes on the other side, by their paths, where the two differ.
    """

    def __init__(self, runs: Sequence[Profile], aliases: Mapping[str, str] | None = None) -> None:
        self.runs = tuple(runs)
        names = aliases or {}
        self._nodes = [{names.get(path, path): node for path, _, node in run.root.walk()} for run in runs]
        self._loops = [{names.get(path, path): loop for path, loop in run.loops.items()} for run in runs]

    @cached_property
    def paths(self) -> set[str]:
        """The path of every node with steady calls in any run."""
        return {path for nodes in self._nodes for path, node in nodes.items() if node.steady.count}

    @cached_property
    def loops(self) -> set[str]:
        """The path of every loop with steady ticks in any run."""
        return {path for loops in self._loops for path, loop in loops.items() if loop.stats.count}

    def node(self, path: str) -> Node | None:
        """Return the node at a path in the first run that has it."""
        return next((nodes[path] for nodes in self._nodes if path in nodes), None)

    def stats(self, path: str) -> Stats:
        """Return the steady calls of a node over all runs."""
        return reduce(add, (nodes[path].steady for nodes in self._nodes if path in nodes), Stats())

    def loop_stats(self, path: str) -> Stats:
        """Return the steady ticks of a loop over all runs."""
        return reduce(add, (loops[path].stats for loops in self._loops if path in loops), Stats())

    def rates(self, kind: Literal["node", "loop"], path: str) -> dict[str, float]:
        """Return the rates per second: steady ticks of a loop, and the work that the node declared, by unit.

        Work and its time are those of the whole run.
        """
        members = [nodes[path] for nodes in self._nodes if path in nodes]
        spent_ns = sum(node.total_ns for node in members if node.work)
        rates = {}
        if kind == "loop":
            stats = self.loop_stats(path)
            if stats.sum_ns:
                rates["ticks"] = stats.count * _SECOND_NS / stats.sum_ns
        for unit in _WORK:
            work = sum(getattr(node.work, unit) for node in members if node.work)
            if work and spent_ns > 0:
                rates[unit] = work * _SECOND_NS / spent_ns
        return rates

    def run_means(self, path: str) -> list[float]:
        """Return the mean of a node's steady calls in each run that has it, in ns; at least 1 for ratios."""
        steady = (nodes[path].steady for nodes in self._nodes if path in nodes)
        return [max(1.0, stats.sum_ns / stats.count) for stats in steady if stats.count]

    def block_means(self, path: str) -> list[float]:
        """Return the mean duration of a node in each block of each run, in ns; at least 1."""
        members = (nodes[path] for nodes in self._nodes if path in nodes)
        return [max(1.0, mean) for node in members for mean in block_means(node)]
