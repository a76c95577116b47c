"""Statistics, histograms and windows as the objects JSON knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ticktree.profile.stats import Stats
from ticktree.profile.windows import Windows

Object = dict[str, Any]


def stats_object(stats: Stats) -> Object:
    """Return `stats`, complete."""
    return {
        "count": stats.count,
        "sum_ns": stats.sum_ns,
        **summary_fields(stats),
        "histogram": pairs(stats.histogram.buckets),
    }


def summary_fields(stats: Stats) -> Object:
    """Return what other programs want to know of `stats`: extremes, mean and percentiles."""
    return {
        "min_ns": stats.min_ns,
        "max_ns": stats.max_ns,
        "mean_ns": stats.mean_ns,
        "p50_ns": stats.p50_ns,
        "p90_ns": stats.p90_ns,
        "p99_ns": stats.p99_ns,
    }


def windows_object(windows: Windows) -> Object:
    """Return `windows`."""
    return {
        "width_ns": windows.width_ns,
        "counts": pairs(windows.counts),
        "totals_ns": pairs(windows.totals),
    }


def pairs(table: Mapping[int, int]) -> list[tuple[int, int]]:
    """Return `table` as pairs, in the order of its keys."""
    return sorted(table.items())
