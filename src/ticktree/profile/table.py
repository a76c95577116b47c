"""The table of a part of a profile: for each field its merge rule, its JSON codec and its bounds.

`merge`, `+`, JSON and checks derive from it: a class of the model declares each field once, as `column(...)`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from operator import attrgetter
from typing import Any, Self, TypeVar

from ticktree.profile.fields import Codec, Fields, Object

Key = TypeVar("Key", bound=Hashable)

# Returns a field of the merged part, given all parts and their values of the field.
Rule = Callable[[Sequence[Any], Sequence[Any]], Any]

_COLUMN = "ticktree.column"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldColumn:
    """One field of a table.

    Attributes:
        name: of the field.
        merge: its merge rule; None if parts are kept or dropped as a whole.
        json: its codec; None if it is not in the part's JSON object.
        key: its key in the JSON object.
        optional: whether it is absent from JSON when it has its default.
        least: lower bound of a number; None without a bound.
        default: its default; `MISSING` if it has none.
    """

    name: str
    merge: Rule | None
    json: Codec | None
    key: str
    optional: bool
    least: int | None
    default: Any


def column(
    merge: Rule | None,
    json: Codec | None = None,
    *,
    key: str = "",
    optional: bool = False,
    minimum: int | None = None,
    default: Any = MISSING,
    factory: Any = MISSING,
) -> Any:
    """Declare a field of a table; see `FieldColumn`."""
    options = {"merge": merge, "json": json, "key": key, "optional": optional, "least": minimum}
    return field(default=default, default_factory=factory, metadata={_COLUMN: options})


_TABLES: dict[type[Any], tuple[FieldColumn, ...]] = {}


def columns(kind: type[Any]) -> tuple[FieldColumn, ...]:
    """Return the table of a class."""
    if kind not in _TABLES:
        table = []
        for item in fields(kind):
            if _COLUMN in item.metadata:
                options = item.metadata[_COLUMN]
                default = item.default if item.default_factory is MISSING else item.default_factory()
                options = {**options, "key": options["key"] or item.name}
                table.append(FieldColumn(name=item.name, default=default, **options))
        _TABLES[kind] = tuple(table)
    return _TABLES[kind]


class ModelPart:
    """A part of a profile with a table: JSON and checks derive from it."""

    __slots__ = ()

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        for col in columns(type(self)):
            value = getattr(self, col.name)
            if col.least is not None and value is not None and value < col.least:
                yield f"{col.name} is {'negative' if not col.least else 'too small'}: {value}"
            elif isinstance(value, ModelPart):
                yield from value.problems()
            elif isinstance(value, Mapping):
                for part in value.values():
                    if isinstance(part, ModelPart):
                        yield from part.problems()

    def derived(self, written: Object) -> Object:
        """Return the part's JSON: `written`, the fields of the table, and derived fields for other programs."""
        return written


class Mergeable(ModelPart):
    """A part that merges with parts of its class. `a + b` is `merge([a, b])`."""

    __slots__ = ()

    def __add__(self, other: Self) -> Self:
        return merge((self, other))

    @classmethod
    def _merge_like(cls, parts: Sequence[Self]) -> Self:
        return cls(**merged_fields(cls, parts))


Part = TypeVar("Part", bound=Mergeable)


def merge(parts: Iterable[Part]) -> Part:
    """Return the merge of at least one part, in any order, in time linear in their size.

    Raises:
        ValueError: their names differ.
    """
    first, *_ = same_kind = list(parts)
    return first if len(same_kind) == 1 else first._merge_like(same_kind)


def merged_fields(kind: type[Mergeable], parts: Sequence[Any], **merged: Any) -> dict[str, Any]:
    """Return the fields of the merge of parts, which have the fields of `kind`; those in `merged` stay as they are."""
    table = [(col.name, col.merge) for col in columns(kind) if col.merge and col.name not in merged]
    # All fields of a part at once: getting them one by one would take as long as merging them.
    rows = map(attrgetter(*(name for name, _ in table)), parts)
    by_column = zip(*rows, strict=True) if len(table) > 1 else [tuple(rows)]
    for (name, rule), values in zip(table, by_column, strict=True):
        merged[name] = rule(parts, values)
    return merged


