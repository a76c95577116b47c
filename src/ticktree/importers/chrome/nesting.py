"""Nesting: each call's parent, and its node in the tree."""

from __future__ import annotations

import math
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
from ticktree.profile.measures import HOST, Clock, key_of, split_key


@dataclass(eq=False)
class CallTree(CallTable):
    """Calls by lane, parents before their children; cut if by rounding they end after their parent.

    Attributes:
        parent: the call that it was made in; -1 at the top of a lane.
        depth: how many calls are around it.
        is_concurrent: whether it is concurrent to its parent: it overlaps other children without lying in any of them.
    """

    parent: Column
    depth: Column
    is_concurrent: Flags

    @property
    def duration_ns(self) -> Column:
        """Duration of each call."""
        return self.end_ns - self.start_ns

    def detach(self, mask: Flags) -> None:
        """Detach calls from the calls that enclose them in time: the file contains another parent."""
        is_inner = mask & (self.parent >= 0)
        self.is_concurrent |= is_inner
        self.parent[is_inner] = -1

    def select(self, mask: Flags) -> CallTree:
        """Return the calls in `mask`, with their parents renumbered."""
        new_row = np.cumsum(mask) - 1
        selection = CallTree(*(column[mask] for column in vars(self).values()))
        selection.parent = np.where(selection.parent < 0, -1, new_row[selection.parent])
        return selection


