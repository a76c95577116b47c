"""Lateness and jitter: how far ticks were over their budget, and from one another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ticktree.profile.histogram import Histogram, rank_of
from ticktree.profile.stats import rounded_ratio


@dataclass(frozen=True, slots=True)
class Lateness:
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
        both = _histogram_of(self, other)
        return Lateness(
            self.count + other.count, self.sum_ns + other.sum_ns, max(self.max_ns, other.max_ns), both
        )

    @property
    def is_known(self) -> bool:
        """Whether it is known how late each was; true when none was late."""
        return self.histogram.count == self.count

    @property
    def mean_ns(self) -> int | None:
        """Mean lateness of a late tick; None when none was late."""
        return rounded_ratio(self.sum_ns, self.count) if self.count else None

    def quantile_ns(self, q: float) -> int | None:
        """Lateness that the share `q` of the late ticks did not exceed, within 1.1%; None when not known."""
        return _quantile_ns(self.histogram, q, self.max_ns)

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        yield from self.histogram.problems()
        if min(self.count, self.sum_ns, self.max_ns) < 0:
            yield "a lateness is negative"
        if self.histogram.count not in (0, self.count):
            yield f"the histogram holds {self.histogram.count} late ticks where {self.count} were counted"


@dataclass(frozen=True, slots=True)
class Jitter:
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
        return Jitter(self.count + other.count, self.sum_ns + other.sum_ns, _histogram_of(self, other))

    @property
    def is_known(self) -> bool:
        """Whether each difference is known; true when there was no pair."""
        return self.histogram.count == self.count

    @property
    def mean_ns(self) -> int | None:
        """Mean difference; None when there was no pair."""
        return rounded_ratio(self.sum_ns, self.count) if self.count else None

    def quantile_ns(self, q: float) -> int | None:
        """Difference that the share `q` of the pairs did not exceed, within 1.1%; None when not known."""
        return _quantile_ns(self.histogram, q, self.sum_ns)

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        yield from self.histogram.problems()
        if min(self.count, self.sum_ns) < 0:
            yield "a jitter is negative"
        if self.histogram.count not in (0, self.count):
            yield f"the histogram holds {self.histogram.count} differences where {self.count} were counted"


def _histogram_of(left: Lateness | Jitter, right: Lateness | Jitter) -> Histogram:
    """Return both histograms together; an empty one where not all of it is known."""
    return left.histogram + right.histogram if left.is_known and right.is_known else Histogram()


def _quantile_ns(histogram: Histogram, q: float, most_ns: int) -> int | None:
    """Return the quantile `q`, never above what is known to be the most; None where nothing is known."""
    count = histogram.count
    return min(round(histogram.at_rank(rank_of(q, count))), most_ns) if count else None
