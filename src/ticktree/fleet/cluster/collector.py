"""The collector: on each node of a cluster, it reads what its processes recorded there."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from ticktree.errors import TicktreeError
from ticktree.fleet.cluster.node import end_part, find_part
from ticktree.fleet.cluster.word import reached
from ticktree.profile import Profile
from ticktree.run.finishing import RunDirectory
from ticktree.run.folding import fold_if_many

# A loss until it is none: who reads the run before a node's last word, or without it, is told so.
NOTHING_YET = Profile(losses={"ray_nodes_not_read_to_their_end": 1})


class Collected(NamedTuple):
    """What a node hands over.

    Attributes:
        profile: Of all that was recorded there since the run began, as compressed JSON; None where that is nothing
            new, or nothing at all.
        is_here: Whether the run itself lies here: then there is nothing to hand over.
    """

    profile: bytes | None = None
    is_here: bool = False


class Collector:
    """An actor on one node.

    Args:
        word: The run's.
        node: The node's id.
    """

    def __init__(self, word: Mapping[str, Any], node: str) -> None:
        self._word = word
        self._node = node
        self._is_here = reached(word) is not None
        self._last = b""

    def collect(self) -> Collected:
        """What there is by now."""
        if self._is_here:
            return Collected(is_here=True)
        part = self._part()
        if part is None:
            return Collected()
        fold_if_many(part)
        packed = _packed(part.profile().merge(NOTHING_YET))
        if packed == self._last:
            return Collected()
        self._last = packed
        return Collected(packed)

    def finish(self) -> Collected:
        """The last word; from here on nothing is recorded on this node."""
        part = None if self._is_here else self._part()
        if part is None:
            return Collected(is_here=self._is_here)
        profile = part.profile()
        end_part(self._word, self._node, part)
        return Collected(_packed(profile))

    def _part(self) -> RunDirectory | None:
        try:
            part = find_part(self._word, self._node)
        except TicktreeError:  # it has been removed
            return None
        return None if part is None or part.is_finished() else part


def _packed(profile: Profile) -> bytes:
    return zlib.compress(profile.to_json().encode(), 1)
