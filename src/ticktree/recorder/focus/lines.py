"""Where in the source the instructions of a code object come from."""

from __future__ import annotations

import ast
import dis
import sys
from collections import defaultdict
from collections.abc import Sequence
from types import CodeType
from typing import NamedTuple

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class SourceRange(NamedTuple):
    """A stretch of source. Columns are bytes of UTF-8, -1 where they are not known."""

    line: int
    end_line: int
    column: int
    end_column: int


def places_of(code: CodeType, lines: Sequence[str]) -> list[SourceRange | None]:
    """One for each instruction, two bytes each."""
    places = [_place(*position) for position in code.co_positions()]
    heads = {place: _head(place, lines) for place in {*places} if place is not None}
    if sys.version_info < (3, 13):
        return _with_iterables([place and heads[place] for place in places], places, code, lines)
    return [place and heads[place] for place in places]


def _place(
    line: int | None, end_line: int | None, column: int | None, end_column: int | None
) -> SourceRange | None:
    if line is None:
        return None
    if column is None or end_column is None:
        return SourceRange(line, line, 0, -1)
    return SourceRange(line, end_line or line, column, end_column)


def _head(place: SourceRange, lines: Sequence[str]) -> SourceRange:
    """Of a whole `for` or `with` statement, what its instructions are about.

    That is the expression that is iterated over, or all before the colon.
    """
    raw = [line.encode() for line in lines[place.line - 1 : place.end_line]]
    if not raw or not raw[0][place.column :].startswith((b"for ", b"with ", b"async for ", b"async with ")):
        return place
    skipped = place.column + (6 if raw[0][place.column :].startswith(b"async ") else 0)
    try:
        statement = ast.parse(b"".join([raw[0][skipped:], *raw[1:]])).body[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return SourceRange(place.line, place.line, place.column, len(raw[0].rstrip().rstrip(b":")))
    if isinstance(statement, ast.For):
        return _moved(statement.iter, statement.iter, place.line, skipped)
    if isinstance(statement, ast.With):
        last = statement.items[-1]
        whole = _moved(statement, last.optional_vars or last.context_expr, place.line, skipped)
        return whole._replace(column=place.column)
    return place


_LOOPS = ("FOR_ITER", "GET_ANEXT")


def _with_iterables(
    heads: list[SourceRange | None], places: list[SourceRange | None], code: CodeType, lines: Sequence[str]
) -> list[SourceRange | None]:
    """With the instructions that iterate in a comprehension at what they iterate over, as Python 3.13 has them.

    Before, they are at the whole comprehension, its loops one after the other.
    """
    begun: defaultdict[SourceRange, int] = defaultdict(int)
    iterables: dict[SourceRange, list[SourceRange]] = {}
    for instruction in dis.get_instructions(code, show_caches=True):
        at = instruction.offset // 2
        place = places[at]
        if place is None or place.end_column < 0:
            continue
        if instruction.opname in (*_LOOPS, "GET_ITER", "GET_AITER"):
            if place not in iterables:
                iterables[place] = _iterables(place, lines)
            begins = begun[place]
            begun[place] += instruction.opname in _LOOPS
        else:  # also what the interpreter keeps beside an instruction, where calls may seem to be made
            begins = begun[place] - 1
        if 0 <= begins < len(iterables.get(place, ())):
            heads[at] = iterables[place][begins]
    return heads


def _iterables(place: SourceRange, lines: Sequence[str]) -> list[SourceRange]:
    """What a comprehension or generator expression iterates over; nothing where it is none."""
    raw = [line.encode() for line in lines[place.line - 1 : place.end_line]]
    if not raw or raw[0][place.column : place.column + 1] not in (b"[", b"{", b"("):
        return []
    raw[-1] = raw[-1][: place.end_column]
    raw[0] = raw[0][place.column :]
    try:
        whole = ast.parse(b"".join(raw)).body[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    if not isinstance(whole, ast.Expr) or not isinstance(whole.value, _COMPREHENSIONS):
        return []
    return [_moved(loop.iter, loop.iter, place.line, place.column) for loop in whole.value.generators]


def _moved(first: ast.expr | ast.stmt, last: ast.expr, line: int, column: int) -> SourceRange:
    """From the beginning of one node to the end of another, in a file where their source begins at a place."""
    end, end_column = last.end_lineno or last.lineno, last.end_col_offset or 0
    return SourceRange(
        line + first.lineno - 1,
        line + end - 1,
        first.col_offset + (column if first.lineno == 1 else 0),
        end_column + (column if end == 1 else 0),
    )
