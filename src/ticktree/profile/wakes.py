"""Wakes: who let the calls of a waiting node go on, and how long they had waited for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple


class Waker(NamedTuple):
    """Who let whom go on.

    Attributes:
        channel: what was waited for: the name of a queue, a pipe, a lock, a thread to join.
        writer: id of the writer that waited.
        by: id of the writer that signalled.
        path: of the node that was open there when it signalled.
    """

    channel: str
    writer: str
    by: str
    path: str


@dataclass(frozen=True, slots=True)
class Wakes:
    """Waits that ended by the same waker's signals. Every field merges by adding.

    Attributes:
        count: how many.
        waited_ns: how long they had lasted together.
        handover_ns: of that, the time from the signal to the end of the wait.
    """

    count: int
    waited_ns: int
    handover_ns: int

    def __add__(self, other: Wakes) -> Wakes:
        return Wakes(
            self.count + other.count, self.waited_ns + other.waited_ns, self.handover_ns + other.handover_ns
        )

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        if self.count < 1:
            yield "a waker never woke"
        if not 0 <= self.handover_ns <= self.waited_ns:
            yield f"a handover of {self.handover_ns} ns is not part of a wait of {self.waited_ns} ns"
