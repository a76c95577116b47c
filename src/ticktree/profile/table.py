"""The table of a part of a profile: each field with how it merges, how JSON has it, and what it may be.

`merge`, `+`, JSON and checks derive from it: a class of the model says each of its fields once, as `stored(...)`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from operator import attrgetter
from typing import Any, Self, TypeVar

from ticktree.profile.fields import Codec, Fields, Object

Key = TypeVar("Key", bound=Hashable)

# Gives a field of the merged part: from all parts, and from what they have there.
Rule = Callable[[Sequence[Any], Sequence[Any]], Any]

_COLUMN = "ticktree.column"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldColumn:
    """One field of a table.

    Attributes:
        name: of the field.
        merge: how it merges; None where single parts are kept or dropped.
        json: how JSON has it; None where it is not in the part's own object.
        key: under which it is there.
        optional: whether it is absent there where it has its default.
        least: what a number must be at least; None where there is no such bound.
        default: its default; `MISSING` where it has none.
    """

    name: str
    merge: Rule | None
    json: Codec | None
    key: str
    optional: bool
    least: int | None
    default: Any


def stored(
    merge: Rule | None,
    json: Codec | None = None,
    *,
    key: str = "",
    optional: bool = False,
    least: int | None = None,
    default: Any = MISSING,
    factory: Any = MISSING,
) -> Any:
    """Declare a field of a table; see `FieldColumn`."""
    column = {"merge": merge, "json": json, "key": key, "optional": optional, "least": least}
    return field(default=default, default_factory=factory, metadata={_COLUMN: column})


_TABLES: dict[type[Any], tuple[FieldColumn, ...]] = {}


def columns(kind: type[Any]) -> tuple[FieldColumn, ...]:
    """Return the table of a class."""
    if kind not in _TABLES:
        _TABLES[kind] = tuple(_columns(kind))
    return _TABLES[kind]


def _columns(kind: type[Any]) -> Iterator[FieldColumn]:
    for each in fields(kind):
        column = each.metadata.get(_COLUMN)
        if column is not None:
            default = each.default if each.default_factory is MISSING else each.default_factory()
            yield FieldColumn(
                name=each.name, default=default, **{**column, "key": column["key"] or each.name}
            )


class Stored:
    """A part of a profile with a table: JSON and checks derive from it."""

    __slots__ = ()

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        for column in columns(type(self)):
            value = getattr(self, column.name)
            if column.least is not None and value is not None and value < column.least:
                yield f"{column.name} is {'negative' if not column.least else 'too small'}: {value}"
            elif isinstance(value, Stored):
                yield from value.problems()
            elif isinstance(value, Mapping):
                for part in value.values():
                    if isinstance(part, Stored):
                        yield from part.problems()

    def derived(self, written: Object) -> Object:
        """Return what JSON has of it: `written`, the fields of the table, and what other programs want to know."""
        return written


class Mergeable(Stored):
    """A part that merges with its like. `a + b` is `merge([a, b])`."""

    __slots__ = ()

    def __add__(self, other: Self) -> Self:
        return merge((self, other))

    @classmethod
    def _of(cls, parts: Sequence[Self]) -> Self:
        return cls(**merged_fields(cls, parts))


Part = TypeVar("Part", bound=Mergeable)


def merge(parts: Iterable[Part]) -> Part:
    """Return one part or more as one, whatever their order, in time that grows with their size alone.

    Raises:
        ValueError: they are of different names.
    """
    every = list(parts)
    return every[0] if len(every) == 1 else every[0]._of(every)


def merged_fields(kind: type[Mergeable], parts: Sequence[Any], **given: Any) -> dict[str, Any]:
    """Return the fields of the merge of parts of a class, or of what has its fields; those `given` are not merged."""
    table = [(each.name, each.merge) for each in columns(kind) if each.merge and each.name not in given]
    # All fields of a part at once: one by one, getting them would take as long as merging them.
    rows = map(attrgetter(*(name for name, _ in table)), parts)
    values = zip(*rows, strict=True) if len(table) > 1 else [tuple(rows)]
    for (name, merge_by), of_all in zip(table, values, strict=True):
        given[name] = merge_by(parts, of_all)
    return given


def of_values(merge_by: Callable[[Sequence[Any]], Any]) -> Rule:
    """Return a rule for which only the values count, not what else their parts have."""
    return lambda _, values: merge_by(values)


def same(parts: Sequence[Any], values: Sequence[Any]) -> Any:
    """What all have; else they are no parts of one thing."""
    first = values[0]
    for other in values:
        if other != first:
            kind = type(parts[0]).__name__.lower()
            raise ValueError(f"different {kind}s do not merge: {first!r} and {other!r}")
    return first


def _known(values: Iterable[Any]) -> list[Any]:
    """Return what was measured."""
    return [value for value in values if value is not None]


def where_known(is_known: Callable[[Any], bool], rule: Rule, unknown: Any = None) -> Rule:
    """Return a rule for what must be known of every part: what one part lacks, the sum lacks."""
    return lambda parts, values: rule(parts, values) if all(map(is_known, parts)) else unknown


def present(*parts: Part | None) -> Part | None:
    """Return the merge of the parts that were measured; None, never 0, when none was."""
    known = _known(parts)
    return merge(known) if known else None


def union_of(tables: Iterable[Mapping[Key, Part]]) -> dict[Key, Part]:
    """Return the union of mappings, merging the values of keys that several have."""
    parts: dict[Key, list[Part]] = {}
    for table in tables:
        for key, part in table.items():
            parts.setdefault(key, []).append(part)
    return {key: merge(alike) for key, alike in parts.items()}


def sums_of(tables: Iterable[Mapping[Key, int]]) -> dict[Key, int]:
    """Return the union of counted sets, adding what several count."""
    result: dict[Key, int] = {}
    for table in tables:
        for key, count in table.items():
            result[key] = result.get(key, 0) + count
    return result


add, any_of, all_of = of_values(sum), of_values(any), of_values(all)
members = of_values(lambda values: frozenset().union(*values))
counts, by_key = of_values(sums_of), of_values(union_of)
# Of those that were measured; None, never 0, where none was.
add_known = of_values(lambda values: sum(known) if (known := _known(values)) else None)
smallest = of_values(lambda values: min(_known(values), default=None))
largest = of_values(lambda values: max(_known(values), default=None))
whole = of_values(lambda values: present(*values))


def object_of(part: Stored, numbers: Mapping[str, int]) -> Object:
    """Return a part as JSON has it."""
    written: Object = {}
    for column in columns(type(part)):
        if column.json is not None:
            value = getattr(part, column.name)
            if not (column.optional and value == column.default):
                written[column.key] = column.json.write(value, numbers)
    return part.derived(written)


Kind = TypeVar("Kind", bound=Stored)


def part_from(kind: type[Kind], fields: Fields, **others: Any) -> Kind:
    """Return the part in `fields`; `others` are its fields that JSON does not have there."""
    for column in columns(kind):
        if column.json is not None and not (column.optional and column.key not in fields):
            others[column.name] = column.json.read(fields, column.key)
    return kind(**others)


def nested(kind: type[Stored]) -> Codec:
    """Return how JSON has a part in another: as a nested object."""
    return Codec(object_of, lambda fields, key: part_from(kind, fields.sub(key)))


def listed(kind: type[Stored]) -> Codec:
    """Return how JSON has several parts in another: as a list."""
    return Codec(
        lambda parts, numbers: [object_of(part, numbers) for part in parts],
        lambda fields, key: tuple(part_from(kind, entry) for entry in fields.each(key)),
    )
