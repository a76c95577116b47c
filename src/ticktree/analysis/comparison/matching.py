"""Matching: which nodes of two runs are the same: calls whose lines moved, and renamed nodes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from ticktree.profile import Node
from ticktree.profile import path as paths
from ticktree.profile.short_names import Called

# Moved: calls under focus that are the same on both sides, but defined at, or made from, other lines.
#
# The name of such a call contains the line of the called function, which changes with every edit above it in the file:
# users edit files between the runs that they compare.

# If a function has several calls with the same text, each name has the place of its call.
_PLACE = re.compile(r" @ L(\d+)(?::(\d+))?$")

_Key = TypeVar("_Key", bound=Hashable)


def moved(base: Iterable[Node], new: Iterable[Node]) -> dict[str, str]:
    """Return the path in `base` of each node of `new`, by its path in `new`, where the two differ.

    Calls with the same text in one function are matched by their order, if both sides have equally many.
    """
    base_paths: dict[str, str] = {}
    waiting = [("", "", list(base), list(new))]
    while waiting:
        base_parent, new_parent, base_nodes, new_nodes = waiting.pop()
        base_children, new_children = _children(base_nodes), _children(new_nodes)
        base_names = {after: before for before, after in _pairs(base_children, new_children)}
        for name, nodes in new_children.items():
            base_name = base_names.get(name, name)  # a node that is only in `new` may have a parent in `base`
            base_path, new_path = paths.child(base_parent, base_name), paths.child(new_parent, name)
            if base_path != new_path:
                base_paths[new_path] = base_path
            waiting.append((base_path, new_path, base_children.get(base_name, []), nodes))
    return base_paths


def _children(nodes: Iterable[Node]) -> dict[str, list[Node]]:
    children = defaultdict(list)
    for node in nodes:
        for name, child in node.children.items():
            children[name].append(child)
    return children


def _pairs(base: Iterable[str], new: Iterable[str]) -> Iterator[tuple[str, str]]:
    before, after = _grouped(base, _text), _grouped(new, _text)
    for text in before.keys() & after.keys():
        base_names, new_names = before[text], after[text]
        if len(base_names) == len(new_names):
            yield from zip(sorted(base_names, key=_lines), sorted(new_names, key=_lines), strict=True)
        else:
            yield from ((name, name) for name in set(base_names) & set(new_names))


def _grouped(names: Iterable[str], key: Callable[[str], _Key]) -> dict[_Key, list[str]]:
    grouped = defaultdict(list)
    for name in names:
        grouped[key(name)].append(name)
    return grouped


def _text(name: str) -> tuple[str, str, str]:
    called = Called.of(name)
    if called is None:
        return name, "", ""
    return _PLACE.sub("", called.expression), called.function, called.file


def _lines(name: str) -> tuple[int, int, int]:
    called = Called.of(name)
    if called is None:
        return (0, 0, 0)
    place = _PLACE.search(called.expression)
    return (int(place[1]) if place else 0, int(place[2] or 0) if place else 0, called.line)


# The same work has the same calls. Its duration may have changed, but hardly by more than the second factor; of
# several candidates, one within the first factor is the likeliest.
_LIKELY_FACTOR, _LARGEST_FACTOR = 1.25, 3.0


def renames(
    removed: Sequence[str],
    added: Sequence[str],
    base: Callable[[str], Node | None],
    new: Callable[[str], Node | None],
) -> dict[str, str]:
    """Return, by its path, each node that vanished and the only similar node that appeared under the same parent.

    `removed` are paths only in base, whose nodes `base` returns, and `added` are those only in new.
    """
    before, after = _grouped(removed, paths.parent), _grouped(added, paths.parent)
    found: dict[str, str] = {}
    for parent in before.keys() & after.keys():
        for factor in (_LIKELY_FACTOR, _LARGEST_FACTOR):
            likely = {
                path: [
                    other
                    for other in after[parent]
                    if other not in found.values() and _alike(base(path), new(other), factor)
                ]
                for path in before[parent]
                if path not in found
            }
            found.update(_unambiguous(likely))
    return found


def _unambiguous(likely: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the pairs in which each node is the only candidate for the other."""
    return {
        path: others[0]
        for path, others in likely.items()
        if len(others) == 1 and sum(others[0] in candidates for candidates in likely.values()) == 1
    }


def _alike(left: Node | None, right: Node | None, factor: float) -> bool:
    if left is None or right is None or left.wait != right.wait:
        return False
    longer, shorter = sorted((left.steady.mean_ns or 1, right.steady.mean_ns or 1), reverse=True)
    same_shape = left.children.keys() == right.children.keys() and bool(left.children)
    return left.steady.count == right.steady.count and (same_shape or longer <= factor * shorter)
