"""The tree of a run while it is put together: many threads' and processes' records under one root."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count

from ticktree.profile import Histogram, Node
from ticktree.profile import path as paths
from ticktree.profile.clock import HOST, Clock, key_of, named_by
from ticktree.profile.tally import NodeTally
from ticktree.run.reading.histograms import HistogramSums


class Branch:
    """A place in the tree, and the sum of every record of it.

    Args:
        name: Of the section.
        path: From the root.
        above: What it hangs under; None for the root.
        clock: What its time was measured with.

    Attributes:
        children: By name, and clock where it is not the host's.
        tally: What was recorded here, but for histograms.
        histograms: Those of the whole tree.
        slot: In which of them are those of the calls here after warm-up; in the next, of those before that.
    """

    __slots__ = ("_taken", "children", "histograms", "name", "path", "slot", "tally")

    def __init__(self, name: str, path: str, above: Branch | None = None, clock: Clock = HOST) -> None:
        self.name = name
        self.path = path
        self.children: dict[str, Branch] = {}
        self.tally = NodeTally(name, clock)
        self._taken: Iterator[int] = above._taken if above else count(0, 2)
        self.slot = next(self._taken)
        self.histograms: HistogramSums = above.histograms if above else HistogramSums()

    def child(self, name: str, clock: Clock = HOST) -> Branch:
        """The branch of this name and clock below this one, made at need."""
        key = key_of(name, clock)
        if key not in self.children:
            self.children[key] = Branch(name, paths.child(self.path, key), self, clock)
        return self.children[key]

    def at(self, path: str) -> Branch:
        """The branch at a path below this one, made at need."""
        branch = self
        for key in paths.split(path):
            branch = branch.child(*named_by(key))
        return branch

    def to_node(self) -> Node:
        """The finished tree from here on."""
        finished: dict[str, Node] = {}
        for branch in reversed(list(self._walk())):
            children = {key: finished.pop(child.path) for key, child in branch.children.items()}
            finished[branch.path] = branch._total(children)
        return finished[self.path]

    def _total(self, children: Mapping[str, Node]) -> Node:
        node = self.tally.total(children)
        steady = replace(node.steady, histogram=Histogram(self.histograms.buckets(self.slot)))
        if node.warmup is None:
            return replace(node, steady=steady)
        warmup = replace(node.warmup, histogram=Histogram(self.histograms.buckets(self.slot + 1)))
        return replace(node, steady=steady, warmup=warmup)

    def _walk(self) -> Iterator[Branch]:
        waiting = [self]
        while waiting:
            branch = waiting.pop()
            yield branch
            waiting.extend(branch.children.values())
