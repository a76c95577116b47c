"""Unit: what a number of a profile is a number of, and how a limit on it is written."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

from ticktree.analysis.quantities import duration_ns, part, rate_hz, size_bytes

Unit: TypeAlias = Literal["ns", "share", "count", "Hz", "bytes", "bytes/s", "FLOP/s", "items/s", "number"]

_PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_FLOPS = re.compile(r"(?P<amount>.*?)\s*(?P<prefix>[kMGTP]?)FLOPS?/s")
_ITEMS = re.compile(r"(?P<amount>.*?)\s*(?:items)?/s")


def amount(value: object, units: Sequence[Unit]) -> tuple[float, Unit]:
    """Return a limit as a number, and which of `units` it is in: the first that it can be.

    Args:
        value: As it stands in a configuration, such as "25 ms" or 3.
        units: What it may be in.

    Raises:
        ValueError: It is in none of them; says what it should be.
    """
    reasons = []
    for unit in units:
        try:
            return _READERS[unit](value), unit
        except ValueError as error:
            reasons.append(_wanted(str(error)))
    raise ValueError(f"should be {' or '.join(reasons)}, not {value!r:.60}")


def _wanted(reason: str) -> str:
    """Of "should be a time, not 3" what it should be."""
    return reason.removeprefix("should be ").rpartition(", not ")[0]


def _number(value: object) -> float:
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if math.isfinite(number):
            return number
    raise ValueError(f"should be a number, not {value!r:.60}")


def _count(value: object) -> float:
    try:
        number = _number(value)
    except ValueError:
        number = -1.0
    if number < 0 or number != int(number):
        raise ValueError(f"should be a whole number, not {value!r:.60}")
    return number


def _frequency(value: object) -> float:
    try:
        return _number(value)
    except ValueError:
        return rate_hz(value)


def _bytes_a_second(value: object) -> float:
    text = value if isinstance(value, str) else ""
    try:
        return float(size_bytes(text.removesuffix("/s").strip() if text.endswith("/s") else ""))
    except ValueError:
        raise ValueError(f'should be a rate such as "4 GB/s", not {value!r:.60}') from None


def _flops_a_second(value: object) -> float:
    match = _FLOPS.fullmatch(value) if isinstance(value, str) else None
    try:
        return _number(match["amount"] if match else "") * _PREFIXES[match["prefix"] if match else ""]
    except ValueError:
        raise ValueError(f'should be "2 GFLOP/s", not {value!r:.60}') from None


def _items_a_second(value: object) -> float:
    match = _ITEMS.fullmatch(value) if isinstance(value, str) else None
    try:
        return _number(match["amount"] if match else "")
    except ValueError:
        raise ValueError(f'should be "5000 items/s", not {value!r:.60}') from None


_READERS: Mapping[Unit, Callable[[object], float]] = {
    "ns": duration_ns,
    "share": part,
    "count": _count,
    "Hz": _frequency,
    "bytes": size_bytes,
    "bytes/s": _bytes_a_second,
    "FLOP/s": _flops_a_second,
    "items/s": _items_a_second,
    "number": _number,
}
