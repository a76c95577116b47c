"""Matching: which nodes of two runs are the same: calls whose lines moved, and nodes under another name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from ticktree.profile import Node
from ticktree.profile import path as paths
from ticktree.profile.short_names import Called

# Moved: calls under focus that are the same in both sides and defined at, or made from, other lines.
#
# The name of such a call has the line of what is called, and that is another one as soon as the file is edited above
# it: which is what people do between two runs that they compare.

# Where a function makes calls of the same text in several places, each says its own.
_PLACE = re.compile(r" @ L(\d+)(?::(\d+))?$")

_Text: TypeAlias = tuple[str, str, str]
_Lines: TypeAlias = tuple[int, int, int]


def moved(base: Iterable[Node], new: Iterable[Node]) -> dict[str, str]:
    """Return what nodes of `new` are called in `base`, by their paths, where that is something else.

    Calls of one text in one function are matched by their order, where there are as many of them in both.

    Args:
        base: The roots of the trees on that side.
        new: Those on the other.
    """
    found: dict[str, str] = {}
    waiting = [("", "", list(base), list(new))]
    while waiting:
        before, after, olds, news = waiting.pop()
        old, young = _below(olds), _below(news)
        same = {ours: theirs for theirs, ours in _pairs(old, young)}
        for key, ours in young.items():
            theirs = same.get(key, key)  # what base has not, is below what base has
            there, here = paths.child(before, theirs), paths.child(after, key)
            if there != here:
                found[here] = there
            waiting.append((there, here, old.get(theirs, []), ours))
    return found


def _below(nodes: Iterable[Node]) -> dict[str, list[Node]]:
    below = defaultdict(list)
    for node in nodes:
        for key, child in node.children.items():
            below[key].append(child)
    return below


def _pairs(old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    before, after = _by_text(old), _by_text(new)
    for text in before.keys() & after.keys():
        theirs, ours = before[text], after[text]
        if len(theirs) == len(ours):
            yield from zip(sorted(theirs, key=_lines), sorted(ours, key=_lines), strict=True)
        else:
            yield from ((key, key) for key in set(theirs) & set(ours))


def _by_text(keys: Iterable[str]) -> dict[_Text, list[str]]:
    found = defaultdict(list)
    for key in keys:
        called = Called.of(key)
        text = (
            (key, "", "")
            if called is None
            else (_PLACE.sub("", called.expression), called.function, called.file)
        )
        found[text].append(key)
    return found


def _lines(key: str) -> _Lines:
    called = Called.of(key)
    if called is None:
        return (0, 0, 0)
    place = _PLACE.search(called.expression)
    return (int(place[1]) if place else 0, int(place[2] or 0) if place else 0, called.line)


# The same work has the same calls; how long it takes is what may have changed, but hardly by more. Among several that
# are within that, one that takes about as long is more likely than those that do not.
_LIKE, _UNLIKE = 1.25, 3.0


def renames(
    gone: Sequence[str],
    come: Sequence[str],
    base: Callable[[str], Node | None],
    new: Callable[[str], Node | None],
) -> dict[str, str]:
    """What vanished, by path, and what appeared in its place: under the same parent, and like nothing else there.

    Args:
        gone: Paths only in base.
        come: Paths only in new.
        base: A node of base by its path.
        new: A node of new by its path.
    """
    before, after = _by_parent(gone), _by_parent(come)
    found: dict[str, str] = {}
    for parent in before.keys() & after.keys():
        for factor in (_LIKE, _UNLIKE):
            likely = {
                path: [
                    other
                    for other in after[parent]
                    if other not in found.values() and _alike(base(path), new(other), factor)
                ]
                for path in before[parent]
                if path not in found
            }
            found.update(_only_ones(likely))
    return found


def _only_ones(likely: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Of what may have become which, what can have become but one that nothing else can have become."""
    return {
        path: others[0]
        for path, others in likely.items()
        if len(others) == 1 and sum(others[0] in theirs for theirs in likely.values()) == 1
    }


def _by_parent(all_paths: Sequence[str]) -> dict[str, list[str]]:
    grouped = defaultdict(list)
    for path in all_paths:
        grouped[paths.parent(path)].append(path)
    return grouped


def _alike(left: Node | None, right: Node | None, factor: float) -> bool:
    if left is None or right is None or left.wait != right.wait:
        return False
    longer, shorter = sorted((left.steady.mean_ns or 1, right.steady.mean_ns or 1), reverse=True)
    same_shape = left.children.keys() == right.children.keys() and bool(left.children)
    return left.steady.count == right.steady.count and (same_shape or longer <= factor * shorter)
