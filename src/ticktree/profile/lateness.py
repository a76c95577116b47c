"""Lateness and jitter: how far ticks were over their budget, and from one another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ticktree.profile.histogram import Histogram, rank_of
from ticktree.profile.stats import rounded_ratio


class _Filed:
    """Durations that were added up, and filed where each of them is known."""

    __slots__ = ()
    count: int
    sum_ns: int
    histogram: Histogram

    @property
    def is_known(self) -> bool:
        """Whether each of them is known; true when there was none."""
        return self.histogram.count == self.count

    @property
    def mean_ns(self) -> int | None:
        """Their mean; None when there was none."""
        return rounded_ratio(self.sum_ns, self.count) if self.count else None

    def _both(self, other: _Filed) -> Histogram:
        """Return both histograms together; an empty one where not all of it is known."""
        return self.histogram + other.histogram if self.is_known and other.is_known else Histogram()

    def _quantile_ns(self, q: float, most_ns: int) -> int | None:
        """Return the quantile `q`, never above what is known to be the most; None where nothing is known."""
        count = self.histogram.count
        return min(round(self.histogram.at_rank(rank_of(q, count))), most_ns) if count else None

    def _problems(self, what: str) -> Iterator[str]:
        yield from self.histogram.problems()
        if self.histogram.count not in (0, self.count):
            yield f"the histogram holds {self.histogram.count} {what} where {self.count} were counted"


@dataclass(frozen=True, slots=True)
class Lateness(_Filed):
    """How late the ticks were that were late.

    Attributes:
        count: late ticks. Merges by adding.
        sum_ns: their lateness together. Merges by adding.
        max_ns: the latest. Merges by the maximum.
        histogram: of their lateness; empty where it is not known of each. Merges by adding.
    """

    count: int
    sum_ns: int
    max_ns: int
    histogram: Histogram = field(default_factory=Histogram)

    def __add__(self, other: Lateness) -> Lateness:
        latest_ns = max(self.max_ns, other.max_ns)
        return Lateness(self.count + other.count, self.sum_ns + other.sum_ns, latest_ns, self._both(other))

    def quantile_ns(self, q: float) -> int | None:
        """Lateness that the share `q` of the late ticks did not exceed, within 1.1%; None when not known."""
        return self._quantile_ns(q, self.max_ns)

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        yield from self._problems("late ticks")
        if min(self.count, self.sum_ns, self.max_ns) < 0:
            yield "a lateness is negative"


@dataclass(frozen=True, slots=True)
class Jitter(_Filed):
    """How much one tick's duration differs from the tick's before it. All fields merge by adding.

    Attributes:
        count: pairs of neighbouring ticks.
        sum_ns: sum of the differences, each taken positive.
        histogram: of the differences; empty where they are not known of each pair.
    """

    count: int
    sum_ns: int
    histogram: Histogram = field(default_factory=Histogram)

    def __add__(self, other: Jitter) -> Jitter:
        return Jitter(self.count + other.count, self.sum_ns + other.sum_ns, self._both(other))

    def quantile_ns(self, q: float) -> int | None:
        """Difference that the share `q` of the pairs did not exceed, within 1.1%; None when not known."""
        return self._quantile_ns(q, self.sum_ns)

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        yield from self._problems("differences")
        if min(self.count, self.sum_ns) < 0:
            yield "a jitter is negative"
