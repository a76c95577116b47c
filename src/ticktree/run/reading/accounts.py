"""What is still open, left virtually: the rule of `recorder/core/hot.h`, applied to a copy."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from ticktree.run.reading import layout
from ticktree.run.reading.image import Image


@dataclass
class Accounts:
    """What leaving every open call at one moment adds to the nodes, in ticks, by node reference.

    Attributes:
        own: To a node's own time.
        concurrent: To its concurrent time, signed.
        ages: How long each open call of a node has been running.
    """

    own: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    concurrent: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    ages: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))


def leave_virtually(image: Image) -> Accounts:
    """Leaves every open call of an image at the moment it was taken; calls are not counted by it.

    A dead process says no more than when it last looked at the clock; what it entered after that is taken to
    have begun at the end.
    """
    frames = image.open_frames()
    now = max([image.header.last.ticks, *(max(frame.start, frame.cover_start) for frame in frames.values())])
    accounts = Accounts()
    # Children are younger than what they are in: the youngest first.
    for frame in sorted(frames.values(), key=lambda frame: -frame.serial):
        if frame.node:
            _leave(frame, frames.get(frame.parent), now, accounts)
    return accounts


def _leave(frame: layout.Record, parent: layout.Record | None, now: int, accounts: Accounts) -> None:
    duration = now - frame.start
    if frame.active:
        stretch = now - frame.cover_start
        frame.covered += stretch
        accounts.concurrent[frame.last_child] -= stretch
    stood_for = 0
    if parent is not None and parent.serial == frame.parent_serial and parent.active:
        parent.active -= 1
        if not parent.active:
            stood_for = now - parent.cover_start
            parent.covered += stood_for
    accounts.own[frame.node] += duration - frame.covered
    accounts.concurrent[frame.node] += duration - stood_for
    accounts.ages[frame.node].append(duration)
