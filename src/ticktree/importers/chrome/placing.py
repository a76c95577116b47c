"""Placing: which call was made inside which, and of which node of the tree each is."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise
from operator import neg

import numpy as np

from ticktree.importers.chrome.events import NS_PER_US, CallTable, Column, Flags, TraceCalls
from ticktree.profile import MAX_DEPTH, ROOT_NAME
from ticktree.profile import path as paths
from ticktree.profile.measures import HOST, Clock, key_of, named_by


@dataclass(eq=False)
class Nested(CallTable):
    """Calls lane by lane, outer ones before what they hold; cut where by rounding they ended after what they are in.

    Attributes:
        above: the call it was made in; -1 for those at the top of their lane.
        depth: how many calls are around it.
        is_concurrent: whether it is concurrent to what it is in: it overlaps calls there without lying in any
            of them.
    """

    above: Column
    depth: Column
    is_concurrent: Flags

    @property
    def duration_ns(self) -> Column:
        """What each call took."""
        return self.end_ns - self.start_ns

    def stand_apart(self, which: Flags) -> None:
        """Take calls out of what they seem to lie in: the file itself says that they were made elsewhere."""
        inner = which & (self.above >= 0)
        self.is_concurrent |= inner
        self.above[inner] = -1

    def only(self, which: Flags) -> Nested:
        """Return some of the calls, and with each what it was made in."""
        at = np.cumsum(which) - 1
        left = Nested(*(column[which] for column in vars(self).values()))
        left.above = np.where(left.above < 0, -1, at[left.above])
        return left


class _Stack:
    """Open calls, each of which lies in the one before it."""

    __slots__ = ("calls", "ends")

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.ends: list[int] = []

    def fitted(self, start: int, end: int, slack: int) -> tuple[int, int] | None:
        """Drop what is over, and return where a call lies in what is left; None where it does not fit.

        What does not fit by less than `slack`, which is how coarse the file's times are, is cut until it does.
        """
        calls, ends = self.calls, self.ends
        while ends and ends[-1] <= start:
            ends.pop()
            calls.pop()
        while ends and end > ends[-1]:
            if end - ends[-1] <= slack:
                return start, ends[-1]
            if ends[-1] - start > slack:
                return None
            start = ends.pop()
            calls.pop()
        return start, end

    def push(self, call: int, end: int) -> None:
        """Open a call in the innermost one."""
        self.calls.append(call)
        self.ends.append(end)

    def around(self, end: int) -> int:
        """Return the depth of the innermost call that is still open at `end`; -1 where there is none."""
        return bisect_left(self.ends, 1 - end, key=neg) - 1  # those further in end no later


_FREE = 1 << 64  # later than any end


class _Further:
    """Stacks of calls that fit into no earlier one; for `slack` see `_Stack.fitted`.

    How many there are grows with how many calls overlap. A tree finds the first in which a call fits: each of its
    nodes holds the latest of the ends below it, a leaf the end of its stack's innermost call that is not nearly over.
    """

    def __init__(self, slack: int) -> None:
        self._slack = slack
        self._stacks: list[_Stack] = []
        self._latest = [-1, -1]  # the root is at 1, the children of a node at twice its place
        self._ends: list[tuple[int, int]] = []  # a heap of every call's end and stack

    def fitted(self, start: int, end: int) -> tuple[int, tuple[int, int]]:
        """Return the first stack in which a call fits, made at need, and where it lies there."""
        over = start + self._slack
        while self._ends and self._ends[0][0] <= over:
            at = heappop(self._ends)[1]
            ends = self._stacks[at].ends
            around = bisect_left(ends, -over, key=neg)
            self._set(at, ends[around - 1] if around else _FREE)
        if self._latest[1] < end - self._slack:
            return self._grown(), (start, end)
        node, leaves = 1, len(self._latest) // 2
        while node < leaves:
            node *= 2
            if self._latest[node] < end - self._slack:
                node += 1
        fit = self._stacks[node - leaves].fitted(start, end, self._slack)
        assert fit is not None, "the tree holds what the stacks do"
        return node - leaves, fit

    def stack(self, at: int) -> _Stack:
        """Return a stack by its place."""
        return self._stacks[at]

    def push(self, at: int, call: int, end: int) -> None:
        """Open a call in a stack."""
        self._stacks[at].push(call, end)
        heappush(self._ends, (end, at))
        self._set(at, end)

    def _grown(self) -> int:
        leaves = len(self._latest) // 2
        if len(self._stacks) == leaves:
            held = self._latest[leaves:]
            self._latest = [-1] * (4 * leaves)
            for at, end in enumerate(held):
                self._set(at, end)
        self._stacks.append(_Stack())
        return len(self._stacks) - 1

    def _set(self, at: int, end: int) -> None:
        latest = self._latest
        node = len(latest) // 2 + at
        latest[node] = end
        while node > 1:
            node //= 2
            latest[node] = max(latest[2 * node], latest[2 * node + 1])


def nested(calls: TraceCalls) -> Nested:
    """Return the calls with what each was made in."""
    # Of calls that began together the longest is around the others; of those alike, the first in the file.
    order = np.lexsort((calls.source, -calls.end_ns, calls.start_ns, calls.lane))
    start, end = calls.start_ns[order], calls.end_ns[order]
    above = [-1] * len(order)
    depth = [0] * len(order)
    is_concurrent = np.zeros(len(order), bool)
    slack = _slack_ns(calls)
    here, main, further = -1, _Stack(), _Further(slack)
    rows = zip(start.tolist(), end.tolist(), calls.lane[order].tolist(), strict=True)
    for call, (began, ended, lane) in enumerate(rows):
        if lane != here:
            here, main, further = lane, _Stack(), _Further(slack)
        at, stack, fit = -1, main, main.fitted(began, ended, slack)
        if fit is None:
            at, fit = further.fitted(began, ended)
            stack = further.stack(at)
        if stack.calls:  # which may have been cut to begin later than this
            first = max(fit[0], int(start[stack.calls[-1]]))
            fit = first, max(fit[1], first)
        if (began, ended) != fit:
            start[call], end[call] = fit
        if stack.calls:
            above[call] = stack.calls[-1]
            depth[call] = depth[above[call]] + 1
        elif stack is not main:
            is_concurrent[call] = True
            around = main.around(fit[1])
            if around >= 0:
                above[call] = main.calls[around]
                depth[call] = around + 1
        if stack is main:
            main.push(call, fit[1])
        else:
            further.push(at, call, fit[1])
    return Nested(
        start,
        end,
        calls.name[order],
        calls.lane[order],
        calls.is_open[order],
        calls.source[order],
        np.array(above, np.int64),
        np.array(depth, np.int64),
        is_concurrent,
    )


def _slack_ns(calls: TraceCalls) -> int:
    """Return by how much calls that nest may seem not to, for their times were rounded one by one."""
    if not len(calls):
        return 0
    times = np.concatenate((calls.start_ns, calls.end_ns))
    if not np.any(times % NS_PER_US):
        return NS_PER_US
    latest = int(np.abs(times).max())
    # Two roundings, of a start and of a length, each by half of what the numbers can tell apart.
    return 2 * math.ceil(math.ulp(latest / NS_PER_US) * NS_PER_US)


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
    explicit_paths: Mapping[int, Sequence[str]],
    places: NumberedTree,
    *,
    is_own: bool,
) -> Column:
    """Return the place of each call, added to `places`; nowhere for those that are too deep.

    `explicit_paths` has, by source, the keys from the root to a call, where the file says them. In a file that is
    ticktree's own, numbers in names are no counts.
    """
    plain = [name if is_own else unnumbered(name) for name in names]
    codes = {name: code for code, name in enumerate(dict.fromkeys(plain))}
    listed = list(codes)
    name = np.array([codes[each] for each in plain], np.int64)[calls.name]
    place = np.full(len(calls), NOWHERE, np.int64)
    is_explicit = np.isin(calls.source, np.fromiter(explicit_paths, np.int64, len(explicit_paths)))
    for call in np.flatnonzero(is_explicit).tolist():
        place[call] = places.at(explicit_paths[int(calls.source[call])])
    by_depth = np.argsort(calls.depth, kind="stable")
    bounds = np.searchsorted(calls.depth[by_depth], np.arange(int(calls.depth.max(initial=-1)) + 2))
    for first, last in pairwise(bounds.tolist()):
        level = by_depth[first:last]
        level = level[~is_explicit[level]]
        above = calls.above[level]
        parents = np.where(above < 0, 0, place[above])
        level, parents = level[parents >= 0], parents[parents >= 0]
        keys, first_at, which = np.unique(
            parents * len(listed) + name[level], return_index=True, return_inverse=True
        )
        found = np.empty(len(keys), np.int64)
        for at in np.argsort(first_at).tolist():  # as they come in the file
            parent, code = divmod(int(keys[at]), len(listed))
            found[at] = places.below(parent, listed[code])
        place[level] = found[which]
    return place


def unnumbered(name: str) -> str:
    """Return a name without its number: `ProfilerStep#12` is one more `ProfilerStep`."""
    match = _NUMBERED.fullmatch(name)
    return match[1] if match else name
