"""Gauges as the objects JSON knows."""

from __future__ import annotations

from typing import Any

from ticktree.profile.encode.stats import pairs
from ticktree.profile.gauge import Gauge


def gauge_object(gauge: Gauge) -> dict[str, Any]:
    """Return `gauge`."""
    return {
        "last": float(gauge.last),
        "last_wall_ns": gauge.last_wall_ns,
        "writer": gauge.writer,
        "count": gauge.count,
        "min": float(gauge.min),
        "max": float(gauge.max),
        "p50": gauge.p50,
        "p99": gauge.p99,
        "zeros": gauge.zeros,
        "positive": pairs(gauge.positive.buckets),
        "negative": pairs(gauge.negative.buckets),
    }
