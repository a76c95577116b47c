"""Lateness and jitter: how far ticks were over their budget, and from one another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ticktree.profile.fields import WHOLE, Object
from ticktree.profile.histogram import DURATIONS, Histogram, rank_of
from ticktree.profile.stats import rounded_ratio
from ticktree.profile.table import Mergeable, add, largest, stored, where_known, whole


class _Filed(Mergeable):
    """Durations that were added up, and filed where each of them is known."""

    __slots__ = ()
    count: int
    sum_ns: int
    histogram: Histogram

    @property
    def _most_ns(self) -> int:
        """What none of them is longer than: together they are as long."""
        return self.sum_ns

    @property
    def is_known(self) -> bool:
        """Whether each of them is known; true when there was none."""
        return self.histogram.count == self.count

    @property
    def mean_ns(self) -> int | None:
        """Their mean; None when there was none."""
        return rounded_ratio(self.sum_ns, self.count) if self.count else None

    def quantile_ns(self, q: float) -> int | None:
        """The duration that the share `q` of them did not exceed, within 1.1%; None when not known."""
        count = self.histogram.count
        return min(round(self.histogram.at_rank(rank_of(q, count))), self._most_ns) if count else None

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        yield from Mergeable.problems(self)
        if self.histogram.count not in (0, self.count):
            yield f"the histogram holds {self.histogram.count} durations where {self.count} were counted"

    def derived(self, written: Object) -> Object:
        """Return what JSON has of it, with mean and percentiles; those are absent where single ones are not known."""
        written["mean_ns"] = self.mean_ns
        if self.histogram.count:
            written |= {"p50_ns": self.quantile_ns(0.5), "p99_ns": self.quantile_ns(0.99)}
        return written


_ALL = where_known(lambda part: part.is_known, whole, Histogram())


@dataclass(frozen=True, slots=True)
class Lateness(_Filed):
    """How late the ticks were that were late.

    Attributes:
        count: late ticks.
        sum_ns: their lateness together.
        max_ns: the latest.
        histogram: of their lateness; empty where it is not known of each.
    """

    count: int = stored(add, WHOLE, least=0)
    sum_ns: int = stored(add, WHOLE, least=0)
    max_ns: int = stored(largest, WHOLE, least=0)
    histogram: Histogram = stored(_ALL, DURATIONS, optional=True, factory=Histogram)

    @property
    def _most_ns(self) -> int:
        return self.max_ns


@dataclass(frozen=True, slots=True)
class Jitter(_Filed):
    """How much one tick's duration differs from the tick's before it.

    Attributes:
        count: pairs of neighbouring ticks.
        sum_ns: sum of the differences, each taken positive.
        histogram: of the differences; empty where they are not known of each pair.
    """

    count: int = stored(add, WHOLE, least=0)
    sum_ns: int = stored(add, WHOLE, least=0)
    histogram: Histogram = stored(_ALL, DURATIONS, optional=True, factory=Histogram)
