"""Histogram: how often each size of value occurred, to within 1.1%.

Bucket i holds the values v with floor(32 * log2(v)) == i: 32 buckets per octave, each ending at 2**(1/32) times its
start, which is an OpenTelemetry exponential histogram of scale 5. Durations are whole nanoseconds, so their buckets
start at 0 (1 ns; 0 ns is counted there too). Gauges may be smaller than 1, so their buckets may be negative.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

from ticktree.profile.fields import Codec, Fields
from ticktree.profile.table import Mergeable, column, counts

BUCKETS_PER_OCTAVE = 32


def _threshold(index: int) -> int:
    """Return floor(2**(63 + index/32)), exactly: the 32nd root is five square roots, each floored."""
    power = 1 << (63 * BUCKETS_PER_OCTAVE + index)
    for _ in range(5):
        power = math.isqrt(power)
    return power


# THRESHOLDS[i] = floor(2**(63 + i/32)): the smallest 64-bit mantissa of sub-bucket i. The native recorder compares the
# same integers, so both always choose the same bucket; with floating-point logarithms they might not.
THRESHOLDS = tuple(_threshold(index) for index in range(BUCKETS_PER_OCTAVE))


def bucket_of(value: float) -> int:
    """Return the bucket of `value`; exact at every boundary, for int and float alike.

    Args:
        value: not negative. 0 is counted as 1, like a duration below the clock's resolution.

    Raises:
        ValueError: `value` is negative, infinite or not a number.
    """
    if not 0 <= value < math.inf:
        raise ValueError(f"no bucket for {value}")
    if value == 0:
        return 0
    if isinstance(value, int):
        bits = value.bit_length()
        mantissa = value << (64 - bits) if bits <= 64 else value >> (bits - 64)
    else:
        fraction, bits = math.frexp(value)
        mantissa = int(math.ldexp(fraction, 64))
    return (bits - 1) * BUCKETS_PER_OCTAVE + bisect_right(THRESHOLDS, mantissa) - 1


def middle_of(bucket: int) -> float:
    """Return the geometric middle of `bucket`: every value in it is within 1.1%."""
    return float(2.0 ** ((bucket + 0.5) / BUCKETS_PER_OCTAVE))


def edges_of(bucket: int) -> tuple[float, float]:
    """Return where `bucket` begins and where it ends, to a float's precision."""
    return 2.0 ** (bucket / BUCKETS_PER_OCTAVE), 2.0 ** ((bucket + 1) / BUCKETS_PER_OCTAVE)


@dataclass(frozen=True, slots=True)
class Histogram(Mergeable):
    """Counts per bucket. Merges by adding; the empty histogram is the identity."""

    buckets: Mapping[int, int] = column(counts, factory=dict)

    def __post_init__(self) -> None:
        if 0 in self.buckets.values():  # equal histograms compare equal, however they were built
            object.__setattr__(self, "buckets", {b: n for b, n in self.buckets.items() if n})

    @classmethod
    def of(cls, values: Iterable[float]) -> Histogram:
        """Return the histogram of `values`, none of which is negative."""
        return cls(dict(Counter(map(bucket_of, values))))

    @property
    def count(self) -> int:
        """Number of values."""
        return sum(self.buckets.values())

    def quantile(self, q: float, low: float, high: float) -> float | None:
        """Return the smallest value that at least the share `q` of all values do not exceed; None when empty.

        `low` and `high` are the smallest and the largest value; the result lies between them.
        """
        count = self.count
        if not count:
            return None
        rank = rank_of(q, count)
        if rank in (1, count):  # the ends are known exactly
            return low if rank == 1 else high
        return min(max(self.value_at_rank(rank), low), high)

    def value_at_rank(self, rank: int) -> float:
        """Return the `rank`-th smallest value, from 1 to `count`, within 1.1%."""
        buckets = sorted(self.buckets)
        cumulative = list(accumulate(self.buckets[bucket] for bucket in buckets))
        return middle_of(buckets[bisect_left(cumulative, rank)])

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        if min(self.buckets.values(), default=0) < 0:
            yield "a histogram bucket holds a negative count"


def rank_of(q: float, count: int) -> int:
    """Return the rank, from 1, of the quantile `q` among `count` values in ascending order (nearest rank).

    Raises:
        ValueError: `q` is below 0 or above 1.
    """
    share = _exact_share(q)
    return max(1, -(-share.numerator * count // share.denominator))


@lru_cache(maxsize=64)
def _exact_share(q: float) -> Fraction:
    if not 0 <= q <= 1:
        raise ValueError(f"a quantile is a share from 0 to 1, not {q}")
    # 0.07 * 100 is 7.000000000000001 in binary, and its ceiling one rank too high.
    return Fraction(str(q))


def _histogram_codec(min_bucket: int, max_bucket: int) -> Codec:
    def read(fields: Fields, key: str) -> Histogram:
        return Histogram(fields.pairs(key, min_bucket, max_bucket))

    return Codec(lambda histogram, _: sorted(histogram.buckets.items()), read)


# Durations start at 1 ns; readings are any double but 0, of which 2**-1074 is the smallest.
DURATIONS = _histogram_codec(0, 96 * BUCKETS_PER_OCTAVE - 1)
READINGS = _histogram_codec(-1074 * BUCKETS_PER_OCTAVE, 1024 * BUCKETS_PER_OCTAVE - 1)
