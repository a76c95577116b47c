"""Octaves: a histogram in few buckets whose limits are the same in every run, so that runs can be added up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ticktree.profile import Histogram
from ticktree.profile.histogram import BUCKETS_PER_OCTAVE


def octaves(histograms: Iterable[Histogram]) -> range:
    """Return the octaves that `histograms` have anything in, and those between; octave k is from 2**k on."""
    every = [bucket // BUCKETS_PER_OCTAVE for histogram in histograms for bucket in histogram.buckets]
    return range(min(every), max(every) + 1) if every else range(0)


def longest_ns(octave: int) -> int:
    """Return the longest whole number of nanoseconds in an octave: exactly what is no longer is in it or below."""
    return (2 << octave) - 1


def cumulative(histogram: Histogram, limits: Sequence[int]) -> list[int]:
    """Return how many values are in each of the octaves `limits`, in ascending order, or in one below."""
    counts: dict[int, int] = {}
    for bucket, count in histogram.buckets.items():
        octave = bucket // BUCKETS_PER_OCTAVE
        counts[octave] = counts.get(octave, 0) + count
    passed, result = 0, []
    for octave in limits:
        passed += counts.get(octave, 0)
        result.append(passed)
    return result