def value_rule(merge_values: Callable[[Sequence[Any]], Any]) -> Rule:
    """Return a rule that depends on the field's values only."""
    return lambda _, values: merge_values(values)


def same(parts: Sequence[Any], values: Sequence[Any]) -> Any:
    """Return the value that all parts share; parts with different values do not merge."""
    first = values[0]
    for value in values:
        if value != first:
            kind = type(parts[0]).__name__.lower()
            raise ValueError(f"different {kind}s do not merge: {first!r} and {value!r}")
    return first


def _measured(values: Iterable[Any]) -> list[Any]:
    """Return the values that were measured, which are not None."""
    return [value for value in values if value is not None]


def where_known(is_known: Callable[[Any], bool], rule: Rule, unknown: Any = None) -> Rule:
    """Return a rule for a field that is unknown in the merge if it is unknown in any part."""
    return lambda parts, values: rule(parts, values) if all(map(is_known, parts)) else unknown


def merge_present(*parts: Part | None) -> Part | None:
    """Return the merge of the parts that were measured; None, never 0, if none was."""
    measured = _measured(parts)
    return merge(measured) if measured else None


def union_of(tables: Iterable[Mapping[Key, Part]]) -> dict[Key, Part]:
    """Return the union of mappings; values of the same key are merged."""
    parts: dict[Key, list[Part]] = {}
    for table in tables:
        for key, part in table.items():
            parts.setdefault(key, []).append(part)
    return {key: merge(values) for key, values in parts.items()}


def sums_of(tables: Iterable[Mapping[Key, int]]) -> dict[Key, int]:
    """Return the union of mappings; counts of the same key are added."""
    result: dict[Key, int] = {}
    for table in tables:
        for key, count in table.items():
            result[key] = result.get(key, 0) + count
    return result


add, any_of, all_of = value_rule(sum), value_rule(any), value_rule(all)
members = value_rule(lambda values: frozenset().union(*values))
counts, by_key = value_rule(sums_of), value_rule(union_of)
# Of the values that were measured; None, never 0, if none was.
add_known = value_rule(lambda values: sum(measured) if (measured := _measured(values)) else None)
smallest = value_rule(lambda values: min(_measured(values), default=None))
largest = value_rule(lambda values: max(_measured(values), default=None))
merge_parts = value_rule(lambda values: merge_present(*values))


def to_object(part: ModelPart, numbers: Mapping[str, int]) -> Object:
    """Return the JSON object of a part."""
    written: Object = {}
    for col in columns(type(part)):
        if col.json is not None:
            value = getattr(part, col.name)
            if not (col.optional and value == col.default):
                written[col.key] = col.json.write(value, numbers)
    return part.derived(written)


Kind = TypeVar("Kind", bound=ModelPart)


def from_object(kind: type[Kind], fields: Fields, **values: Any) -> Kind:
    """Return the part in `fields`; `values` are its fields that are not in its JSON object."""
    for col in columns(kind):
        if col.json is not None and not (col.optional and col.key not in fields):
            values[col.name] = col.json.read(fields, col.key)
    return kind(**values)


def nested(kind: type[ModelPart]) -> Codec:
    """Return the codec of a part in another: a nested object."""
    return Codec(to_object, lambda fields, key: from_object(kind, fields.sub(key)))


def list_of(kind: type[ModelPart]) -> Codec:
    """Return the codec of several parts in another: a list of objects."""
    return Codec(
        lambda parts, numbers: [to_object(part, numbers) for part in parts],
        lambda fields, key: tuple(from_object(kind, entry) for entry in fields.objects(key)),
    )
