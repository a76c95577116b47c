"""Nanoseconds as Prometheus wants times."""

from __future__ import annotations

_SECOND = 1_000_000_000


def seconds(ns: int) -> float:
    """Return nanoseconds as seconds, to the last digit that a reader's float can hold."""
    return ns / _SECOND
