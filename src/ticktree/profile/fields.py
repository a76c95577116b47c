"""Fields of a JSON object, each validated as it is read, with errors that name it; and codecs."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from ticktree.errors import TicktreeError


class ProfileError(TicktreeError, ValueError):
    """A profile breaks a rule of the model, or a text is not a profile; the message is always one line."""


def quoted(text: str) -> str:
    """Return `text` for an error message: on one line, without control characters, at most 80 characters."""
    return repr(text if len(text) <= 80 else text[:79] + "…")


# Far beyond anything that can be measured, and still exact enough as a float for every ratio derived from it.
LIMIT = 2**96

Object = dict[str, Any]


class Fields:
    """A JSON object from an untrusted source.

    Args:
        threads: thread ids; the object and its contents refer to them by index.
    """

    __slots__ = ("_fields", "threads", "where")

    def __init__(self, value: Any, where: str, threads: Sequence[str] = ()) -> None:
        self.where = where
        self.threads = threads
        if not isinstance(value, dict):
            self.fail("should be an object")
        self._fields: dict[str, Any] = value

    def __contains__(self, key: str) -> bool:
        return self._fields.get(key) is not None

    def __iter__(self) -> Any:
        return iter(self._fields)

    def fail(self, rule: str) -> NoReturn:
        """Reject this object because it breaks `rule`."""
        raise ProfileError(f"{self.where}: {rule}")

    def raw(self, key: str) -> Any:
        """Return the field unchecked; None where it is absent."""
        return self._fields.get(key)

    def integer(self, key: str, default: int | None = None) -> int:
        """Return a whole number, `default` where the field is absent."""
        value = self._fields.get(key, default)
        if type(value) is not int:  # True is an int too
            self.fail(f"{key!r} should be a whole number")
        if not -LIMIT < value < LIMIT:
            self.fail(f"{key!r} is beyond anything that can be measured")
        return value

    def integer_or_none(self, key: str) -> int | None:
        """Return a whole number, None where the field is null or absent."""
        return self.integer(key) if key in self else None

    def number(self, key: str) -> float:
        """Return a finite number."""
        return self.finite(key, self._fields.get(key))

    def finite(self, key: str, value: Any) -> float:
        """Return `value`, part of the field `key`, as a finite number."""
        if type(value) not in (int, float) or not abs(value) < LIMIT**8 or not math.isfinite(value):
            self.fail(f"{key!r} should be a finite number")
        return float(value)

    def text(self, key: str) -> str:
        """Return a string."""
        value = self._fields.get(key)
        if not isinstance(value, str):
            self.fail(f"{key!r} should be a string")
        return value

    def flag(self, key: str) -> bool:
        """Return true or false; false where the field is absent."""
        value = self._fields.get(key, False)
        if not isinstance(value, bool):
            self.fail(f"{key!r} should be true or false")
        return value

    def list(self, key: str) -> list[Any]:
        """Return a list, empty where the field is absent."""
        value = self._fields.get(key, [])
        if not isinstance(value, list):
            self.fail(f"{key!r} should be a list")
        return value

    def texts(self, key: str) -> builtins.list[str]:
        """Return a list of strings, empty where the field is absent."""
        values = self.list(key)
        if not all(isinstance(value, str) for value in values):
            self.fail(f"{key!r} should hold strings")
        return values

    def sub(self, key: str, where: str | None = None) -> Fields:
        """Return a nested object, empty where the field is absent."""
        return Fields(self._fields.get(key, {}), where or f"{self.where}: {key!r}", self.threads)

    def objects(self, key: str, where: str | None = None) -> Iterator[Fields]:
        """Yield the objects of a list, none where the field is absent."""
        for value in self.list(key):
            yield Fields(value, where or f"{self.where}: {key!r}", self.threads)

    def table(
        self, key: str, read: Callable[[Fields], tuple[Any, Any]], twice: str, where: str | None = None
    ) -> dict[Any, Any]:
        """Return the objects of a list as a table; `twice` is what a key stands for in the error about duplicates."""
        table: dict[Any, Any] = {}
        for entry in self.objects(key, where):
            entry_key, value = read(entry)
            if entry_key in table:
                entry.fail(f"the same {twice} is there twice")
            table[entry_key] = value
        return table

    def counts(self, key: str) -> dict[str, int]:
        """Return an object whose values are whole numbers."""
        fields = self.sub(key)
        return {name: fields.integer(name) for name in fields}

    def thread(self, key: str) -> str:
        """Return the id of the thread whose index in `threads` the field contains."""
        index = self.integer(key)
        if not 0 <= index < len(self.threads):
            self.fail(f"{key!r} is the place of none of the {len(self.threads)} there are")
        return self.threads[index]

    def rows(self, key: str, width: int) -> builtins.list[builtins.list[int]]:
        """Return a list of lists of `width` whole numbers, empty where the field is absent."""
        rows = self.list(key)
        if rows and set(map(type, rows)) != {builtins.list}:
            self.fail(f"{key!r} should be a list of lists")
        if any(len(row) != width for row in rows):
            self.fail(f"{key!r} should hold {width} numbers per row")
        numbers = [number for row in rows for number in row]
        if rows and set(map(type, numbers)) != {int}:
            self.fail(f"{key!r} should hold whole numbers")
        if rows and not -LIMIT < min(numbers) <= max(numbers) < LIMIT:
            self.fail(f"{key!r} has a number beyond anything that can be measured")
        return rows

    def pairs(self, key: str, min_index: int, max_index: int) -> dict[int, int]:
        """Return a list of [index, count] as a table; indices are unique and from `min_index` to `max_index`.

        Raises:
            ProfileError: also if a count is not positive.
        """
        entries = self.list(key)
        try:
            table: dict[int, int] = dict(entries)
        except (TypeError, ValueError):
            self.fail(f"{key!r} should be a list of pairs")
        if not table:
            return table
        # Whole tables at once: a profile of thousands of nodes holds hundreds of thousands of pairs.
        if set(map(type, table)) | set(map(type, table.values())) != {int}:
            self.fail(f"{key!r} should hold whole numbers")
        if len(table) != len(entries):
            self.fail(f"{key!r} has the same index twice")
        if min(table) < min_index or max(table) > max_index:
            self.fail(f"{key!r} has an index that cannot be")
        if min(table.values()) < 1 or max(table.values()) >= LIMIT:
            self.fail(f"{key!r} has a count that cannot be")
        return table


class Codec(NamedTuple):
    """How JSON represents the values of a field.

    Attributes:
        write: returns the JSON of a value, given the number of each thread by its id.
        read: returns the value, given the object and the key that contain it.
    """

    write: Callable[[Any, Mapping[str, int]], Any]
    read: Callable[[Fields, str], Any]


def _unchanged(value: Any, _: Mapping[str, int]) -> Any:
    return value


def _sort_keys(value: Mapping[Any, Any], _: Mapping[str, int]) -> Any:
    return dict(sorted(value.items()))


INT = Codec(_unchanged, Fields.integer)
INT_OR_NULL = Codec(_unchanged, Fields.integer_or_none)
NUMBER = Codec(lambda value, _: float(value), Fields.number)
TEXT = Codec(_unchanged, Fields.text)
TEXTS = Codec(lambda values, _: sorted(values), lambda fields, key: frozenset(fields.texts(key)))
FLAG = Codec(_unchanged, Fields.flag)
COUNTS = Codec(_sort_keys, Fields.counts)


def pairs(min_index: int, max_index: int) -> Codec:
    """Return the codec of counts by an index from `min_index` to `max_index`: sorted pairs."""
    return Codec(
        lambda table, _: sorted(table.items()), lambda fields, key: fields.pairs(key, min_index, max_index)
    )
