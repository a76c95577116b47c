"""The tree of a run while it is put together: many threads' and processes' records under one root."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add

from ticktree.profile import Node
from ticktree.profile import path as paths


@dataclass(eq=False)
class Branch:
    """A place in the tree, and every record of it.

    Attributes:
        name: Of the section.
        path: From the root.
        children: By name.
        parts: One node without children for each record of this place.
    """

    name: str
    path: str
    children: dict[str, Branch] = field(default_factory=dict)
    parts: list[Node] = field(default_factory=list)

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
        """The finished tree from here on; the merge of all records at every place."""
        finished: dict[str, Node] = {}
        for branch in reversed(list(self._walk())):
            own = (
                reduce(add, branch.parts, Node(name=branch.name)) if branch.parts else Node(name=branch.name)
            )
            children = {name: finished.pop(child.path) for name, child in branch.children.items()}
            finished[branch.path] = replace(own, children=children)
        return finished[self.path]

    def _walk(self) -> Iterator[Branch]:
        waiting = [self]
        while waiting:
            branch = waiting.pop()
            yield branch
            waiting.extend(branch.children.values())
