"""What was read of a gauge between two readings of a run."""

from __future__ import annotations

from dataclasses import replace

from ticktree.live.subtraction import NotLaterError, reading_less
from ticktree.profile import Gauge
from ticktree.profile.histogram import edges_of


def gauge_between(earlier: Gauge, later: Gauge) -> Gauge | None:
    """Return the readings in between; None where there were none.

    Raises:
        NotLaterError: `earlier` has readings that `later` has not.
    """
    if earlier.count == later.count:
        return None
    positive, negative = (
        reading_less(earlier.positive, later.positive),
        reading_less(earlier.negative, later.negative),
    )
    between = replace(
        later,
        count=later.count - earlier.count,
        positive=positive,
        negative=negative,
        zeros=later.zeros - earlier.zeros,
    )
    if between.count < 0 or between.zeros < 0:
        raise NotLaterError("a gauge has fewer readings than before")
    low, high = _bounds(between)
    return replace(
        between, min=min(max(low, later.min), later.last), max=max(min(high, later.max), later.last)
    )


def _bounds(gauge: Gauge) -> tuple[float, float]:
    """Return what no reading of `gauge` lies beyond, by its histograms."""
    if gauge.filed != gauge.count:
        return gauge.min, gauge.max
    parts = [(0.0, 0.0)] if gauge.zeros else []
    parts += [edges_of(bucket) for bucket in gauge.positive.buckets]
    parts += [(-high, -low) for low, high in map(edges_of, gauge.negative.buckets)]
    return min(low for low, _ in parts), max(high for _, high in parts)
