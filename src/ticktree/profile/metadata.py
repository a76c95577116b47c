"""Metadata: what is known of the machine and the program; a set of values a key, so unlike runs can merge."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

Value: TypeAlias = str | int | float | bool
Metadata: TypeAlias = Mapping[str, frozenset[Value]]


def merged(*every: Metadata) -> dict[str, frozenset[Value]]:
    """Return the union of all, key by key."""
    values: dict[str, list[Value]] = {}
    for metadata in every:
        for key, more in metadata.items():
            values.setdefault(key, []).extend(more)
    # 1, 1.0 and True are one member of a set; taking them in a fixed order makes which of them stays the same
    # whichever comes first.
    return {key: frozenset(ordered(found)) for key, found in values.items()}


def ordered(values: Iterable[Value]) -> list[Value]:
    """Return `values` in the one order that all outputs use: by kind, then by value."""
    return sorted(values, key=lambda value: (type(value).__name__, value))


def one_or_list(values: Iterable[Value]) -> Value | list[Value] | None:
    """Return the only value as itself, several as a list, none as None."""
    every = ordered(values)
    return every if len(every) > 1 else next(iter(every), None)


def problems(metadata: Metadata) -> Iterator[str]:
    """Yield each rule of the model that is broken here."""
    for key, values in metadata.items():
        if any(isinstance(value, float) and not math.isfinite(value) for value in values):
            yield f"{key[:80]!r} is not a finite number"
