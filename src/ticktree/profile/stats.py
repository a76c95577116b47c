"""Stats: what completed calls took."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ticktree.profile.histogram import Histogram
from ticktree.profile.merging import largest, smallest


@dataclass(frozen=True, slots=True)
class Stats:
    """Durations of completed calls. `Stats()` is the identity of `+`.

    Of calls that another program only counted and added up it is not known how long any one took: they have no
    minimum, no maximum and no histogram, and neither has what they are merged with.

    Attributes:
        count: completed calls. Merges by adding.
        sum_ns: what they took together. Merges by adding.
        min_ns: the shortest of them, None when there was none or it is not known. Merges by the minimum.
        max_ns: the longest of them, None when there was none or it is not known. Merges by the maximum.
        histogram: how many took how long, empty when that is not known. Merges by adding.
    """

    count: int = 0
    sum_ns: int = 0
    min_ns: int | None = None
    max_ns: int | None = None
    histogram: Histogram = field(default_factory=Histogram)

    @classmethod
    def of(cls, durations_ns: Iterable[int]) -> Stats:
        """Return the statistics of `durations_ns`."""
        durations = list(durations_ns)
        return cls(
            count=len(durations),
            sum_ns=sum(durations),
            min_ns=min(durations, default=None),
            max_ns=max(durations, default=None),
            histogram=Histogram.of(durations),
        )

    def __add__(self, other: Stats) -> Stats:
        if not (self.is_known and other.is_known):
            return Stats(self.count + other.count, self.sum_ns + other.sum_ns)
        return Stats(
            count=self.count + other.count,
            sum_ns=self.sum_ns + other.sum_ns,
            min_ns=smallest(self.min_ns, other.min_ns),
            max_ns=largest(self.max_ns, other.max_ns),
            histogram=self.histogram + other.histogram,
        )

    @property
    def is_known(self) -> bool:
        """Whether it is known how long single calls took; true when no call completed."""
        return self.min_ns is not None or not self.count

    @property
    def mean_ns(self) -> int | None:
        """Mean duration, rounded to the nanosecond; None when no call completed."""
        return rounded_ratio(self.sum_ns, self.count) if self.count else None

    @property
    def p50_ns(self) -> int | None:
        """Median duration, within 1.1%; None when not known."""
        return self.quantile_ns(0.5)

    @property
    def p90_ns(self) -> int | None:
        """Duration that 90% of the calls did not exceed, within 1.1%; None when not known."""
        return self.quantile_ns(0.9)

    @property
    def p99_ns(self) -> int | None:
        """Duration that 99% of the calls did not exceed, within 1.1%; None when not known."""
        return self.quantile_ns(0.99)

    def quantile_ns(self, q: float) -> int | None:
        """Duration that the share `q` of calls did not exceed, within 1.1%; None when not known."""
        if self.min_ns is None or self.max_ns is None:
            return None
        value = self.histogram.quantile(q, self.min_ns, self.max_ns)
        return None if value is None else round(value)

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        yield from self.histogram.problems()
        if self.count < 0 or self.sum_ns < 0:
            yield "a count or a sum is negative"
        if self.histogram.count != (self.count if self.is_known else 0):
            yield f"the histogram holds {self.histogram.count} calls where {self.count} were counted"
        if self.min_ns is None or self.max_ns is None:
            if self.min_ns != self.max_ns or (self.sum_ns and not self.count):
                yield "there is a minimum without a maximum, a maximum without a minimum, or a sum of no calls"
        elif not self.count:
            yield "there is a minimum or a maximum of no calls"
        elif not 0 <= self.min_ns <= self.max_ns:
            yield f"the minimum, {self.min_ns} ns, and the maximum, {self.max_ns} ns, are out of order"
        # The three were converted from clock ticks and rounded one by one: a nanosecond a call is no error.
        elif not self.count * (self.min_ns - 1) <= self.sum_ns <= self.count * (self.max_ns + 1):
            yield f"the mean, {self.mean_ns} ns, lies outside the minimum and the maximum"


def rounded_ratio(amount: int, parts: int) -> int:
    """Return `amount` / `parts` rounded to the nearest integer, exactly, half upwards."""
    return (2 * amount + parts) // (2 * parts)
