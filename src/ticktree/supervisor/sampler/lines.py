"""Lines of code objects, from their tables of locations (CPython's Objects/locations.md, from 3.11 on)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

_UNIT = 2  # bytes per instruction
_NO_LOCATION, _LONG, _NO_COLUMNS, _ONE_LINE = 15, 14, 13, (10, 11, 12)
_LIMIT = 1 << 31  # a line is a C int


class CodeLines:
    """The lines of one code object.

    All are the first line if the table is not valid: it may have been read after the code object was freed, and its
    memory reused.

    Args:
        first_line: first line of the code object.
        table: its `co_linetable`.
    """

    def __init__(self, first_line: int, table: bytes) -> None:
        entries = list(_entries(first_line, table))
        if any(line is not None and not -_LIMIT <= line < _LIMIT for _, line in entries):
            entries = []
        self._first_line = first_line
        self._begins = [begin for begin, _ in entries]
        self._lines = [line for _, line in entries]

    def at(self, offset: int) -> int:
        """Return the line of the instruction at an offset in bytes; the first line if it has none."""
        index = bisect_right(self._begins, offset) - 1
        return (self._lines[index] if index >= 0 else None) or self._first_line


def _entries(first_line: int, table: bytes) -> Iterator[tuple[int, int | None]]:
    """Yield the begin and the line of each range of instructions."""
    line, offset, position = first_line, 0, 0
    while position < len(table):
        head = table[position]
        kind, units = head >> 3 & 15, (head & 7) + 1
        position += 1
        if kind in (_LONG, _NO_COLUMNS):
            change, position = _varint(table, position)
            line += -(change >> 1) if change & 1 else change >> 1
            for _ in range(3 if kind == _LONG else 0):
                _, position = _varint(table, position)
        elif kind in _ONE_LINE:
            line += kind - _ONE_LINE[0]
            position += 2
        elif kind != _NO_LOCATION:
            position += 1
        yield offset, None if kind == _NO_LOCATION else line
        offset += _UNIT * units


def _varint(table: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(table):
        byte = table[position]
        position += 1
        value |= (byte & 63) << shift
        shift += 6
        if not byte & 64:
            break
    return value, position
