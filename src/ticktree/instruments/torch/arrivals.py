"""Arrivals: which rank came to which collective, so that the last is known."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from ticktree.instruments.torch.peers import Peers
from ticktree.recorder import Channel, Recorder

# A rank that does not wait, as the root of a broadcast, may be some collectives ahead: its signal of a later one must
# not be taken for one of this.
_APART = 16


class Arrival(NamedTuple):
    """That this rank has come to a collective.

    Attributes:
        key: what distinguishes this collective from those shortly before and after; None where others cannot
            read this rank's signals: the last of those that can be read need not be the last to arrive.
        of: what to add to the name of the row: "" where all ranks meet, else how many of them do.
    """

    key: tuple[str, int] | None
    of: str


class Arrivals:
    """The collectives of each group, counted: all of its ranks call them in the same order.

    Args:
        recorder: what records.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.channel = Channel(recorder, "collective")
        self.peers = Peers(recorder)
        self._calls: dict[str, int] = {}

    def arrive(self, group: Any = None) -> Arrival | None:
        """Signal that this rank has arrived at the next collective of a group.

        Args:
            group: which; None for all ranks.

        Returns:
            What is known of it; None where this rank is not of the group.
        """
        world = sys.modules["torch.distributed.distributed_c10d"].GroupMember.WORLD
        if group is None:
            group = world
        name = getattr(group, "group_name", None)
        if not isinstance(name, str):
            return None
        shares = self.peers.share_run()
        number = self._calls[name] = self._calls.get(name, -1) + 1
        of = "" if group is world else f" ({group.size()} of {world.size()} ranks)"
        if not shares:
            return Arrival(None, of)
        key = (name, number % _APART)
        self.channel.wakes(key)
        return Arrival(key, of)
