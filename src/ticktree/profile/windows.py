"""Windows: a node's calls over the run's time, a call booked where it ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ticktree.profile.fields import LIMIT, WHOLE, pairs
from ticktree.profile.table import Mergeable, Rule, largest, stored, sums_of

BASE_WIDTH_NS = 10_000_000


_SERIES = pairs(0, LIMIT)


def _coarse(name: str) -> Rule:
    """The sum of series in the widest windows of all."""

    def merged(parts: Sequence[Windows], _: Sequence[Any]) -> dict[int, int]:
        width_ns = max(part.width_ns for part in parts)
        return sums_of(getattr(part.coarsened(width_ns), name) for part in parts)

    return merged


@dataclass(frozen=True, slots=True)
class Windows(Mergeable):
    """Count and total per stretch of the run. Merges by coarsening the finer one, exactly, and adding.

    Every width is 10 ms times a power of two, so a window of the finer always lies within one of the coarser.

    Attributes:
        width_ns: length of a window.
        counts: calls that ended in each window; index 0 starts when the run began.
        totals: nanoseconds those calls took.
    """

    width_ns: int = stored(largest, WHOLE, default=BASE_WIDTH_NS)
    counts: Mapping[int, int] = stored(_coarse("counts"), _SERIES, factory=dict)
    totals: Mapping[int, int] = stored(_coarse("totals"), _SERIES, key="totals_ns", factory=dict)

    def __post_init__(self) -> None:
        for name, table in (("counts", self.counts), ("totals", self.totals)):
            if 0 in table.values():  # equal series compare equal, whoever built them
                object.__setattr__(self, name, {index: n for index, n in table.items() if n})

    @property
    def count(self) -> int:
        """How many calls were booked."""
        return sum(self.counts.values())

    def coarsened(self, width_ns: int) -> Windows:
        """Return the same series in windows of `width_ns`, a multiple of the present width."""
        if width_ns == self.width_ns:
            return self
        factor = width_ns // self.width_ns
        return Windows(width_ns, _folded(self.counts, factor), _folded(self.totals, factor))

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        if not is_width(self.width_ns):
            yield f"a window of {self.width_ns} ns is not 10 ms times a power of two"
        if min(self.counts.values(), default=0) < 0 or min(self.totals.values(), default=0) < 0:
            yield "a window holds a negative count or total"
        if min(self.counts, default=0) < 0:
            yield "a window lies before the run began"
        if not self.totals.keys() <= self.counts.keys():
            yield "a window has time but no calls"


def is_width(width_ns: int) -> bool:
    """Tell whether windows may be `width_ns` long: 10 ms times a power of two."""
    factor, rest = divmod(width_ns, BASE_WIDTH_NS)
    return rest == 0 and factor > 0 and factor & (factor - 1) == 0


def _folded(table: Mapping[int, int], factor: int) -> dict[int, int]:
    result: dict[int, int] = {}
    for index, amount in table.items():
        result[index // factor] = result.get(index // factor, 0) + amount
    return result
