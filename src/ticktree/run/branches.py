"""The tree of a run while it is put together: many threads' and processes' records under one root."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ticktree.profile import Histogram, Node
from ticktree.profile import path as paths
from ticktree.profile.tally import NodeTally
from ticktree.run.histograms import OctavesTally


class Branch:
    """A place in the tree, and the sum of every record of it.

    Args:
        name: Of the section.
        path: From the root.

    Attributes:
        children: By name.
        tally: What was recorded here, but for histograms.
        steady: The histograms of calls after warm-up.
        warmup: Those of calls before that.
    """

    __slots__ = ("children", "name", "path", "steady", "tally", "warmup")

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self.path = path
        self.children: dict[str, Branch] = {}
        self.tally = NodeTally(name)
        self.steady = OctavesTally()
        self.warmup = OctavesTally()

    def child(self, name: str) -> Branch:
        """The branch of this name below this one, made at need."""
        if name not in self.children:
            self.children[name] = Branch(name, paths.child(self.path, name))
        return self.children[name]

    def to_node(self) -> Node:
        """The finished tree from here on."""
        finished: dict[str, Node] = {}
        for branch in reversed(list(self._walk())):
            children = {name: finished.pop(child.path) for name, child in branch.children.items()}
            finished[branch.path] = branch._total(children)
        return finished[self.path]

    def _total(self, children: Mapping[str, Node]) -> Node:
        node = self.tally.total(children)
        steady = replace(node.steady, histogram=Histogram(self.steady.buckets()))
        if node.warmup is None:
            return replace(node, steady=steady)
        warmup = replace(node.warmup, histogram=Histogram(self.warmup.buckets()))
        return replace(node, steady=steady, warmup=warmup)

    def _walk(self) -> Iterator[Branch]:
        waiting = [self]
        while waiting:
            branch = waiting.pop()
            yield branch
            waiting.extend(branch.children.values())
