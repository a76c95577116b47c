"""Where in the source the instructions of a code object come from."""

from __future__ import annotations

import ast
import dis
import functools
import linecache
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import NamedTuple


class Place(NamedTuple):
    """A stretch of source. Columns are bytes of UTF-8, -1 where they are not known."""

    line: int
    end_line: int
    column: int
    end_column: int


def qualified_name(code: CodeType) -> str:
    """The qualified name of a function; before Python 3.11 a code object does not know it, and its source does."""
    if sys.version_info >= (3, 11):
        return code.co_qualname
    return _qualified_names(code.co_filename).get((code.co_name, code.co_firstlineno), code.co_name)


@functools.lru_cache(maxsize=256)
def _qualified_names(filename: str) -> dict[tuple[str, int], str]:
    try:
        waiting: list[tuple[str, ast.AST]] = [("", ast.parse("".join(linecache.getlines(filename))))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    names: dict[tuple[str, int], str] = {}
    while waiting:
        prefix, node = waiting.pop()
        for child in ast.iter_child_nodes(node):
            below = prefix
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                names[child.name, _first_line(child)] = prefix + child.name
                below = f"{prefix}{child.name}.<locals>."
            elif isinstance(child, ast.ClassDef):
                below = f"{prefix}{child.name}."
            waiting.append((below, child))
    return names


def _first_line(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Where its code begins: with its decorators."""
    return min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])


def places_of(code: CodeType, lines: Sequence[str]) -> list[Place | None]:
    """One for each instruction, two bytes each.

    Python 3.11 and later know the columns. Before, the line is known: the calls on it are taken in the order in which
    they are made, from its instructions and from its source.
    """
    if sys.version_info >= (3, 11):
        places = [_place(*position) for position in code.co_positions()]
        heads = {place: _head(place, lines) for place in {*places} if place is not None}
        return [place and heads[place] for place in places]
    return _places_by_line(code, lines)


def _place(
    line: int | None, end_line: int | None, column: int | None, end_column: int | None
) -> Place | None:
    if line is None:
        return None
    if column is None or end_column is None:
        return Place(line, line, 0, -1)
    return Place(line, end_line or line, column, end_column)


def _head(place: Place, lines: Sequence[str]) -> Place:
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
        return Place(place.line, place.line, place.column, len(raw[0].rstrip().rstrip(b":")))
    if isinstance(statement, ast.For):
        return _moved(statement.iter, statement.iter, place.line, skipped)
    if isinstance(statement, ast.With):
        last = statement.items[-1]
        whole = _moved(statement, last.optional_vars or last.context_expr, place.line, skipped)
        return whole._replace(column=place.column)
    return place


def _moved(first: ast.expr | ast.stmt, last: ast.expr, line: int, column: int) -> Place:
    """From the beginning of one node to the end of another, in a file where their source begins at a place."""
    end, end_column = last.end_lineno or last.lineno, last.end_col_offset or 0
    return Place(
        line + first.lineno - 1,
        line + end - 1,
        first.col_offset + (column if first.lineno == 1 else 0),
        end_column + (column if end == 1 else 0),
    )


def _places_by_line(code: CodeType, lines: Sequence[str]) -> list[Place | None]:
    places: list[Place | None] = [None] * (len(code.co_code) // 2)
    calls: defaultdict[int, list[int]] = defaultdict(list)
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        line = instruction.starts_line or line
        places[instruction.offset // 2] = Place(line, line, 0, -1)
        if instruction.opname.startswith("CALL_"):
            calls[line].append(instruction.offset // 2)
    written = _calls_by_line("".join(lines), code)
    for line, offsets in calls.items():
        # Other instructions may call too, and decorators do: only where all are found is it sure which is which.
        if len(written.get(line, ())) == len(offsets):
            for offset, place in zip(offsets, written[line], strict=True):
                places[offset] = place
    return places


def _calls_by_line(source: str, code: CodeType) -> dict[int, list[Place]]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: defaultdict[int, list[Place]] = defaultdict(list)
    for body in _bodies(tree, code):
        for call in _calls(body):
            if call.end_lineno is not None and call.end_col_offset is not None:
                place = Place(call.lineno, call.end_lineno, call.col_offset, call.end_col_offset)
                found[_line_of_call(call)].append(place)
    return found


def _bodies(tree: ast.AST, code: CodeType) -> Iterator[ast.AST]:
    """The statements of the function that became the code; of the whole file where it is the file's own."""
    if code.co_name == "<module>":
        yield tree
        return
    for node in ast.walk(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.name != code.co_name:
            continue
        if _first_line(node) == code.co_firstlineno:
            yield from node.body


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """Calls in the order in which they are made; not those of functions defined inside."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.GeneratorExp)):
        return
    for child in ast.iter_child_nodes(node):
        yield from _calls(child)
    if isinstance(node, ast.Call):
        yield node


def _line_of_call(call: ast.Call) -> int:
    """The line that 3.10 gives the instruction: of a method, that of its name."""
    return call.func.end_lineno or call.lineno if isinstance(call.func, ast.Attribute) else call.lineno
