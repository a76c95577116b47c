"""Metadata: facts about the machine and the program; one set of values per key, so that different runs can merge."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

Value: TypeAlias = str | int | float | bool
Metadata: TypeAlias = Mapping[str, frozenset[Value]]


def merge_metadata(*parts: Metadata) -> dict[str, frozenset[Value]]:
    """Return the union, key by key."""
    values: dict[str, list[Value]] = {}
    for metadata in parts:
        for key, added in metadata.items():
            values.setdefault(key, []).extend(added)
    # 1, 1.0 and True are one member of a set: a fixed order decides which of them stays.
    return {key: frozenset(ordered(members)) for key, members in values.items()}


def ordered(values: Iterable[Value]) -> list[Value]:
    """Return `values` in the order of all outputs: by type, then by value."""
    return sorted(values, key=lambda value: (type(value).__name__, value))


def value_or_list(values: Iterable[Value]) -> Value | list[Value] | None:
    """Return the only value as itself, several as a list, none as None."""
    members = ordered(values)
    return members if len(members) > 1 else next(iter(members), None)


def problems(metadata: Metadata) -> Iterator[str]:
    """Yield each rule of the model that is broken here."""
    for key, values in metadata.items():
        if any(isinstance(value, float) and not math.isfinite(value) for value in values):
            yield f"{key[:80]!r} is not a finite number"
