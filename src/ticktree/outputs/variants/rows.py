"""Rows: the trees of several runs as one, each line with what it is in every run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ticktree.outputs.view.notes import share_of
from ticktree.profile import Node, Profile
from ticktree.profile import path as paths
from ticktree.profile.stats import rounded_ratio

Kind: TypeAlias = Literal["section", "self"]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the trees.

    Attributes:
        kind: a section, or what of one's time is in none below it.
        path: of the section.
        name: its own; as the program chose it.
        depth: how many sections it is in.
        nodes: what it is in each run; None in one that has no such section.
        parents: what it lies in there.
    """

    kind: Kind
    path: str
    name: str
    depth: int
    nodes: tuple[Node | None, ...]
    parents: tuple[Node | None, ...]

    def mean_ns(self, place: int) -> int | None:
        """Return what a steady call takes in the run at `place`; of own time, what of each call is in no section."""
        node = self.nodes[place]
        if node is None:
            return None
        if self.kind == "self":
            return rounded_ratio(node.self_ns - node.recorder_ns, node.count) if node.count else None
        return node.steady.mean_ns if node.steady.count else None

    def share(self, place: int) -> float | None:
        """Return what part of the time it lies in it is, over the whole run."""
        node, parent = self.nodes[place], self.parents[place]
        if node is None or parent is None or parent.total_ns <= 0:
            return None
        if self.kind == "section":
            return share_of(node, parent)
        return (node.self_ns - node.recorder_ns) / parent.total_ns


def rows(profiles: Sequence[Profile]) -> list[Row]:
    """Return the lines, top to bottom: of each section what took most time in any run first."""
    roots = tuple(profile.root for profile in profiles)
    found: list[Row] = []
    # A stack, for trees may be deeper than functions may call themselves.
    waiting = list(reversed(_below(roots, paths.ROOT, 0)))
    while waiting:
        row = waiting.pop()
        found.append(row)
        if row.kind == "section":
            waiting += reversed(_below(row.nodes, row.path, row.depth + 1))
    return found


def _below(nodes: tuple[Node | None, ...], path: str, depth: int) -> list[Row]:
    names = {name for node in nodes if node is not None for name in node.children}
    lines = [
        Row(
            "section",
            paths.child(path, name),
            name,
            depth,
            tuple(None if node is None else node.children.get(name) for node in nodes),
            nodes,
        )
        for name in names
    ]
    lines.sort(key=lambda row: (-max(node.total_ns for node in row.nodes if node is not None), row.name))
    if lines and path != paths.ROOT:
        own = tuple(node if node is not None and node.children else None for node in nodes)
        lines.append(Row("self", path, "[self]", depth, own, own))
    return lines
