"""Nesting: which call was made inside which. A trace does not say; when they began and ended does."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ticktree.run.foreign.chrome.events import NS_PER_US, Calls, Column, Flags, Table


@dataclass(eq=False)
class Nested(Table):
    """Calls lane by lane, outer ones before what they hold; cut where by rounding they ended after what they are in.

    Attributes:
        above: the call it was made in; -1 for those at the top of their lane.
        depth: how many calls are around it.
        is_beside: whether it ran beside what it is in: it overlaps calls there without lying in any of them.
    """

    above: Column
    depth: Column
    is_beside: Flags

    @property
    def duration_ns(self) -> Column:
        """What each call took."""
        return self.end_ns - self.start_ns

    def stand_apart(self, which: Flags) -> None:
        """Take calls out of what they seem to lie in: the file itself says that they were made elsewhere."""
        inner = which & (self.above >= 0)
        self.is_beside |= inner
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
        return next((at for at in reversed(range(len(self.ends))) if self.ends[at] >= end), -1)


def nested(calls: Calls) -> Nested:
    """Return the calls with what each was made in."""
    # Of calls that began together the longest is around the others; of those alike, the first in the file.
    order = np.lexsort((calls.source, -calls.end_ns, calls.start_ns, calls.lane))
    start, end = calls.start_ns[order], calls.end_ns[order]
    above = [-1] * len(order)
    depth = [0] * len(order)
    is_beside = np.zeros(len(order), bool)
    slack = _slack_ns(calls)
    here, main, more = -1, _Stack(), list[_Stack]()
    rows = zip(start.tolist(), end.tolist(), calls.lane[order].tolist(), strict=True)
    for call, (began, ended, lane) in enumerate(rows):
        if lane != here:
            here, main, more = lane, _Stack(), []
        stack, fit = main, main.fitted(began, ended, slack)
        if fit is None:
            stack, fit = _beside(more, began, ended, slack)
        if (began, ended) != fit:
            start[call], end[call] = fit
        if stack.calls:
            above[call] = stack.calls[-1]
            depth[call] = depth[above[call]] + 1
        elif stack is not main:
            is_beside[call] = True
            around = main.around(fit[1])
            if around >= 0:
                above[call] = main.calls[around]
                depth[call] = around + 1
        stack.push(call, fit[1])
    return Nested(
        start,
        end,
        calls.name[order],
        calls.lane[order],
        calls.is_open[order],
        calls.source[order],
        np.array(above, np.int64),
        np.array(depth, np.int64),
        is_beside,
    )


def _beside(more: list[_Stack], start: int, end: int, slack: int) -> tuple[_Stack, tuple[int, int]]:
    """Return the first further stack in which a call fits, made at need, and where it lies there."""
    for stack in more:
        fit = stack.fitted(start, end, slack)
        if fit is not None:
            return stack, fit
    more.append(_Stack())
    return more[-1], (start, end)


def _slack_ns(calls: Calls) -> int:
    """Return by how much calls that nest may seem not to, for their times were rounded one by one."""
    if not len(calls):
        return 0
    times = np.concatenate((calls.start_ns, calls.end_ns))
    if not np.any(times % NS_PER_US):
        return NS_PER_US
    latest = int(np.abs(times).max())
    # Two roundings, of a start and of a length, each by half of what the numbers can tell apart.
    return 2 * math.ceil(math.ulp(latest / NS_PER_US) * NS_PER_US)
