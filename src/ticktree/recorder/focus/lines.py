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

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


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
        if sys.version_info < (3, 13):
            return _with_iterables([place and heads[place] for place in places], places, code, lines)
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


_LOOPS = ("FOR_ITER", "GET_ANEXT")


def _with_iterables(
    heads: list[Place | None], places: list[Place | None], code: CodeType, lines: Sequence[str]
) -> list[Place | None]:
    """With the instructions that iterate in a comprehension at what they iterate over, as Python 3.13 has them.

    Before, they are at the whole comprehension, its loops one after the other.
    """
    begun: defaultdict[Place, int] = defaultdict(int)
    iterables: dict[Place, list[Place]] = {}
    for instruction in dis.get_instructions(code, show_caches=True):  # type: ignore[call-arg, unused-ignore]
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


def _iterables(place: Place, lines: Sequence[str]) -> list[Place]:
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
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if node.name == code.co_name and _first_line(node) == code.co_firstlineno:
                yield from node.body
        elif (
            isinstance(node, _COMPREHENSIONS)
            and _NAMES[type(node)] == code.co_name
            and node.lineno == code.co_firstlineno
        ):
            yield from _inside(node)


_NAMES: dict[type[ast.AST], str] = dict(
    zip(_COMPREHENSIONS, ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"), strict=True)
)


def _inside(whole: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> Iterator[ast.AST]:
    """What the code of a comprehension computes, in order: all but what its first loop iterates over."""
    for at, loop in enumerate(whole.generators):
        if at:
            yield loop.iter
        yield from loop.ifs
    yield from (whole.key, whole.value) if isinstance(whole, ast.DictComp) else (whole.elt,)


def _calls(
    node: ast.AST,
) -> Iterator[ast.Call | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp]:
    """Calls in the order in which they are made; not those of functions defined inside.

    A comprehension is one: of its code, with what its first loop iterates over.
    """
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
        return
    if isinstance(node, _COMPREHENSIONS):
        yield from _calls(node.generators[0].iter)
        yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from _calls(child)
    if isinstance(node, ast.Call):
        yield node


def _line_of_call(call: ast.expr) -> int:
    """The line that 3.10 gives the instruction: of a method, that of its name."""
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        return call.func.end_lineno or call.lineno
    return call.lineno
