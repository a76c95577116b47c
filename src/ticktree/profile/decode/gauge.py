"""Gauges from the objects JSON knows."""

from __future__ import annotations

from ticktree.profile.fields import Fields
from ticktree.profile.gauge import Gauge
from ticktree.profile.histogram import BUCKETS_PER_OCTAVE, Histogram

# Any double but 0, the least of which is 2**-1074.
_READINGS = (-1074 * BUCKETS_PER_OCTAVE, 1024 * BUCKETS_PER_OCTAVE - 1)


def gauge_from(name: str, fields: Fields) -> Gauge:
    """Return the gauge called `name` in `fields`."""
    return Gauge(
        name=name,
        last=fields.number("last"),
        last_wall_ns=fields.whole("last_wall_ns"),
        writer=fields.text("writer"),
        count=fields.whole("count"),
        min=fields.number("min"),
        max=fields.number("max"),
        positive=Histogram(fields.pairs("positive", *_READINGS)),
        negative=Histogram(fields.pairs("negative", *_READINGS)),
        zeros=fields.whole("zeros", 0),
    )
