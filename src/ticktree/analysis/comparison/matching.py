"""Matching: the nodes of two runs that are the same: calls whose lines moved, and renamed nodes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from ticktree.profile import Node
from ticktree.profile import path as paths
from ticktree.profile.short_names import FocusCall

# Moved calls: calls under focus that are the same on both sides, but defined at, or made from, other lines.
#
# The name of such a call contains the line of the called function, which changes with every edit above it in the file:
# users edit files between the runs that they compare.

# If a function has several calls with the same text, each name contains the position of its call.
_POSITION = re.compile(r" @ L(\d+)(?::(\d+))?$")

_Key = TypeVar("_Key", bound=Hashable)


def moved_paths(base: Iterable[Node], new: Iterable[Node]) -> dict[str, str]:
    """Return the path in `base` of each node of `new`, by its path in `new`, where the two differ.

    Calls with the same text in one function are matched by their order, if both sides have equally many.
    """
    base_paths: dict[str, str] = {}
    pending = [("", "", list(base), list(new))]
    while pending:
        base_parent, new_parent, base_nodes, new_nodes = pending.pop()
        base_children, new_children = _children(base_nodes), _children(new_nodes)
        base_names = {after: before for before, after in _pairs(base_children, new_children)}
        for name, nodes in new_children.items():
            base_name = base_names.get(name, name)  # a node that is only in `new` may have a parent in `base`
            base_path, new_path = paths.child(base_parent, base_name), paths.child(new_parent, name)
            if base_path != new_path:
                base_paths[new_path] = base_path
            pending.append((base_path, new_path, base_children.get(base_name, []), nodes))
    return base_paths


def _children(nodes: Iterable[Node]) -> dict[str, list[Node]]:
    children = defaultdict(list)
    for node in nodes:
        for name, child in node.children.items():
            children[name].append(child)
    return children


def _pairs(base: Iterable[str], new: Iterable[str]) -> Iterator[tuple[str, str]]:
    before, after = _group_names(base, _text), _group_names(new, _text)
    for text in before.keys() & after.keys():
        base_names, new_names = before[text], after[text]
        if len(base_names) == len(new_names):
            yield from zip(sorted(base_names, key=_lines), sorted(new_names, key=_lines), strict=True)
        else:
            yield from ((name, name) for name in set(base_names) & set(new_names))


def _group_names(names: Iterable[str], key: Callable[[str], _Key]) -> dict[_Key, list[str]]:
    groups = defaultdict(list)
    for name in names:
        groups[key(name)].append(name)
    return groups


def _text(name: str) -> tuple[str, str, str]:
    called = FocusCall.of(name)
    if called is None:
        return name, "", ""
    return _POSITION.sub("", called.expression), called.function, called.file


def _lines(name: str) -> tuple[int, int, int]:
    called = FocusCall.of(name)
    if called is None:
        return (0, 0, 0)
    position = _POSITION.search(called.expression)
    return (int(position[1]) if position else 0, int(position[2] or 0) if position else 0, called.line)


# Nodes with the same work have the same number of calls. Their duration rarely changes by more than the second factor;
# of several candidates, one within the first factor is the likeliest.
_LIKELY_FACTOR, _LARGEST_FACTOR = 1.25, 3.0


def renames(
    removed: Sequence[str],
    added: Sequence[str],
    base: Callable[[str], Node | None],
    new: Callable[[str], Node | None],
) -> dict[str, str]:
    """Return, by the path of each removed node, the path of the only similar node added under the same parent.

    `removed` are paths only in base, whose nodes `base` returns, and `added` are those only in new.
    """
    before, after = _group_names(removed, paths.parent), _group_names(added, paths.parent)
    pairs: dict[str, str] = {}
    for parent in before.keys() & after.keys():
        for factor in (_LIKELY_FACTOR, _LARGEST_FACTOR):
            candidates = {
                path: [
                    other
                    for other in after[parent]
                    if other not in pairs.values() and _are_alike(base(path), new(other), factor)
                ]
                for path in before[parent]
                if path not in pairs
            }
            pairs.update(_unambiguous(candidates))
    return pairs


def _unambiguous(candidates_of: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the pairs in which each node is the only candidate for the other."""
    return {
        path: candidates[0]
        for path, candidates in candidates_of.items()
        if len(candidates) == 1 and sum(candidates[0] in others for others in candidates_of.values()) == 1
    }


def _are_alike(left: Node | None, right: Node | None, factor: float) -> bool:
    if left is None or right is None or left.wait != right.wait:
        return False
    longer, shorter = sorted((left.steady.mean_ns or 1, right.steady.mean_ns or 1), reverse=True)
    same_shape = left.children.keys() == right.children.keys() and bool(left.children)
    return left.steady.count == right.steady.count and (same_shape or longer <= factor * shorter)