class _Stack:
    """Open calls, each enclosed by the one before it."""

    __slots__ = ("calls", "ends")

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.ends: list[int] = []

    def fit(self, start: int, end: int, slack: int) -> tuple[int, int] | None:
        """Remove calls that are over, and return the start and end of a new call inside the rest; None if it overlaps.

        An overlap of at most `slack`, the resolution of the file's times, is cut off.
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
        """Open a call inside the innermost one."""
        self.calls.append(call)
        self.ends.append(end)

    def depth_at(self, end: int) -> int:
        """Return the depth of the innermost call that is still open at `end`; -1 if there is none."""
        return bisect_left(self.ends, 1 - end, key=neg) - 1  # ends decrease with depth


_NO_END = 1 << 64  # later than any end


class _OverflowStacks:
    """Stacks of calls that do not fit into an earlier one; for `slack` see `_Stack.fit`.

    Their number grows with the number of overlapping calls. A tree finds the first in which a call fits: a node
    contains the latest end below it, a leaf the end of its stack's innermost call that is not nearly over.
    """

    def __init__(self, slack: int) -> None:
        self._slack = slack
        self._stacks: list[_Stack] = []
        self._latest = [-1, -1]  # the root is at 1, the children of node i at 2 * i
        self._ends: list[tuple[int, int]] = []  # a heap of every call's end and stack

    def fit(self, start: int, end: int) -> tuple[int, tuple[int, int]]:
        """Return the first stack in which a call fits, created if needed, and its start and end there."""
        over_at = start + self._slack
        while self._ends and self._ends[0][0] <= over_at:
            index = heappop(self._ends)[1]
            ends = self._stacks[index].ends
            depth = bisect_left(ends, -over_at, key=neg)
            self._set_end(index, ends[depth - 1] if depth else _NO_END)
        if self._latest[1] < end - self._slack:
            return self._add_stack(), (start, end)
        node, leaves = 1, len(self._latest) // 2
        while node < leaves:
            node *= 2
            if self._latest[node] < end - self._slack:
                node += 1
        bounds = self._stacks[node - leaves].fit(start, end, self._slack)
        assert bounds is not None, "the tree agrees with the stacks"
        return node - leaves, bounds

    def stack(self, index: int) -> _Stack:
        """Return a stack by its index."""
        return self._stacks[index]

    def push(self, index: int, call: int, end: int) -> None:
        """Open a call in a stack."""
        self._stacks[index].push(call, end)
        heappush(self._ends, (end, index))
        self._set_end(index, end)

    def _add_stack(self) -> int:
        leaves = len(self._latest) // 2
        if len(self._stacks) == leaves:
            ends = self._latest[leaves:]
            self._latest = [-1] * (4 * leaves)
            for index, end in enumerate(ends):
                self._set_end(index, end)
        self._stacks.append(_Stack())
        return len(self._stacks) - 1

    def _set_end(self, index: int, end: int) -> None:
        latest = self._latest
        node = len(latest) // 2 + index
        latest[node] = end
        while node > 1:
            node //= 2
            latest[node] = max(latest[2 * node], latest[2 * node + 1])


def nest(calls: TraceCalls) -> CallTree:
    """Return the calls with their parents."""
    # Of calls that began together the longest is the parent; of equal ones, the first in the file.
    order = np.lexsort((calls.source, -calls.end_ns, calls.start_ns, calls.lane))
    start, end = calls.start_ns[order], calls.end_ns[order]
    parent = [-1] * len(order)
    depth = [0] * len(order)
    is_concurrent = np.zeros(len(order), bool)
    slack = _slack_ns(calls)
    current_lane, main, overflow = -1, _Stack(), _OverflowStacks(slack)
    rows = zip(start.tolist(), end.tolist(), calls.lane[order].tolist(), strict=True)
    for row, (began, ended, lane) in enumerate(rows):
        if lane != current_lane:
            current_lane, main, overflow = lane, _Stack(), _OverflowStacks(slack)
        stack_index, stack, bounds = -1, main, main.fit(began, ended, slack)
        if bounds is None:
            stack_index, bounds = overflow.fit(began, ended)
            stack = overflow.stack(stack_index)
        if stack.calls:  # the parent may have been cut to begin later than this
            first = max(bounds[0], int(start[stack.calls[-1]]))
            bounds = first, max(bounds[1], first)
        if (began, ended) != bounds:
            start[row], end[row] = bounds
        if stack.calls:
            parent[row] = stack.calls[-1]
            depth[row] = depth[parent[row]] + 1
        elif stack is not main:
            is_concurrent[row] = True
            depth_in_main = main.depth_at(bounds[1])
            if depth_in_main >= 0:
                parent[row] = main.calls[depth_in_main]
                depth[row] = depth_in_main + 1
        if stack is main:
            main.push(row, bounds[1])
        else:
            overflow.push(stack_index, row, bounds[1])
    return CallTree(
        start,
        end,
        calls.name[order],
        calls.lane[order],
        calls.is_open[order],
        calls.source[order],
        np.array(parent, np.int64),
        np.array(depth, np.int64),
        is_concurrent,
    )


def _slack_ns(calls: TraceCalls) -> int:
    """Return by how much nested calls may seem to overlap, because every time was rounded."""
    if not len(calls):
        return 0
    times = np.concatenate((calls.start_ns, calls.end_ns))
    if not np.any(times % NS_PER_US):
        return NS_PER_US
    latest = int(np.abs(times).max())
    # Two roundings, of a start and a duration, each by half of the numbers' resolution.
    return 2 * math.ceil(math.ulp(latest / NS_PER_US) * NS_PER_US)


NO_NODE = -1


class NumberedTree:
    """The nodes of a tree, numbered from the root, 0, parents before their children.

    Attributes:
        parent: of each node; -1 for the root.
        names: of each node.
        clocks: of each node.
        depth: of each node below the root.
    """

    def __init__(self) -> None:
        self.parent = [NO_NODE]
        self.names = [ROOT_NAME]
        self.clocks: list[Clock] = [HOST]
        self.depth = [0]
        self._ids: dict[tuple[int, str], int] = {}

    def __len__(self) -> int:
        return len(self.names)

    def child(self, parent: int, name: str, clock: Clock = HOST) -> int:
        """Return the child of a node by name and clock, created if needed; NO_NODE if it is too deep."""
        if parent == NO_NODE or self.depth[parent] >= MAX_DEPTH:
            return NO_NODE
        node_id = self._ids.setdefault((parent, key_of(name, clock)), len(self.names))
        if node_id == len(self.names):
            self.parent.append(parent)
            self.names.append(name)
            self.clocks.append(clock)
            self.depth.append(self.depth[parent] + 1)
        return node_id

    def node_at(self, keys: Sequence[str]) -> int:
        """Return the node that `keys` lead to from the root, created if needed."""
        node_id = 0
        for key in keys:
            node_id = self.child(node_id, *split_key(key))
        return node_id

    def paths(self) -> list[str]:
        """Return the path of every node."""
        all_paths = [paths.ROOT]
        for parent, name, clock in zip(self.parent[1:], self.names[1:], self.clocks[1:], strict=True):
            all_paths.append(paths.child(all_paths[parent], key_of(name, clock)))
        return all_paths


def assign_nodes(
    calls: CallTree, names: Sequence[str], explicit_paths: Mapping[int, Sequence[str]], tree: NumberedTree
) -> Column:
    """Return the node of each call, added to `tree`; NO_NODE for those that are too deep.

    `explicit_paths` has, by source, the keys from the root to a call, if the file contains them.
    """
    codes = {name: code for code, name in enumerate(dict.fromkeys(names))}
    code_names = list(codes)
    name_codes = np.array([codes[name] for name in names], np.int64)[calls.name]
    node_id = np.full(len(calls), NO_NODE, np.int64)
    is_explicit = np.isin(calls.source, np.fromiter(explicit_paths, np.int64, len(explicit_paths)))
    for row in np.flatnonzero(is_explicit).tolist():
        node_id[row] = tree.node_at(explicit_paths[int(calls.source[row])])
    by_depth = np.argsort(calls.depth, kind="stable")
    bounds = np.searchsorted(calls.depth[by_depth], np.arange(int(calls.depth.max(initial=-1)) + 2))
    for first, last in pairwise(bounds.tolist()):
        level = by_depth[first:last]
        level = level[~is_explicit[level]]
        row_parent = calls.parent[level]
        parents = np.where(row_parent < 0, 0, node_id[row_parent])
        level, parents = level[parents >= 0], parents[parents >= 0]
        keys, first_at, inverse = np.unique(
            parents * len(code_names) + name_codes[level], return_index=True, return_inverse=True
        )
        key_nodes = np.empty(len(keys), np.int64)
        for i in np.argsort(first_at).tolist():  # as they come in the file
            parent, code = divmod(int(keys[i]), len(code_names))
            key_nodes[i] = tree.child(parent, code_names[code])
        node_id[level] = key_nodes[inverse]
    return node_id
