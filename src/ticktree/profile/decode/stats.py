"""Statistics, histograms and windows from the objects JSON knows."""

from __future__ import annotations

from ticktree.profile.fields import LIMIT, Fields
from ticktree.profile.histogram import BUCKETS_PER_OCTAVE, Histogram
from ticktree.profile.stats import Stats
from ticktree.profile.windows import Windows

_DURATIONS = (0, 96 * BUCKETS_PER_OCTAVE - 1)  # they start at 1 ns


def stats_from(fields: Fields) -> Stats:
    """Return the statistics in `fields`."""
    return Stats(
        count=fields.whole("count"),
        sum_ns=fields.whole("sum_ns"),
        min_ns=fields.whole_or_none("min_ns"),
        max_ns=fields.whole_or_none("max_ns"),
        histogram=histogram_from(fields),
    )


def histogram_from(fields: Fields) -> Histogram:
    """Return the histogram in `fields`, empty where there is none."""
    return Histogram(fields.pairs("histogram", *_DURATIONS))


def windows_from(fields: Fields) -> Windows:
    """Return the windows in `fields`."""
    return Windows(
        width_ns=fields.whole("width_ns"),
        counts=fields.pairs("counts", 0, LIMIT),
        totals=fields.pairs("totals_ns", 0, LIMIT),
    )
