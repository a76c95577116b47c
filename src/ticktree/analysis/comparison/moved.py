"""Moved: calls under focus that are the same in both sides and defined at, or made from, other lines.

The name of such a call has the line of what is called, and that is another one as soon as the file is edited above it:
which is what people do between two runs that they compare.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from ticktree.profile import Node
from ticktree.profile import path as paths
from ticktree.profile.short_names import Called

# Where a function makes calls of the same text in several places, each says its own.
_PLACE = re.compile(r" @ L(\d+)(?::(\d+))?$")

_Text: TypeAlias = tuple[str, str, str]
_Lines: TypeAlias = tuple[int, int, int]


def moved(base: Iterable[Node], new: Iterable[Node]) -> dict[str, str]:
    """Return what nodes of `new` are called in `base`, by their paths, where that is something else.

    Calls of one text in one function are told apart by their order, where there are as many of them in both.

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
