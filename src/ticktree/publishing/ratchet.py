"""Sums that only grow: a database that sees one fall believes that all of it was counted anew."""

from __future__ import annotations

from collections.abc import Hashable


class Ratchet:
    """The highest that each sum has been.

    What a process was still at is counted until the moment of reading; if it is then killed, only until the last
    moment that it left in its file. So a time can fall by what is not known to have been spent.
    """

    def __init__(self) -> None:
        self._highest: dict[Hashable, float] = {}
        self._era = 0

    def begin(self, era: int) -> None:
        """Begin a look: if recording has begun anew since the last one, so do the sums."""
        if era != self._era:
            self._era = era
            self._highest.clear()

    def held(self, key: Hashable, value: float) -> float:
        """Return the sum of that key as it may be published."""
        highest = self._highest[key] = max(value, self._highest.get(key, value))
        return highest
