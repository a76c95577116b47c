"""Stats: durations of completed calls, as sums and per window of the run."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ticktree.profile.fields import INT, INT_OR_NULL, LIMIT, Object, pairs
from ticktree.profile.histogram import DURATIONS, Histogram
from ticktree.profile.table import Mergeable, Rule, add, column, largest, merge_parts, smallest, where_known


def _is_known(stats: Stats) -> bool:
    return stats.min_ns is not None or not stats.count


@dataclass(frozen=True, slots=True)
class Stats(Mergeable):
    """Durations of completed calls. `Stats()` is the identity of `+`.

    If another program only counted and summed the calls, the durations of single calls are unknown: minimum, maximum
    and histogram are absent, also from every merge with such statistics.

    Attributes:
        count: completed calls.
        sum_ns: sum of their durations.
        min_ns: the shortest, None if there was none or it is unknown.
        max_ns: the longest, None if there was none or it is unknown.
        histogram: of the durations, empty if they are unknown.
    """

    count: int = column(add, INT, minimum=0, default=0)
    sum_ns: int = column(add, INT, minimum=0, default=0)
    min_ns: int | None = column(where_known(_is_known, smallest), INT_OR_NULL, default=None)
    max_ns: int | None = column(where_known(_is_known, largest), INT_OR_NULL, default=None)
    histogram: Histogram = column(
        where_known(_is_known, merge_parts, Histogram()), DURATIONS, factory=Histogram
    )

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

    @property
    def is_known(self) -> bool:
        """Whether the durations of single calls are known; true when no call completed."""
        return _is_known(self)

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

    @property
    def summary(self) -> Object:
        """Derived fields for other programs: extremes, mean and percentiles."""
        names = ("min_ns", "max_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns")
        return {name: getattr(self, name) for name in names}

    def derived(self, written: Object) -> Object:
        """Add the summary to the JSON, before the histogram."""
        histogram = written.pop("histogram")
        return {**written, **self.summary, "histogram": histogram}

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        yield from Mergeable.problems(self)
        if self.histogram.count != (self.count if self.is_known else 0):
            yield f"the histogram holds {self.histogram.count} calls where {self.count} were counted"
        if self.min_ns is None or self.max_ns is None:
            if self.min_ns != self.max_ns or (self.sum_ns and not self.count):
                yield "there is a minimum without a maximum, a maximum without a minimum, or a sum of no calls"
        elif not self.count:
            yield "there is a minimum or a maximum of no calls"
        elif not 0 <= self.min_ns <= self.max_ns:
            yield f"the minimum, {self.min_ns} ns, and the maximum, {self.max_ns} ns, are out of order"
        # Each was converted from clock ticks and rounded: one nanosecond per call is no error.
        elif not self.count * (self.min_ns - 1) <= self.sum_ns <= self.count * (self.max_ns + 1):
            yield f"the mean, {self.mean_ns} ns, lies outside the minimum and the maximum"


def rounded_ratio(amount: int, parts: int) -> int:
    """Return `amount` / `parts` rounded to the nearest integer, exactly, half upwards."""
    return (2 * amount + parts) // (2 * parts)


BASE_WIDTH_NS = 10_000_000
MAX_WINDOWS = 64  # of a run, as in the recorder: where there would be more, two become one

_COUNTS_BY_WINDOW = pairs(0, LIMIT)

Value = TypeVar("Value")


def window_series(name: str, join: Callable[[Value, Value], Value]) -> Rule:
    """Return a rule that merges series by window: the sum of all parts, in the widest windows of any."""

    def merge_windows(parts: Sequence[Any], _: Sequence[Any]) -> dict[int, Value]:
        width_ns = max(part.width_ns for part in parts)
        return join_series(((getattr(part, name), width_ns // part.width_ns) for part in parts), join)

    return merge_windows


def join_series(
    series: Iterable[tuple[Mapping[int, Value], int]], join: Callable[[Value, Value], Value]
) -> dict[int, Value]:
    """Return the merge of series by window, each given with the number of its windows that become one."""
    result: dict[int, Value] = {}
    for table, factor in series:
        for index, value in table.items():
            coarse_index = index // factor
            result[coarse_index] = join(result[coarse_index], value) if coarse_index in result else value
    return result


@dataclass(frozen=True, slots=True)
class Windows(Mergeable):
    """Count and total per window of the run. Merges by coarsening the finer series, exactly, and adding.

    Every width is 10 ms times a power of two, so a finer window always lies within one coarser window.

    Attributes:
        width_ns: length of a window.
        counts: calls that ended in each window; index 0 starts when the run began.
        totals: sum of their durations in nanoseconds.
    """

    width_ns: int = column(largest, INT, default=BASE_WIDTH_NS)
    counts: Mapping[int, int] = column(window_series("counts", operator.add), _COUNTS_BY_WINDOW, factory=dict)
    totals: Mapping[int, int] = column(
        window_series("totals", operator.add), _COUNTS_BY_WINDOW, key="totals_ns", factory=dict
    )

    def __post_init__(self) -> None:
        for name, table in (("counts", self.counts), ("totals", self.totals)):
            if 0 in table.values():  # equal series compare equal, however they were built
                object.__setattr__(self, name, {index: n for index, n in table.items() if n})

    @property
    def count(self) -> int:
        """Number of calls."""
        return sum(self.counts.values())

    def coarsened(self, width_ns: int) -> Windows:
        """Return the same series in windows of `width_ns`, a multiple of the current width."""
        if width_ns == self.width_ns:
            return self
        factor = width_ns // self.width_ns
        counts, totals = (
            join_series([(table, factor)], operator.add) for table in (self.counts, self.totals)
        )
        return Windows(width_ns, counts, totals)

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        if not is_window_width(self.width_ns):
            yield f"a window of {self.width_ns} ns is not 10 ms times a power of two"
        if min(self.counts.values(), default=0) < 0 or min(self.totals.values(), default=0) < 0:
            yield "a window holds a negative count or total"
        if min(self.counts, default=0) < 0:
            yield "a window lies before the run began"
        if not self.totals.keys() <= self.counts.keys():
            yield "a window has time but no calls"


def window_width(last_ns: int) -> int:
    """Return the width of windows if the last one contains `last_ns`, in nanoseconds since the run began."""
    width_ns = BASE_WIDTH_NS
    while last_ns // width_ns >= MAX_WINDOWS:
        width_ns *= 2
    return width_ns


def is_window_width(width_ns: int) -> bool:
    """Tell whether windows may be `width_ns` long: 10 ms times a power of two."""
    factor, rest = divmod(width_ns, BASE_WIDTH_NS)
    return rest == 0 and factor > 0 and factor & (factor - 1) == 0
