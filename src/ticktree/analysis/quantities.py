"""Quantities: numbers with a unit, as people write them in a configuration: "25 ms", "100 MB", "30 Hz", "5%"."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

_QUANTITY = re.compile(r"\s*([0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+)\s*([^\W\d_]*|%)\s*")

_TIMES = {"ns": 1.0, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9}
_SIZES = {
    "B": 1.0,
    "kB": 1e3,
    "KB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
    "TiB": 2.0**40,
}
_RATES = {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6}
_PARTS = {"%": 0.01, "": 1.0}


def duration_ns(value: object) -> int:
    """Return a time such as "25 ms" in nanoseconds.

    Raises:
        ValueError: `value` is not a time; it says in a few words what one is.
    """
    return round(_parsed(value, _TIMES, 'a time such as "25 ms"'))


def size_bytes(value: object) -> int:
    """Return an amount of memory such as "100 MB" in bytes; a megabyte is 1,000,000 of them, a MiB 2 ** 20.

    Raises:
        ValueError: `value` is not one.
    """
    return round(_parsed(value, _SIZES, 'an amount of memory such as "100 MB"'))


def rate_hz(value: object) -> float:
    """Return a rate such as "30 Hz" in times a second.

    Raises:
        ValueError: `value` is not one.
    """
    return _parsed(value, _RATES, 'a rate such as "30 Hz"')


def part(value: object) -> float:
    """Return a part such as "5%" or 0.05 as a part of 1. It may be more than 1: "150%".

    Raises:
        ValueError: `value` is not one.
    """
    return _parsed(value, _PARTS, 'a part such as "5%" or 0.05')


def _parsed(value: object, units: Mapping[str, float], what: str) -> float:
    """Return `value` in the smallest of `units`; a bare number only where one of them has no name."""
    # True is a number to Python.
    text = str(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else ""
    match = _QUANTITY.fullmatch(text)
    if match and match[2] in units:
        amount = float(match[1].replace("_", "")) * units[match[2]]
        if math.isfinite(amount):
            return amount
    raise ValueError(f"should be {what}, not {value!r:.60}")
