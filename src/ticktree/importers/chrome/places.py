"""Places: which node of the tree each call is of."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from ticktree.importers.chrome.events import Column
from ticktree.importers.chrome.nesting import Nested
from ticktree.profile import MAX_DEPTH, ROOT_NAME
from ticktree.profile import path as paths
from ticktree.profile.clock import HOST, Clock, key_of, named_by

_NUMBERED = re.compile(r"(.*\S)\s*#\d+", re.DOTALL)

NOWHERE = -1


class NumberedTree:
    """The nodes of a tree, numbered from the root, 0, such that each comes after the one it is below.

    Attributes:
        above: for each place the one it is below; of the root -1.
        names: what each is called.
        clocks: what its time was measured with.
        depth: how far each is from the root.
    """

    def __init__(self) -> None:
        self.above = [NOWHERE]
        self.names = [ROOT_NAME]
        self.clocks: list[Clock] = [HOST]
        self.depth = [0]
        self._known: dict[tuple[int, str], int] = {}

    def __len__(self) -> int:
        return len(self.names)

    def below(self, above: int, name: str, clock: Clock = HOST) -> int:
        """Return the place of that name and clock below another, made at need; nowhere if that is too deep."""
        if above == NOWHERE or self.depth[above] >= MAX_DEPTH:
            return NOWHERE
        place = self._known.setdefault((above, key_of(name, clock)), len(self.names))
        if place == len(self.names):
            self.above.append(above)
            self.names.append(name)
            self.clocks.append(clock)
            self.depth.append(self.depth[above] + 1)
        return place

    def at(self, keys: Sequence[str]) -> int:
        """Return the place that keys lead to from the root, made at need."""
        place = 0
        for key in keys:
            place = self.below(place, *named_by(key))
        return place

    def paths(self) -> list[str]:
        """Return the path of every place."""
        found = [paths.ROOT]
        for above, name, clock in zip(self.above[1:], self.names[1:], self.clocks[1:], strict=True):
            found.append(paths.child(found[above], key_of(name, clock)))
        return found


def placed(
    calls: Nested,
    names: Sequence[str],
    told: Mapping[int, Sequence[str]],
    places: NumberedTree,
    *,
    is_own: bool,
) -> Column:
    """Return the place of each call; nowhere for those that are too deep.

    Args:
        calls: The calls.
        names: What their names stand for.
        told: By source, the keys from the root to a call, where the file says them.
        places: What is added to.
        is_own: Whether ticktree wrote the file: numbers in names are no counts then.
    """
    plain = [name if is_own else unnumbered(name) for name in names]
    codes = {name: code for code, name in enumerate(dict.fromkeys(plain))}
    listed = list(codes)
    name = np.array([codes[each] for each in plain], np.int64)[calls.name]
    place = np.full(len(calls), NOWHERE, np.int64)
    is_told = np.isin(calls.source, np.fromiter(told, np.int64, len(told)))
    for call in np.flatnonzero(is_told).tolist():
        place[call] = places.at(told[int(calls.source[call])])
    by_depth = np.argsort(calls.depth, kind="stable")
    bounds = np.searchsorted(calls.depth[by_depth], np.arange(int(calls.depth.max(initial=-1)) + 2))
    for first, last in pairwise(bounds.tolist()):
        level = by_depth[first:last]
        level = level[~is_told[level]]
        above = calls.above[level]
        parents = np.where(above < 0, 0, place[above])
        level, parents = level[parents >= 0], parents[parents >= 0]
        keys, seen, which = np.unique(
            parents * len(listed) + name[level], return_index=True, return_inverse=True
        )
        found = np.empty(len(keys), np.int64)
        for at in np.argsort(seen).tolist():  # as they come in the file
            parent, code = divmod(int(keys[at]), len(listed))
            found[at] = places.below(parent, listed[code])
        place[level] = found[which]
    return place


def unnumbered(name: str) -> str:
    """Return a name without its number: `ProfilerStep#12` is one more `ProfilerStep`."""
    match = _NUMBERED.fullmatch(name)
    return match[1] if match else name
