"""Many at once: the sum of any number of trees and profiles, in time that grows with their size alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import add
from typing import TypeVar

from ticktree.profile.merging import Addable, Key
from ticktree.profile.node import Node
from ticktree.profile.tally import NodeTally

Part = TypeVar("Part", bound=Addable)


def sum_of_trees(roots: Sequence[Node]) -> Node:
    """Return the merge of one tree or more, whose roots have the same name and clock.

    Raises:
        ValueError: they differ.
    """
    groups: list[tuple[list[Node], int]] = [(list(roots), -1)]  # the nodes of one place, and the place above
    for place, (nodes, _) in enumerate(groups):  # from the root down: the list grows while it is walked
        if len(nodes) > 1:  # else it is whole already, with all below it
            below: dict[str, list[Node]] = {}
            for node in nodes:
                for key, child in node.children.items():
                    below.setdefault(key, []).append(child)
            groups.extend((alike, place) for alike in below.values())
    children: list[dict[str, Node]] = [{} for _ in groups]
    for nodes, above in reversed(groups[1:]):  # from the leaves up
        merged = _merged(nodes, children.pop())
        children[above][merged.key] = merged
    return _merged(groups[0][0], children[0])


def _merged(nodes: list[Node], children: Mapping[str, Node]) -> Node:
    if len(nodes) == 1:
        return nodes[0]
    first = nodes[0]
    tally = NodeTally(first.name, first.clock)
    for node in nodes:
        if node.key != first.key:
            raise ValueError(f"nodes of different names do not merge: {first.key!r} and {node.key!r}")
        tally.add(node)
    return tally.total(children)


def union_of(tables: Iterable[Mapping[Key, Part]]) -> dict[Key, Part]:
    """Return the union of mappings, adding the values of keys that several have."""
    parts: dict[Key, list[Part]] = {}
    for table in tables:
        for key, part in table.items():
            parts.setdefault(key, []).append(part)
    return {key: reduce(add, alike) for key, alike in parts.items()}


def sums_of(tables: Iterable[Mapping[Key, int]]) -> dict[Key, int]:
    """Return the union of counted sets, adding what several count."""
    result: dict[Key, int] = {}
    for table in tables:
        for key, count in table.items():
            result[key] = result.get(key, 0) + count
    return result
