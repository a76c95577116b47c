"""The tree of a run while it is put together: many threads' and processes' records under one root."""

from __future__ import annotations

from collections.abc import Iterator

from ticktree.profile import Node
from ticktree.profile import path as paths
from ticktree.profile.tally import NodeTally


class Branch:
    """A place in the tree, and the sum of every record of it.

    Args:
        name: Of the section.
        path: From the root.

    Attributes:
        children: By name.
        tally: What was recorded here.
    """

    __slots__ = ("children", "name", "path", "tally")

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self.path = path
        self.children: dict[str, Branch] = {}
        self.tally = NodeTally(name)

    def child(self, name: str) -> Branch:
        """The branch of this name below this one, made at need."""
        if name not in self.children:
            self.children[name] = Branch(name, paths.child(self.path, name))
        return self.children[name]

    def at(self, path: str) -> Branch:
        """The branch at a path below this one, made at need."""
        branch = self
        for name in paths.split(path):
            branch = branch.child(name)
        return branch

    def to_node(self) -> Node:
        """The finished tree from here on."""
        finished: dict[str, Node] = {}
        for branch in reversed(list(self._walk())):
            children = {name: finished.pop(child.path) for name, child in branch.children.items()}
            finished[branch.path] = branch.tally.total(children)
        return finished[self.path]

    def _walk(self) -> Iterator[Branch]:
        waiting = [self]
        while waiting:
            branch = waiting.pop()
            yield branch
            waiting.extend(branch.children.values())
