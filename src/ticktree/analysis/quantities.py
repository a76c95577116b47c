"""Quantities: times, parts, rates and sizes as configurations and budgets write them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Literal, TypeAlias

_QUANTITY = re.compile(r"\s*([0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+)\s*([^\W\d_]*|%)\s*")

_TIMES = {"ns": 1.0, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9}
_SIZES = {"B": 1.0, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
_SIZES |= {"KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40}
_RATES = {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6}
_PARTS = {"%": 0.01, "": 1.0}
# The expected forms, for messages.
_TIME, _SIZE = 'a time such as "25 ms"', 'an amount of memory such as "100 MB"'
_RATE, _PART = 'a rate such as "30 Hz"', 'a share such as "5%" or 0.05'


def duration_ns(value: object) -> int:
    """Return a time such as "25 ms" in nanoseconds.

    Raises:
        ValueError: `value` is not a time; the message has an example.
    """
    return round(_parse(value, _TIMES, _TIME))


def size_bytes(value: object) -> int:
    """Return an amount of memory such as "100 MB" in bytes; a megabyte is 1,000,000 bytes, a MiB 2 ** 20.

    Raises:
        ValueError: `value` is not one.
    """
    return round(_parse(value, _SIZES, _SIZE))


def rate_hz(value: object) -> float:
    """Return a rate such as "30 Hz" in hertz.

    Raises:
        ValueError: `value` is not one.
    """
    return _parse(value, _RATES, _RATE)


def fraction(value: object) -> float:
    """Return a share such as "5%" or 0.05 as a fraction. It may exceed 1: "150%".

    Raises:
        ValueError: `value` is not one.
    """
    return _parse(value, _PARTS, _PART)


def _parse(value: object, units: Mapping[str, float], expected: str) -> float:
    """Return `value` in the base unit of `units`; a number without a unit only if one of them has no name."""
    match = _QUANTITY.fullmatch(_text(value))
    if match and match[2] in units:
        amount = float(match[1].replace("_", "")) * units[match[2]]
        if math.isfinite(amount):
            return amount
    raise ValueError(f"should be {expected}, not {value!r:.60}")


def _text(value: object) -> str:
    """Return the text of a number or string; "" for other types, among them bool, which Python counts as int."""
    return str(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else ""


Unit: TypeAlias = Literal["ns", "share", "count", "Hz", "bytes", "bytes/s", "FLOP/s", "items/s", "number"]

_PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_FLOPS = re.compile(r"(?P<amount>.*?)\s*(?P<prefix>[kMGTP]?)FLOPS?/s")
_ITEMS = re.compile(r"(?P<amount>.*?)\s*(?:items)?/s")


def amount(value: object, units: Sequence[Unit]) -> tuple[float, Unit]:
    """Return a limit, such as "25 ms" or 3, as a number, and the first of `units` in which it can be.

    Raises:
        ValueError: It is in none of them; the message shows the expected form.
    """
    for unit in units:
        with suppress(ValueError):
            return _READERS[unit][0](value), unit
    expected = " or ".join(_READERS[unit][1] for unit in units)
    raise ValueError(f"should be {expected}, not {value!r:.60}")


def _number(value: object) -> float:
    number = float(_text(value))
    if not math.isfinite(number):
        raise ValueError
    return number


def _count(value: object) -> float:
    number = _number(value)
    if number < 0 or number != int(number):
        raise ValueError
    return number


def _frequency(value: object) -> float:
    with suppress(ValueError):
        return _number(value)
    return rate_hz(value)


def _bytes_per_second(value: object) -> float:
    text = value if isinstance(value, str) else ""
    return float(size_bytes(text.removesuffix("/s").strip() if text.endswith("/s") else ""))


def _flops_per_second(value: object) -> float:
    match = _FLOPS.fullmatch(str(value))
    return _number(match["amount"] if match else "") * _PREFIXES[match["prefix"] if match else ""]


def _items_per_second(value: object) -> float:
    match = _ITEMS.fullmatch(str(value))
    return _number(match["amount"] if match else "")


_READERS: Mapping[Unit, tuple[Callable[[object], float], str]] = {
    "ns": (duration_ns, _TIME),
    "share": (fraction, _PART),
    "count": (_count, "a whole number"),
    "Hz": (_frequency, _RATE),
    "bytes": (size_bytes, _SIZE),
    "bytes/s": (_bytes_per_second, 'a rate such as "4 GB/s"'),
    "FLOP/s": (_flops_per_second, '"2 GFLOP/s"'),
    "items/s": (_items_per_second, '"5000 items/s"'),
    "number": (_number, "a number"),
}
