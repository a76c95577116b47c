"""How parts combine. Each function here is associative and commutative where the parts' own `+` is."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Protocol, Self, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Addable(Protocol):
    """Something that merges with its like by `+`."""

    def __add__(self, other: Self, /) -> Self: ...


Part = TypeVar("Part", bound=Addable)
Ordered = TypeVar("Ordered", int, str)


def sums(left: Mapping[Key, int], right: Mapping[Key, int]) -> dict[Key, int]:
    """Return the union of two counted sets, adding what both count."""
    result = dict(left)
    for key, count in right.items():
        result[key] = result.get(key, 0) + count
    return result


def union(left: Mapping[Key, Part], right: Mapping[Key, Part]) -> dict[Key, Part]:
    """Return the union of two mappings, adding the values of keys that both have."""
    result = dict(left)
    for key, part in right.items():
        result[key] = result[key] + part if key in result else part
    return result


def present(left: Part | None, right: Part | None) -> Part | None:
    """Return the sum of the parts that were measured; None, never 0, when neither was."""
    if left is None:
        return right
    return left if right is None else left + right


def smallest(left: Ordered | None, right: Ordered | None) -> Ordered | None:
    """Return the smaller of the values that were measured."""
    return min((value for value in (left, right) if value is not None), default=None)


def largest(left: Ordered | None, right: Ordered | None) -> Ordered | None:
    """Return the larger of the values that were measured."""
    return max((value for value in (left, right) if value is not None), default=None)
