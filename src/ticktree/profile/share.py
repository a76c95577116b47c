"""Share: what one writer did of a node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """One writer's part of a node. Every field merges by adding, and adds up to the node's over its writers.

    Attributes:
        count: completed calls.
        total_ns: own time and the children's, so far as it is this writer's. Like a node's total it counts time that
            ran beside something else once.
        self_ns: time in which none of the children ran.
    """

    count: int = 0
    total_ns: int = 0
    self_ns: int = 0

    def __add__(self, other: Share) -> Share:
        return Share(self.count + other.count, self.total_ns + other.total_ns, self.self_ns + other.self_ns)

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        if self.count < 0 or self.self_ns < 0:
            yield "a writer's calls or own time are negative"
